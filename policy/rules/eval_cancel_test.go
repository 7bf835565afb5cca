package rules

import (
	"context"
	"errors"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/evaltime"
)

// TestEvaluateEnds: rules that would take their whole time, twice, end soon after the
// decision has no more time or nobody waits for it, and what they would have allowed is
// not there.
func TestEvaluateEnds(t *testing.T) {
	t.Parallel()
	slow := mustCompile(t, decisions.User, `allow contains "yes" if input.effect.kind == "run"
deny contains "x" if {
	some a in numbers; some b in numbers; some c in numbers; some d in numbers
	some e in numbers; some f in numbers; some g in numbers; some h in numbers
	a * b * c * d * e * f * g * h == 7 + input.effect.harmless_from * 0.5
}
numbers := {n | some i, _ in split("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", ""); n := i + 11}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := snapshotOf(slow)
	// The size of the heap is looked at in each tick, when an evaluation runs.
	s.limiter = evaltime.NewLimiter(func() uint64 {
		cancel()
		return 0
	})
	got, err := s.Evaluate(ctx, inputOf(run("ls", "x")))
	// The rules take years, and an error of their time would mean that they had all of it.
	if !errors.Is(err, context.Canceled) || len(got.Fired) != 0 {
		t.Errorf("got %v, %v", briefs(got), err)
	}
}
