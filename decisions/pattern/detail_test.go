package pattern_test

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/pattern"
)

// TestDetail: each member of a pattern after Kind has a Detail of its own.
func TestDetail(t *testing.T) { effectstest.Details(t, (*pattern.Pattern).Detail) }

// TestDetailOfKinds: a line of each kind has the detail that its effects have.
func TestDetailOfKinds(t *testing.T) {
	lines := map[effects.Kind]string{
		effects.KindRun: "ls *", effects.KindRead: "./a", effects.KindWrite: "./a", effects.KindDelete: "./a",
		effects.KindConnect: "example.org", effects.KindUse: "server:tool",
	}
	for _, kind := range pattern.Kinds {
		p, err := pattern.Parse(kind, lines[kind])
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if p.Detail() == effects.NoDetail {
			t.Errorf("a line of kind %s has no detail", kind)
		}
		if p.String() != lines[kind] {
			t.Errorf("%s: %q is printed as %q", kind, lines[kind], p.String())
		}
	}
}
