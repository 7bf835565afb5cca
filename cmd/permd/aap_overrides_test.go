package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestAAPOverrides: what a turn says of the agent's and the client's tools holds from then on,
// without trust, and no option of the agent reaches permd.
func TestAAPOverrides(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts the gateway once more; TestAAPConversation is the quick one")
	}
	t.Parallel()
	d := aapDaemon(t)
	const secret = "an-option-that-is-a-secret"
	page := `page {"who":"ana"}`
	s := newAAPServer(t, calls(`c1 `+page), says("one"), calls(`c2 `+page), says("two"))
	wire := newAAPWire(t, s.URL)
	url, key := d.startGateway(t, wire.URL)
	c := newPlainAAPOver(t, url, key, "message", nil)
	c.tools = nil
	status, text := c.do("POST", "/sessions", map[string]any{"agent": map[string]any{
		"name": "helper", "tools": []aapTool{{Name: "page"}}, "options": map[string]string{"token": secret},
	}})
	var made struct{ SessionID string }
	if status != http.StatusCreated || json.Unmarshal([]byte(text), &made) != nil {
		t.Fatalf("a session with options: %d %s", status, text)
	}
	turn := func(more map[string]any) (calls, answered []string) {
		t.Helper()
		more["stream"] = "message"
		status, text := c.do("POST", "/sessions/"+made.SessionID+"/turns", more)
		if status != http.StatusOK {
			t.Fatalf("%v: %d %s", more, status, text)
		}
		seen := c.read(text)
		for _, call := range seen.calls {
			calls = append(calls, call.ID)
			if r := seen.results[call.ID]; r != "" {
				answered = append(answered, r)
			}
		}
		return calls, answered
	}
	for path, shown := range map[string]string{"/meta": aapAgent, "/sessions/" + made.SessionID: `"agent":{"name":"helper"`} {
		if status, text := c.do("GET", path, nil); status != http.StatusOK || !strings.Contains(text, shown) {
			t.Errorf("GET %s: %d %s", path, status, text)
		}
	}
	user := []any{map[string]string{"role": "user", "content": "go"}}
	trusted := map[string]any{"tools": []aapTool{{Name: "page", Trust: true}}, "options": map[string]string{"token": secret}}
	shown, answered := turn(map[string]any{"messages": user, "agent": trusted})
	want(t, "calls that the person is asked about", []string{"c1"}, shown)
	want(t, "results", []string(nil), answered)
	var sent struct {
		Agent struct {
			Tools   []aapTool
			Options map[string]string
		}
	}
	wire.mu.Lock()
	if err := json.Unmarshal([]byte(wire.said[0]), &sent); err != nil {
		t.Fatal(err)
	}
	wire.mu.Unlock()
	want(t, "the server's tools", []aapTool{{Name: "page"}}, sent.Agent.Tools)
	want(t, "the server's options", map[string]string{"token": secret}, sent.Agent.Options)
	turn(map[string]any{"messages": []any{map[string]any{"role": "tool_permission", "toolCallId": "c1", "granted": true}}})

	// From this turn on the client has a tool of the same name.
	_, answered = turn(map[string]any{"messages": user, "tools": []aapTool{{Name: "page"}}})
	if len(answered) != 1 || len(s.executed) != 1 {
		t.Errorf("a name that both have: %q, and the server ran %q", answered, s.executed)
	}
	d.wantNowhere(t, secret)
}
