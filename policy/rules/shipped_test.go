package rules

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/rego"
)

// The shipped base layer passes the checks and its own tests, without warnings.
func TestShippedBase(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{settings.ProfileCareful, settings.ProfileBalanced, settings.ProfileUnattended} {
		t.Run(profile, func(t *testing.T) {
			if testing.Short() {
				t.Skip("long: it runs the tests of the base layer again; TestBase is the quick one")
			}
			t.Parallel()
			testShipped(t, profile)
		})
	}
}

func testShipped(t *testing.T, profile string) {
	u := Unit{Layer: decisions.Base}
	for name, data := range rego.Base() {
		if !rego.InProfile(name, profile) {
			continue
		}
		u.Files = append(u.Files, source.File{Name: name, Rel: name, Data: data})
	}
	schema, err := input.ParseSchema(rego.InputSchema())
	if err != nil {
		t.Fatal(err)
	}
	c, ps := Compile(u, schema)
	for _, p := range ps.Sorted() {
		t.Errorf("%s: %s (%s)", p.Severity, p, p.Hint)
	}
	if ps.Failed() {
		t.FailNow()
	}
	if len(c.rules) == 0 {
		t.Fatal("no rules")
	}
	report, ps := Test(t.Context(), u, schema, true)
	if ps.Failed() {
		t.Fatal(ps.Errors())
	}
	if len(report.Results) == 0 {
		t.Error("no tests ran")
	}
	for _, r := range report.Results {
		if r.Outcome != Pass {
			t.Errorf("%s:%d: %s %s: %s", r.File, r.Line, r.Outcome, r.Name, r.Detail())
		}
	}
	if report.Coverage == nil || *report.Coverage < 80 {
		t.Errorf("coverage %v, uncovered %v", report.Coverage, report.Uncovered)
	}
}
