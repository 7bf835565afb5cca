package acp

import (
	"fmt"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/native"
)

// TestGateRows: each request about a gate has one row in the decision log, that of the
// decision that was answered, however many projects' rules were asked.
func TestGateRows(t *testing.T) {
	for _, set := range []decisions.Set{decisions.SetAllow, decisions.SetDeny, decisions.SetAsk, ""} {
		for projects := range 4 {
			for _, session := range []string{"s0", "nobody"} {
				for _, ask := range []string{"", `,"ask":true`} {
					t.Run(fmt.Sprint(set, projects, session, ask), func(t *testing.T) {
						g := newGates(t, map[string]decisions.Set{"run make": set})
						c := conn(1)
						for i := range projects {
							if _, err := g.call(t, c, native.MethodSession, fmt.Sprintf(`{"sessionId":"s%d","cwd":"/p%d"}`, i, i)); err != nil {
								t.Fatal(err)
							}
						}
						said, d := g.through(t, c, `{"sessionId":"`+session+`","method":"terminal/create","params":{"command":"make","cwd":"/p0"}`+ask+`}`)
						if d == nil || len(g.log.list) != 1 || g.log.list[0].Decision.ID != d.ID {
							t.Fatalf("%s: %+v in %d rows", said, d, len(g.log.list))
						}
						if r := &g.log.list[0].Decision; r.Verdict != d.Verdict || r.Outcome != d.Outcome || r.Reason != d.Reason {
							t.Errorf("answered %s %s %s, logged %s %s %s", d.Verdict, d.Outcome, d.Reason, r.Verdict, r.Outcome, r.Reason)
						}
					})
				}
			}
		}
	}
}
