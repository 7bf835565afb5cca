package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
)

// guard checks the conditions for any request before it is read further.
func (s *server) guard(r *http.Request) *fault {
	switch {
	case r.ProtoMajor != 1 || r.ProtoMinor != 1:
		return &fault{http.StatusHTTPVersionNotSupported, "version", "HTTP/1.1 is spoken here"}
	case !s.namesThisServer(r):
		return &fault{http.StatusForbidden, "host", "the Host is not one that permd listens as"}
	case len(r.Header["Origin"]) > 0:
		return &fault{http.StatusForbidden, "origin", "browsers are not served"}
	case s.Token != "" && !s.hasToken(r):
		return &fault{http.StatusUnauthorized, "unauthorized", "a request needs the token: Authorization: Bearer TOKEN"}
	}
	return nil
}

// namesThisServer reports whether the request names this server. A page in a
// browser whose own name resolves to the loopback address sends that name.
func (s *server) namesThisServer(r *http.Request) bool {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(r.Host, "["), "]"), ""
		if s.port != "" && s.port != "80" {
			return false
		}
	}
	if s.port == "" {
		return slices.Contains([]string{"localhost", "127.0.0.1", "::1", "permd"}, host)
	}
	return (port == s.port || port == "") && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, host)
}

// hasToken reports whether the request has the token. The hashes are compared, so
// that the time says nothing, not even of the length.
func (s *server) hasToken(r *http.Request) bool {
	const scheme = "bearer "
	values := r.Header["Authorization"]
	if len(values) != 1 || len(values[0]) < len(scheme) || !strings.EqualFold(values[0][:len(scheme)], scheme) {
		return false
	}
	got, want := sha256.Sum256([]byte(values[0][len(scheme):])), sha256.Sum256([]byte(s.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// postable checks the conditions for a request with a body.
func postable(r *http.Request) *fault {
	if len(r.Header["Content-Encoding"]) > 0 {
		// What is small here could be without end when it is unpacked.
		return &fault{http.StatusUnsupportedMediaType, "encoding", "a body must not be compressed"}
	}
	if types := r.Header["Content-Type"]; len(types) == 1 {
		kind, params, err := mime.ParseMediaType(types[0])
		charset, named := params["charset"]
		if err == nil && kind == "application/json" && (!named || strings.EqualFold(charset, "utf-8")) {
			return nil
		}
	}
	return &fault{http.StatusUnsupportedMediaType, "content_type", "the Content-Type must be application/json"}
}
