package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestApprovalAfterOpaque: in a request of several calls, an approval of a call does
// not count if an earlier call may change what it does. In RAP, OTC and ACP each
// request has one call; there the contents are compared when the approval arrives
// (TestLateYes).
func TestApprovalAfterOpaque(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a yes in each protocol; TestGates is the quick one")
	}
	t.Parallel()
	calls := func(first string) string {
		return fmt.Sprintf(`[{"callId":"b","tool":{"name":"Bash"},"input":{"command":%q}},{"callId":"c","tool":{"name":"Bash"},"input":{"command":"sh run.sh data"}}]`, first)
	}
	decided := func(l *late, params string, args ...any) []*decisions.Decision {
		l.t.Helper()
		text, err := l.say("permd/decide", params, args...)
		var got struct {
			Decisions []*decisions.Decision `json:"decisions"`
		}
		if err != nil || json.Unmarshal([]byte(text), &got) != nil || len(got.Decisions) == 0 {
			l.t.Fatalf("%s, %v", text, err)
		}
		return got.Decisions
	}
	forms := map[string]func(l *late, first string) bool{
		"permd/decide": func(l *late, first string) bool {
			d := decided(l, `{"sessionId":"s1","calls":%s}`, calls(first))
			_, err := l.say("permd/choose", `{"decisionId":%q,"verdict":"allow"}`, d[1].ID)
			return err == nil
		},
		"aap/answer": func(l *late, first string) bool {
			got, err := l.say("aap/permissions", "%s", strings.Replace(lateStopped, `"content":[`,
				fmt.Sprintf(`"content":[{"type":"tool_use","toolCallId":"b","name":"Bash","input":{"command":%q}},`, first), 1))
			if err != nil {
				l.t.Fatal(err)
			}
			_, id, _ := strings.Cut(got, `"batchId":"`)
			id, _, _ = strings.Cut(id, `"`)
			if got, err = l.say("aap/answer", `{"sessionId":"s1","batchId":%q,"answers":[{"toolCallId":"c","verdict":"allow"}]}`, id); err != nil {
				l.t.Fatal(err)
			}
			_, call, _ := strings.Cut(got, `{"toolCallId":"c"`)
			_, outcome, _ := strings.Cut(call, `"outcome":"`)
			return strings.HasPrefix(outcome, `execute"`)
		},
		// The way of permd hook and HTTP: the approval is made with permd allow.
		"permd allow": func(l *late, first string) bool {
			if _, err := l.say("permd/session", `{"harness":"test","sessionId":"h1","cwd":%q,"agent":{"name":"claude-agent-acp"}}`, l.project); err != nil {
				l.t.Fatal(err)
			}
			one := decided(l, `{"sessionId":"h1","calls":[%s]}`, lateCall)
			l.d.permd(l.t, "allow", one[0].ID)
			return decided(l, `{"sessionId":"h1","calls":%s}`, calls(first))[1].Verdict == decisions.Allow
		},
	}
	d := startDaemon(t)
	for name, form := range forms {
		for first, want := range map[string]bool{
			"ls": true, "git status": true, "make gen": false, "frob": false, "echo 2 > run.sh": false, "echo 2 > data": false, "echo 2 > other": true,
			"cp other run.sh": false, "ln -sf other run.sh": false,
		} {
			t.Run(name+", "+first, func(t *testing.T) {
				l := &late{t, d, d.dial(t), projectOf(t)}
				for _, file := range []string{"run.sh", "data", "other"} {
					l.write(file, "echo 1\n")
				}
				l.session(l.project, "default")
				if got := form(l, first); got != want {
					t.Errorf("it may run: %v, want %v", got, want)
				}
			})
		}
	}
}
