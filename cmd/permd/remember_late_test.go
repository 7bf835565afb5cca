package main

import "testing"

// TestAnsweredLate: rules may deny the call by the time the person answers: their yes does not
// count, and the next request shows the verdict. Rules that leave the question as it is do not
// end it.
func TestAnsweredLate(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for new rules")
	}
	t.Parallel()
	d := startDaemon(t)
	p := d.asks(t, d.project(t, nil))
	once, always, never, other := p.bash("frob a"), p.bash("frob b"), p.bash("frob c"), p.bash("quux")
	for _, asked := range []string{once.ID, always.ID, never.ID, other.ID} {
		if asked == "" {
			t.Fatal("no question")
		}
	}
	d.policy(t, "late.rego", `deny contains "frozen" if input.effect.program == "frob"`)
	d.reload(t)
	p.choose(once, nil, "by now, rules or a remembered choice deny the call")
	p.choose(once, nil, "no question of that decisionId is open")
	p.choose(always, map[string]any{"width": always.Widths[0].ID}, "by now, rules or a remembered choice deny the call")
	p.choose(never, map[string]any{"verdict": "deny"}, "")
	p.choose(other, nil, "")
	if got := p.bash("frob a"); got.Reason != "frozen" {
		t.Errorf("%s because %q", got.Verdict, got.Reason)
	}
	d.policy(t, "late.rego", "")
	d.reload(t)
	p.choose(p.bash("frob d"), nil, "")
}
