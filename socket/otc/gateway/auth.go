package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// headerKey is the header of the protocol for an API key.
const headerKey = "Oxp-Api-Key"

// jwtTime is how long a token that the gateway signs is good for. The protocol wants no more
// than 15 minutes; one is made for each call.
const jwtTime = 2 * time.Minute

// serverAuth is how the gateway authenticates itself at a tool server, by one of the
// protocol's methods or a token of another kind; at most one is set.
type serverAuth struct {
	token, apiKey, jwtSecret *source
}

func (a *serverAuth) check() error {
	n := 0
	for _, s := range []*source{a.token, a.apiKey, a.jwtSecret} {
		if s != nil {
			n++
		}
	}
	if n > 1 {
		return errors.New("of token, api_key and jwt_secret there may be one")
	}
	return nil
}

// read returns the header to send, and the texts that an answer must not hold.
func (a *serverAuth) read(now time.Time) (header http.Header, own []string, err error) {
	for _, m := range []struct {
		name   string
		from   *source
		header func(text string) (name, value string)
	}{
		{"token", a.token, func(text string) (string, string) { return "Authorization", "Bearer " + text }},
		{"api_key", a.apiKey, func(text string) (string, string) { return headerKey, text }},
		{"jwt_secret", a.jwtSecret, func(text string) (string, string) {
			signed := signJWT(text, now.Add(jwtTime))
			own = append(own, signed)
			return "Authorization", "Bearer " + signed
		}},
	} {
		if m.from == nil {
			continue
		}
		text, err := m.from.read()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.name, err)
		}
		name, value := m.header(text)
		header, own = http.Header{name: {value}}, append(own, text)
	}
	return header, own, nil
}

// signJWT returns a JSON Web Token (RFC 7519) that says no more than when it ends, signed with
// HS256.
func signJWT(secret string, ends time.Time) string {
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, ends.Unix()))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return text + "." + enc.EncodeToString(mac.Sum(nil))
}
