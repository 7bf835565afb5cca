package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Credentials of the gateway's configuration, which only its upstream may get.
const (
	gateToken  = "NOT-A-REAL-GATE-TOKEN"
	gateGrant  = "NOT-A-REAL-GATE-GRANT"
	gateSecret = "NOT-A-REAL-GATE-SECRET"
)

// gateUpstream is the gateway's upstream, a tool server of Open Tool Calling. It is written
// from the OpenAPI document of the specification, and records the requests.
type gateUpstream struct {
	*httptest.Server
	t *testing.T

	mu    sync.Mutex
	tools []map[string]any
	ran   []string
	calls []map[string]any // the bodies, without an envelope
	// answer replaces the answer to a call.
	answer func(w http.ResponseWriter, r *http.Request, call map[string]any)
	// lists replaces the answer to GET /tools.
	lists http.HandlerFunc
}

func newGateUpstream(t *testing.T) *gateUpstream {
	t.Helper()
	u := &gateUpstream{t: t}
	for _, version := range []string{"1.2.0", "1.10.0"} {
		u.tools = append(u.tools, map[string]any{
			"id": "Sms.Send@" + version, "name": "Sms_Send", "description": "Sends a message.", "version": version,
			"input_schema":  map[string]any{"type": "object", "properties": map[string]any{"to": map[string]any{"type": "string"}}, "required": []string{"to"}},
			"output_schema": nil,
			"requirements": map[string]any{
				"authorization": []any{map[string]any{"id": "sms-idp", "oauth2": map[string]any{"scopes": []string{"send"}}}},
				"secrets":       []any{map[string]any{"id": "SMS_KEY"}}, "user_id": true,
			},
		})
	}
	u.tools = append(u.tools, map[string]any{"id": "Clock.Now@1.0.0", "name": "Clock_Now", "description": "The time.", "version": "1.0.0", "input_schema": map[string]any{"type": "object"}, "output_schema": nil},
		map[string]any{"id": "Other.Tool@1.0.0", "name": "Other_Tool", "description": "Of a toolkit that is not configured.", "version": "1.0.0", "input_schema": map[string]any{}})
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/tools", func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		lists, tools := u.lists, u.tools
		u.mu.Unlock()
		if lists != nil {
			lists(w, r)
			return
		}
		writeJSON(w, 200, map[string]any{"items": tools})
	})
	mux.HandleFunc("/v1/tools/call", u.call)
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { t.Errorf("it is asked for %s", r.RequestURI) })
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+gateToken {
			t.Errorf("%s with the token %q", r.RequestURI, r.Header.Get("Authorization"))
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (u *gateUpstream) call(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var call map[string]any
	if err != nil || json.Unmarshal(body, &call) != nil || r.Method != http.MethodPost {
		u.t.Errorf("no call: %s %q", r.Method, body)
	}
	enveloped, ok := call["request"].(map[string]any)
	if ok {
		call = enveloped
	}
	u.mu.Lock()
	answer := u.answer
	u.calls = append(u.calls, call)
	u.ran = append(u.ran, fmt.Sprint(call["tool_id"], " ", call["call_id"]))
	u.mu.Unlock()
	if answer != nil {
		answer(w, r, call)
		return
	}
	result := map[string]any{"call_id": call["call_id"], "success": true, "duration": 2, "value": fmt.Sprint(call["tool_id"], " is done")}
	if ok {
		writeJSON(w, 200, map[string]any{"$schema": "urn:oxp:1.0", "result": result})
		return
	}
	writeJSON(w, 200, result)
}

// set changes what the upstream does.
func (u *gateUpstream) set(f func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f()
}

// runs returns the calls that it has got since the last time.
func (u *gateUpstream) runs() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	ran := strings.Join(u.ran, "; ")
	u.ran = nil
	return ran
}

func (u *gateUpstream) last() map[string]any {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.calls) == 0 {
		return nil
	}
	return u.calls[len(u.calls)-1]
}
