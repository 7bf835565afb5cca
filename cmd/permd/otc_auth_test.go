package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// authServer is a tool server that wants one of the protocol's two ways of authentication, and
// says in the value of a call what it got.
func authServer(t *testing.T, admits func(r *http.Request) bool, value func(r *http.Request) string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !admits(r):
			writeJSON(w, 401, map[string]any{"message": "unauthorized"})
		case r.URL.Path == "/v1/tools":
			writeJSON(w, 200, map[string]any{"items": []any{map[string]any{
				"id": "Clock.Now@1.0.0", "name": "Clock_Now", "description": "The time.", "version": "1.0.0", "input_schema": map[string]any{"type": "object"},
			}}})
		default:
			var call struct {
				ID string `json:"call_id"`
			}
			_ = json.NewDecoder(r.Body).Decode(&call)
			writeJSON(w, 200, map[string]any{"call_id": call.ID, "success": true, "value": value(r)})
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// bearer returns the token of a request.
func bearer(r *http.Request) string {
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return text
}

// validJWT checks a token as RFC 7519 and the protocol's page on authentication say.
func validJWT(token, secret string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	var fields [3][]byte
	for i, p := range parts {
		var err error
		if fields[i], err = base64.RawURLEncoding.DecodeString(p); err != nil {
			return false
		}
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	var head struct{ Alg, Typ string }
	var claims struct{ Exp int64 }
	if json.Unmarshal(fields[0], &head) != nil || json.Unmarshal(fields[1], &claims) != nil {
		return false
	}
	left := time.Until(time.Unix(claims.Exp, 0))
	return head.Alg == "HS256" && hmac.Equal(mac.Sum(nil), fields[2]) && left > 0 && left <= 15*time.Minute
}

// TestOTCAuthentication: permd otc authenticates itself at a tool server by an API key or a
// JSON Web Token, as the protocol has them, and takes its own token as an API key. What it
// sends is withheld where an answer holds it.
func TestOTCAuthentication(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts the gateway once more; TestOTCGateway is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "gate.rego", gateRules)
	d.start(t)
	nothing := func(*http.Request) string { return "noon" }
	var mu sync.Mutex
	var tokens []string
	for name, c := range map[string]struct {
		auth   string
		admits func(r *http.Request) bool
		value  func(r *http.Request) string
		says   string
	}{
		"an API key": {"api_key: {credential: token}", func(r *http.Request) bool {
			return r.Header.Get("OXP-API-Key") == gateToken && r.Header.Get("Authorization") == ""
		}, nothing, `"value":"noon"`},
		"a JSON Web Token": {"jwt_secret: {credential: token}", func(r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			tokens = append(tokens, bearer(r))
			return validJWT(bearer(r), gateToken) && r.Header.Get("OXP-API-Key") == ""
		}, nothing, `"value":"noon"`},
		"a key that is shown": {"api_key: {credential: token}", func(*http.Request) bool { return true }, func(r *http.Request) string { return r.Header.Get("OXP-API-Key") }, "withheld since it holds a credential"},
		"a JWT that is shown": {"jwt_secret: {credential: token}", func(*http.Request) bool { return true }, bearer, "withheld since it holds a credential"},
	} {
		g := &otcGate{d: d, upstream: &gateUpstream{Server: authServer(t, c.admits, c.value)}, auth: c.auth}
		g.start(t)
		call := func(headers ...string) (int, string) {
			t.Helper()
			return g.request(t, "POST", "/tools/call", `{"tool_id":"Clock.Now","input":{}}`, append(headers, "Authorization", "")...)
		}
		if status, answer := call("OXP-API-Key", g.token); status != 200 || !strings.Contains(answer, c.says) {
			t.Errorf("%s: %d %s\n%s", name, status, answer, g.said.String())
		}
		for what, headers := range map[string][]string{
			"another key":           {"OXP-API-Key", strings.Repeat("x", len(g.token))},
			"no key":                {},
			"a key as a bearer's":   {"OXP-API-Key", "Bearer " + g.token},
			"a key in another name": {"X-API-Key", g.token},
		} {
			if status, answer := call(headers...); status != 400 || !strings.Contains(answer, "needs the token") {
				t.Errorf("%s, with %s: %d %s", name, what, status, answer)
			}
		}
		if status, _ := g.request(t, "POST", "/tools/call", `{"tool_id":"Clock.Now","input":{}}`, "Authorization", "Bearer x", "OXP-API-Key", g.token); status != 400 {
			t.Errorf("%s, with another bearer's token beside the key: %d", name, status)
		}
		g.stop(t)
	}
	if len(tokens) == 0 || slices.Contains(tokens, gateToken) {
		t.Errorf("tokens: %q", tokens)
	}
}
