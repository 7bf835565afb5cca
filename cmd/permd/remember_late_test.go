package main

import "testing"

// TestAnsweredLate: an approval counts only under the rules that asked. Other rules
// may deny the call by the time the person answers; the next request shows the
// verdict.
func TestAnsweredLate(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for new rules")
	}
	t.Parallel()
	d := startDaemon(t)
	p := d.asks(t, d.project(t, nil))
	once, always, never := p.bash("frob a"), p.bash("frob b"), p.bash("frob c")
	for _, asked := range []string{once.ID, always.ID, never.ID} {
		if asked == "" {
			t.Fatal("no question")
		}
	}
	d.policy(t, "late.rego", `deny contains "frozen" if input.effect.program == "frob"`)
	d.reload(t)
	p.choose(once, nil, "the rules have changed")
	p.choose(once, nil, "no question of that decisionId is open")
	p.choose(always, map[string]any{"width": always.Widths[0].ID}, "the rules have changed")
	p.choose(never, map[string]any{"verdict": "deny"}, "")
	if got := p.bash("frob a"); got.Reason != "frozen" {
		t.Errorf("%s because %q", got.Verdict, got.Reason)
	}
	d.policy(t, "late.rego", "")
	d.reload(t)
	p.choose(p.bash("frob d"), nil, "")
}
