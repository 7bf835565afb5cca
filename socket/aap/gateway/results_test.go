package gateway

import (
	"net/http/httptest"
	"testing"

	"github.com/permd/permd/socket/aap"
)

// TestResults: of the results of a turn, the first one of each call passes, also where the call
// is of a turn before.
func TestResults(t *testing.T) {
	w := httptest.NewRecorder()
	h := held{out: newOutput(w, "message"), expected: map[string]bool{"posted": true}}
	granted := part{kind: partCall, id: "granted", event: "tool_call", data: []byte(`"call of granted"`)}
	b := &batch{late: []part{granted}, denials: map[string]bool{"denied": true}}
	for _, id := range []string{"granted", "denied", "refused"} {
		b.Calls = append(b.Calls, aap.Call{ToolCallID: id})
	}
	h.expect(b)
	for _, p := range []struct {
		kind     partKind
		id, data string
	}{
		{partResult, "granted", `"1"`},
		{partResult, "granted", `"not shown"`},
		{partResult, "denied", `"not shown"`}, // the gateway has said it
		{partResult, "denied", `"not shown"`},
		{partResult, "refused", `"2"`},
		{partResult, "refused", `"not shown"`},
		{partResult, "posted", `"3"`},
		{partResult, "posted", `"not shown"`},
		{partResult, "new", `"not shown"`},
		{partCall, "new", `"call of new"`},
		{partResult, "other", `"not shown"`},
		{partResult, "new", `"4"`},
		{partResult, "new", `"not shown"`},
	} {
		event := map[partKind]string{partCall: "tool_call", partResult: "tool_result"}[p.kind]
		if err := h.add(part{kind: p.kind, id: p.id, event: event, data: []byte(p.data)}); err != nil {
			t.Fatal(err)
		}
	}
	const want = "event: turn_start\ndata: {}\n\n" +
		"event: tool_call\ndata: \"call of granted\"\n\nevent: tool_result\ndata: \"1\"\n\n" +
		"event: tool_result\ndata: \"2\"\n\nevent: tool_result\ndata: \"3\"\n\n" +
		"event: tool_call\ndata: \"call of new\"\n\nevent: tool_result\ndata: \"4\"\n\n"
	if got := w.Body.String(); got != want {
		t.Errorf("the client sees %q, want %q", got, want)
	}
}
