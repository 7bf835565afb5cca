package policy

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/permd/permd/decisions"

	"github.com/permd/permd/policy/evaltime"
)

// TestEvaluateEnds: rules that would take their whole time, twice, end soon after the
// decision has no more time or nobody waits for it, and what they would have allowed is
// not there.
func TestEvaluateEnds(t *testing.T) {
	slow := mustCompile(t, decisions.User, `allow contains "yes" if input.effect.kind == "run"
deny contains "x" if {
	some a in numbers; some b in numbers; some c in numbers; some d in numbers
	some e in numbers; some f in numbers; some g in numbers; some h in numbers
	a * b * c * d * e * f * g * h == 7 + input.effect.harmless_from * 0.5
}
numbers := {n | some i, _ in split("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", ""); n := i + 11}`)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(evaltime.Timeout/5, cancel)
	begun := time.Now()
	got, err := snapshotOf(slow).Evaluate(ctx, inputOf(run("ls", "x")))
	if !errors.Is(err, context.Canceled) || len(got.Fired) != 0 {
		t.Errorf("got %v, %v", briefs(got), err)
	}
	if took := time.Since(begun); took > 2*evaltime.Timeout {
		t.Errorf("it took %v", took)
	}
}
