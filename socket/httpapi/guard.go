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

// checkRequest checks what every request must satisfy, before its body is read.
func (s *server) checkRequest(r *http.Request) *apiError {
	switch {
	case r.ProtoMajor != 1 || r.ProtoMinor != 1:
		return &apiError{http.StatusHTTPVersionNotSupported, "version", "HTTP/1.1 is spoken here"}
	case !s.namesThisServer(r):
		return &apiError{http.StatusForbidden, "host", "the Host is not one that permd listens as"}
	case len(r.Header["Origin"]) > 0:
		return &apiError{http.StatusForbidden, "origin", "browsers are not served"}
	case s.Token != "" && !s.hasToken(r):
		return &apiError{http.StatusUnauthorized, "unauthorized", "a request needs the token: Authorization: Bearer TOKEN"}
	}
	return nil
}

// namesThisServer reports whether the Host header names this server. This stops DNS
// rebinding: a page whose host name resolves to the loopback address sends that name.
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

// hasToken reports whether the request has the token. Comparing hashes hides even the
// token's length from timing.
func (s *server) hasToken(r *http.Request) bool {
	const scheme = "bearer "
	values := r.Header["Authorization"]
	if len(values) != 1 || len(values[0]) < len(scheme) || !strings.EqualFold(values[0][:len(scheme)], scheme) {
		return false
	}
	got, want := sha256.Sum256([]byte(values[0][len(scheme):])), sha256.Sum256([]byte(s.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// checkPost checks the headers of a request with a body.
func checkPost(r *http.Request) *apiError {
	if len(r.Header["Content-Encoding"]) > 0 {
		// A small compressed body could expand without limit.
		return &apiError{http.StatusUnsupportedMediaType, "encoding", "a body must not be compressed"}
	}
	if types := r.Header["Content-Type"]; len(types) == 1 {
		kind, params, err := mime.ParseMediaType(types[0])
		charset, named := params["charset"]
		if err == nil && kind == "application/json" && (!named || strings.EqualFold(charset, "utf-8")) {
			return nil
		}
	}
	return &apiError{http.StatusUnsupportedMediaType, "content_type", "the Content-Type must be application/json"}
}
