package gateway

import (
	"strings"
	"testing"
)

// TestOnlyCalls reads calls with members that the protocol does not have: the client gets
// none of them, wherever the call stands.
func TestOnlyCalls(t *testing.T) {
	const call = `"toolCallId":"a","arguments":{"x":666},"name":"t","command":"666","input":{"x":[1, "666kept"]},"display":"666"`
	const want = `"toolCallId":"a","name":"t","input":{"x":[1,"666kept"]}}`
	seen := func(where, got string, kind string) {
		t.Helper()
		if got = strings.ReplaceAll(got, `[1, "`, `[1,"`); !strings.Contains(got, `{`+kind+want) || strings.Count(got, "666") != 1 {
			t.Errorf("%s: %s", where, got)
		}
	}
	var got part
	use := func(p part) error {
		if p.kind == partCall {
			got = p
		}
		return nil
	}
	for _, kind := range []string{"", `"event":"tool_call",`} {
		stream := "event: turn_start\ndata: {}\n\nevent: tool_call\ndata: {" + kind + call + "}\n\nevent: turn_stop\ndata: {\"stopReason\":\"tool_use\"}\n\n"
		if err := new(turn).readStream(strings.NewReader(stream), use); err != nil {
			t.Fatal(err)
		}
		seen("an event", string(got.data), kind)
	}
	const messages = `[{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use",` + call + `}]}]`
	if err := new(turn).readWhole([]byte(`{"stopReason":"tool_use","messages":`+messages+`}`), use); err != nil {
		t.Fatal(err)
	}
	seen("a block", string(got.data), `"type":"tool_use",`)
	p, _ := parseHistory([]byte(`{"history":{"full":` + messages + `}}`))
	if p == nil || len(p.messages) != 1 || !strings.HasPrefix(string(p.messages[0]), `{"role":"assistant","content":[{"type":"text","text":"x"},`) {
		t.Fatalf("a history: %+v", p)
	}
	seen("a history", string(p.messages[0]), `"type":"tool_use",`)
}
