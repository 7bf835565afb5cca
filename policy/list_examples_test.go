package policy

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/rego"
)

// The example policies compile without a warning and pass their own tests.
func TestExamples(t *testing.T) {
	for name, layer := range map[string]decisions.Layer{
		"org": decisions.Org, "user": decisions.User, "lists": decisions.User,
	} {
		t.Run(name, func(t *testing.T) {
			f := Folder{Dir: "../examples/policies/" + name, Schema: rego.InputSchema()}
			checked, err := f.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if checked.Layer != layer || checked.Rules < 5 {
				t.Errorf("%d rules of layer %s, want layer %s", checked.Rules, checked.Layer, layer)
			}
			for _, p := range checked.Problems {
				t.Errorf("%s: %s (%s)", p.Severity, p, p.Hint)
			}
			report, err := f.Test(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Results) < 5 {
				t.Errorf("%d tests ran", len(report.Results))
			}
			for _, r := range report.Results {
				if r.Outcome != rules.Pass {
					t.Errorf("%s:%d: %s %s: %s", r.File, r.Line, r.Outcome, r.Name, r.Detail())
				}
			}
			// The coverage of lists is not counted, since they have no lines of
			// Rego.
			if name != "lists" && (report.Coverage == nil || *report.Coverage < 80) {
				t.Errorf("coverage %v, uncovered %v", report.Coverage, report.Uncovered)
			}
		})
	}
}
