package decisions

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/plainshell"
)

// TestNotPlainCounts: a call counts once for each construct, and each has a
// counter.
func TestNotPlainCounts(t *testing.T) {
	var n NotPlain
	if len(plainshell.Constructs) > len(n.counts) {
		t.Fatalf("%d constructs, %d counters", len(plainshell.Constructs), len(n.counts))
	}
	if got := n.Counts(); got != nil {
		t.Errorf("counts of nothing: %v", got)
	}
	of := func(c plainshell.Construct) effects.Effect {
		return effects.Effect{Kind: effects.KindUnknown, Cause: effects.CauseNotPlain, Construct: c}
	}
	n.note([]effects.Effect{of(plainshell.Quote), of(plainshell.Quote), of(plainshell.Brace), {Kind: effects.KindUnknown}, of("made up")})
	n.note([]effects.Effect{of(plainshell.Quote)})
	if diff := cmp.Diff(map[string]int64{"quote": 2, "brace": 1}, n.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	(*NotPlain)(nil).note([]effects.Effect{of(plainshell.Quote)})
}
