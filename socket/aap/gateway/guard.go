package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
)

// checkRequest checks what every request must satisfy, before its body is read.
func (g *Gateway) checkRequest(r *http.Request) *fault {
	switch {
	case r.ProtoMajor != 1 || r.ProtoMinor != 1:
		return &fault{http.StatusHTTPVersionNotSupported, "HTTP/1.1 is spoken here"}
	case !onThisMachine(r.Host):
		// A page whose host name resolves to this machine sends that name.
		return &fault{http.StatusForbidden, "the Host is not this machine"}
	case len(r.Header["Origin"]) > 0:
		return &fault{http.StatusForbidden, "browsers are not served"}
	case g.cfg.Token != "" && !hasToken(r, g.cfg.Token):
		return &fault{http.StatusUnauthorized, "a request needs the gateway's token as its API key"}
	case len(r.Header["Content-Encoding"]) > 0:
		return &fault{http.StatusUnsupportedMediaType, "a body must not be compressed"}
	case !gatehttp.Admit(r):
		return &fault{http.StatusServiceUnavailable, "too many connections are open"}
	}
	return nil
}

func onThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1", "[::1]", "permd"}, host)
}

// hasToken reports whether the request has the token. Comparing hashes hides its length from
// timing.
func hasToken(r *http.Request, token string) bool {
	const scheme = "bearer "
	values := r.Header["Authorization"]
	if len(values) != 1 || len(values[0]) < len(scheme) || !strings.EqualFold(values[0][:len(scheme)], scheme) {
		return false
	}
	got, want := sha256.Sum256([]byte(values[0][len(scheme):])), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// readBody reads the JSON object in the body of a request.
func readBody(w http.ResponseWriter, r *http.Request) (strictjson.Object, *fault) {
	data, f := gatehttp.ReadBody(w, r, maxBody)
	if f != nil {
		return nil, &fault{f.Status, f.Message}
	}
	o, err := readObject(data)
	if err != nil {
		return nil, &fault{http.StatusBadRequest, "reading the body: " + err.Error()}
	}
	return o, nil
}
