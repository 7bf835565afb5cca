package acp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// TestAskedThenRun: a question of which the agent reports the call as completed, and the
// client no answer, is recorded as run, once. One that was answered, or whose call failed
// or is in progress, is not. The question stays open for the client's report.
func TestAskedThenRun(t *testing.T) {
	const untitled = `{"jsonrpc":"2.0","id":2,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},` +
		`"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}}`
	status := func(call, is string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"` + call + `","status":"` + is + `"}}}`
	}
	for name, tt := range map[string]struct {
		then []string
		want string
	}{
		"completed":                 {[]string{status("c", "completed")}, "d-c"},
		"completed two times":       {[]string{status("c", "completed"), status("c", "completed")}, "d-c"},
		"failed":                    {[]string{status("c", "failed")}, ""},
		"in progress":               {[]string{status("c", "in_progress")}, ""},
		"another call":              {[]string{status("d", "completed")}, ""},
		"answered, then completed":  {[]string{choose, status("c", "completed")}, ""},
		"completed, answered later": {[]string{status("c", "completed"), choose}, "d-c"},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := make(chan string, 10)
			w := &wire{sessions: new(decisions.Sessions)}
			methods := socket.Methods{}
			deps := native.Deps{
				Sessions: w.sessions, Decider: titled{}, Users: func(uid uint32) effects.User { return effects.User{UID: uid} },
				RecordRun: func(_ context.Context, id string) { recorded <- id },
			}
			acp.Register(methods, deps)
			native.Register(methods, deps)
			w.path = sockettest.Serve(t, methods)
			c := w.dial(t)
			if got := c.exchange(t, declare, untitled)["2"]; !strings.Contains(got, `-32050`) {
				t.Fatalf("no question: %s", got)
			}
			for _, line := range tt.then {
				got := c.exchange(t, line)
				if line == choose && !strings.Contains(got["3"], `"outcome":"selected"`) {
					t.Errorf("the answer: %s", got["3"])
				}
			}
			if tt.want != "" {
				if got := <-recorded; got != tt.want {
					t.Errorf("%s has run, want %s", got, tt.want)
				}
			}
			// Another answer on the connection: what was sent before was read.
			c.exchange(t, declare)
			select {
			case got := <-recorded:
				t.Errorf("%s has run, too", got)
			default:
			}
		})
	}
}
