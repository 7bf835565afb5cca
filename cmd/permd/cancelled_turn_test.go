package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// TestCancelledTurn: with every method of the decision socket, a call in a session
// whose turn the client has cancelled, or in a session below it, is not allowed
// before the next turn, and pending questions accept no approval.
func TestCancelledTurn(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a turn in each protocol; TestGates is the quick one")
	}
	t.Parallel()
	forms := []struct{ name, method, allowed, asked string }{
		{"permd/decide", "permd/decide", `{"sessionId":"s1","calls":[{"callId":"c","tool":{"name":"Bash"},"input":{"command":"ls"}}]}`,
			`{"sessionId":"s1","calls":[{"callId":"c","tool":{"name":"Bash"},"input":{"command":"sh run.sh"}}]}`},
		{"session/request_permission", "session/request_permission", strings.ReplaceAll(latePermit, "sh run.sh data", "ls"), latePermit},
		{"permd/gate", "permd/gate", `{"sessionId":"s1","method":"terminal/create","params":{"command":"ls"}}`,
			`{"sessionId":"s1","ask":true,"method":"terminal/create","params":{"command":"sh run.sh"}}`},
		{"rap/invoke", "rap/invoke", strings.Replace(lateInvoke, "move_bin", "list_bins", 1), lateInvoke},
		{"otc/call", "otc/call", strings.NewReplacer("Ledger.Post@2.0.0", "Clock.Now", `"c"`, `"d"`).Replace(lateOTC), lateOTC},
		{"aap/permissions", "aap/permissions", strings.NewReplacer("sh run.sh data", "ls", `"c"`, `"d"`).Replace(lateStopped), lateStopped},
	}
	d := newTestDaemon(t)
	d.policy(t, "turn.rego", `allow contains "harmless" if { input.effect.kind == "use"; input.effect.tool in {"list_bins", "Now"} }`)
	d.start(t)
	for _, f := range forms {
		for _, below := range []bool{false, true} {
			t.Run(f.name, func(t *testing.T) {
				l := &late{t, d, d.dial(t), projectOf(t)}
				l.write("run.sh", "echo 1\n")
				l.session(l.project, "default")
				cancelled := "s1"
				if below {
					cancelled = "s0"
					for _, s := range []string{`{"sessionId":"s0","cwd":%q}`, `{"sessionId":"s1","parent":"s0","cwd":%q,"agent":{"name":"claude-agent-acp"},"client":{"name":"claude-code"}}`} {
						if _, err := l.say("permd/session", s, l.project); err != nil {
							t.Fatal(err)
						}
					}
				}
				notify := func(method string) {
					t.Helper()
					if err := l.c.Notify(t.Context(), method, map[string]string{"sessionId": cancelled}); err != nil {
						t.Fatal(err)
					}
				}
				may := func() bool {
					got, err := l.say(f.method, "%s", f.allowed)
					if e, ok := errors.AsType[*client.Error](err); ok && e.Code == socket.CodeCancelled {
						return false
					}
					if err != nil {
						t.Fatal(err)
					}
					return strings.Contains(got, `"verdict":"allow"`) && !strings.Contains(got, `"outcome":"cancelled"`) && !strings.Contains(got, `"passes":false`)
				}
				notify("session/prompt")
				if !may() {
					t.Fatal("it is not allowed before")
				}
				id := l.question(l.say(f.method, "%s", f.asked))
				notify("session/cancel")
				if may() {
					t.Error("it is allowed in a turn that was cancelled")
				}
				if _, err := l.say("permd/choose", `{"decisionId":%q,"verdict":"allow"}`, id); err == nil {
					t.Error("what waited takes a yes")
				}
				notify("session/prompt")
				if !may() {
					t.Error("it is not allowed in the next turn")
				}
			})
		}
	}
}
