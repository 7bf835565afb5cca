package gateway

import (
	"encoding/json"
	"strings"
	"testing"
)

// Requests with everything that the protocol has.
const (
	wholeSession = `{"agent":{"name":"a","tools":[{"name":"t","trust":true}],"options":{"model":"m"}},"tools":[{"name":"u","description":"d","parameters":{"type":"object"}}],"messages":[
		{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"x"},{"type":"image","url":"data:,"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"y"},{"type":"tool_use","toolCallId":"h1","name":"t","input":{"a":1}}]},
		{"role":"tool","toolCallId":"h1","content":[{"type":"text","text":"z"}]},{"role":"assistant","content":"done"},{"role":"user","content":"x"}]}`
	wholeMessage = `{"agent":{"tools":[{"name":"t","trust":true}],"options":{"model":"m"}},"stream":"delta","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`
	wholeAnswers = `{"messages":[{"role":"tool","toolCallId":"a","content":[{"type":"text","text":"x"}]},{"role":"tool_permission","toolCallId":"b","granted":false,"reason":"no"}]}`
)

func readsSession(body string) bool {
	o, err := readObject([]byte(body))
	return err == nil && new(session).configure(o) == nil && checkMembers(o, "agent", "tools", "messages") == nil && checkSeed(o) == nil
}

func readsTurn(body string) bool {
	o, err := readObject([]byte(body))
	if err != nil || new(session).configure(o) != nil || checkMembers(o, "agent", "tools", "messages", "stream") != nil {
		return false
	}
	_, f := readSaid(o)
	return f == nil
}

// TestOnlyMembers adds a member to each object of a request, and changes each type of a
// block and each role: nothing that the protocol does not have is passed on.
func TestOnlyMembers(t *testing.T) {
	for body, reads := range map[string]func(string) bool{wholeSession: readsSession, wholeMessage: readsTurn, wholeAnswers: readsTurn} {
		if !reads(body) {
			t.Fatalf("refused: %s", body)
		}
		n := 0
		for i := range body {
			if body[i] != '{' || ignored(body[:i]) {
				continue
			}
			for _, member := range []string{`"approveAll":true,`, `"tool_permissions":[{"toolCallId":"h1","granted":true}],`, `"Trust ":true,`} {
				n++
				if changed := body[:i+1] + member + body[i+1:]; json.Valid([]byte(changed)) && reads(changed) {
					t.Errorf("passed on: %s", changed)
				}
			}
		}
		for _, old := range []string{`"type":"text"`, `"type":"image"`, `"type":"thinking"`, `"type":"tool_use"`, `"role":"system"`, `"role":"tool"`, `"role":"assistant"`} {
			kind, _, _ := strings.Cut(old, ":")
			if changed := strings.Replace(body, old, kind+`:"tool_permission"`, 1); changed != body && reads(changed) {
				t.Errorf("passed on: %s", changed)
			}
		}
		if n < 9 {
			t.Errorf("%d changes", n)
		}
	}
}

// ignored reports whether the object that follows is of the tool's or the agent's own form.
func ignored(before string) bool {
	for _, name := range []string{`"input":`, `"options":`, `"parameters":`, `"tools":[`} {
		if strings.HasSuffix(before, name) && (name != `"tools":[` || !strings.HasSuffix(before, `"a","tools":[`) && !strings.HasSuffix(before, `{"tools":[`)) {
			return true
		}
	}
	return false
}
