package gatehttp

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Refusal is why a request is not served: a status, a word and a sentence. It never
// repeats text of the request.
type Refusal struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *Refusal) Error() string { return r.Message }

// Guard checks what every request must satisfy before its body is read.
type Guard struct {
	token string // "" on a Unix socket
	port  string // "" on a Unix socket

	keyHeader string // see Server.KeyHeader
}

// NewGuard returns the guard of a listener, which is a Unix socket or, with a token, a
// loopback address.
func NewGuard(ln net.Listener, token string) (*Guard, error) {
	g := &Guard{token: token}
	if at, ok := ln.Addr().(*net.TCPAddr); ok {
		if !at.IP.IsLoopback() || token == "" {
			return nil, errors.New("serving HTTP: an address that is no loopback address, or has no token")
		}
		_, g.port, _ = net.SplitHostPort(at.String())
	}
	return g, nil
}

// Check returns why the request is refused, nil if it is served.
func (g *Guard) Check(r *http.Request) *Refusal {
	if f := g.checkOpen(r); f != nil {
		return f
	}
	if g.token != "" && !g.hasToken(r) {
		return &Refusal{http.StatusUnauthorized, "unauthorized", "a request needs the token: Authorization: Bearer TOKEN"}
	}
	return nil
}

// checkOpen is Check for a path that needs no token.
func (g *Guard) checkOpen(r *http.Request) *Refusal {
	switch {
	case r.ProtoMajor != 1 || r.ProtoMinor != 1:
		return &Refusal{http.StatusHTTPVersionNotSupported, "version", "HTTP/1.1 is spoken here"}
	case !g.namesThisServer(r):
		return &Refusal{http.StatusForbidden, "host", "the Host is not one that permd listens as"}
	case len(r.Header["Origin"]) > 0:
		return &Refusal{http.StatusForbidden, "origin", "browsers are not served"}
	}
	return nil
}

// namesThisServer reports whether the Host header names this server. This stops DNS
// rebinding: a page whose host name resolves to the loopback address sends that name.
func (g *Guard) namesThisServer(r *http.Request) bool {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(r.Host, "["), "]"), ""
		if g.port != "" && g.port != "80" {
			return false
		}
	}
	if g.port == "" {
		return slices.Contains([]string{"localhost", "127.0.0.1", "::1", "permd"}, host)
	}
	return (port == g.port || port == "") && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, host)
}

// hasToken reports whether the request has the token. Comparing hashes hides even the
// token's length from timing.
func (g *Guard) hasToken(r *http.Request) bool {
	const scheme = "bearer "
	values := r.Header["Authorization"]
	var sent string
	switch keys := r.Header[g.keyHeader]; {
	case len(values) == 1 && len(values[0]) >= len(scheme) && strings.EqualFold(values[0][:len(scheme)], scheme):
		sent = values[0][len(scheme):]
	case g.keyHeader != "" && len(values) == 0 && len(keys) == 1:
		sent = keys[0]
	default:
		return false
	}
	got, want := sha256.Sum256([]byte(sent)), sha256.Sum256([]byte(g.token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// CheckPost checks the headers of a request with a body.
func CheckPost(r *http.Request) *Refusal {
	if len(r.Header["Content-Encoding"]) > 0 {
		// A small compressed body could expand without limit.
		return &Refusal{http.StatusUnsupportedMediaType, "encoding", "a body must not be compressed"}
	}
	if !IsJSON(r.Header) {
		return &Refusal{http.StatusUnsupportedMediaType, "content_type", "the Content-Type must be application/json"}
	}
	return nil
}

// IsJSON reports whether the body of a message with this header is JSON in UTF-8.
func IsJSON(h http.Header) bool {
	types := h["Content-Type"]
	if len(types) != 1 {
		return false
	}
	kind, params, err := mime.ParseMediaType(types[0])
	charset, named := params["charset"]
	return err == nil && kind == "application/json" && (!named || strings.EqualFold(charset, "utf-8"))
}
