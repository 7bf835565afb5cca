package pattern_test

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// TestKindLines: an allow is for calls that name no tool only if it spells that out; denies
// are for them as for every tool.
func TestKindLines(t *testing.T) {
	named := effects.Effect{Kind: effects.KindUse, Claimed: true, Use: &effects.Use{Tool: effects.KindTool("search")}}
	spelled, err := pattern.Parse(effects.KindUse, "kind/search")
	if err != nil {
		t.Fatal(err)
	}
	for line, allows := range map[string]bool{
		"kind/search": true, "kind/*": true, "kind/s*": true,
		"*search": false, "k*": false, "*/search": false, "search": false, "*:search": false, "kind:search": false,
	} {
		p, err := pattern.Parse(effects.KindUse, line)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(&named, []effects.Effect{named}, ctx); got != allows {
			t.Errorf("the allow %s matches: %t", line, got)
		}
		if got := p.Covers(spelled, true); got != allows {
			t.Errorf("the allow %s covers %s: %t", line, spelled, got)
		}
		if got := p.Touches(&named, ctx); got != (line != "search") {
			t.Errorf("a deny of %s holds: %t", line, got)
		}
	}
}
