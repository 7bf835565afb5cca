package rap

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/sockettest"
)

// TestEnded: a report belongs to the newest decision about the call, on the connection that
// asked and while the thread is open.
func TestEnded(t *testing.T) {
	d := newDaemon(t)
	d.verdicts["list"] = decisions.Allow
	d.must(t, MethodInvoke, invoked("a", "root", "list", ""))
	d.must(t, MethodInvoke, invoked("b", "root", "list", ""))
	d.must(t, MethodInvoke, invoked("b", "root", "list", ""))
	d.must(t, MethodInvoke, invoked("a", "other", "list", ""))
	report := func(thread, call, outcome, want string) {
		t.Helper()
		sockettest.Diff(t, "result", want, d.Must(t, MethodEnded, `{"thread_id":"`+thread+`","tool_call_id":"`+call+`","outcome":"`+outcome+`"}`))
	}
	report("root", "a", "ran", `{"recorded":true}`)
	report("root", "b", "failed", `{"recorded":true}`)
	report("other", "a", "cancelled", `{"recorded":true}`)
	report("other", "b", "ran", `{"recorded":false}`)
	d.Must(t, MethodCloseThread, `{"thread_id":"root"}`)
	report("root", "a", "ran", `{"recorded":false}`)
	d.Connect(2)
	report("other", "a", "ran", `{"recorded":false}`)
	sockettest.Diff(t, "recorded", []string{"d1 ran", "d3 failed", "d4 cancelled"}, d.ends)
	for params, says := range map[string]string{
		`{"tool_call_id":"a","outcome":"ran"}`:                       "thread_id",
		`{"thread_id":"root","outcome":"ran"}`:                       "tool_call_id",
		`{"thread_id":"root","tool_call_id":"a"}`:                    "outcome",
		`{"thread_id":"root","tool_call_id":"a","outcome":"RAN"}`:    "outcome",
		`{"thread_id":"root","tool_call_id":"a","outcome":["ran"]}`:  "outcome",
		`{"thread_id":"root","tool_call_id":"a","Outcome":"failed"}`: "Outcome",
	} {
		d.Refused(t, MethodEnded, params, says)
	}
}
