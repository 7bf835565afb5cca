package decisions

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestProjectAllowsNoDeclared: what a client declares of a tool, a trusted project does not allow.
func TestProjectAllowsNoDeclared(t *testing.T) {
	v := &effectInputs{trusted: "/p", findings: Findings{Fired: []Finding{{Set: SetAllow, Rule: RuleRef{Layer: Project, ID: "project/rules.yaml:1"}, Reason: "listed"}}}}
	for _, declared := range []bool{false, true} {
		e := &effects.Effect{Kind: effects.KindWrite, File: &effects.File{Path: "/p/a"}, Declared: declared}
		if got := precede(e, v); (got.verdict == Allow) == declared {
			t.Errorf("declared %v: %s, %s", declared, got.verdict, got.reason)
		}
	}
}
