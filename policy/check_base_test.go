package policy_test

import (
	"testing"

	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/rego"
)

// TestBaseFolder runs the tests of the base layer as "permd policy test rego/base" does:
// with the rules of one profile, since those of all contradict each other.
func TestBaseFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the tests of the base layer again; TestBase of policy/rules is the quick one")
	}
	t.Parallel()
	for _, profile := range testload.Sample(t, 1, []string{"", "careful", "balanced", "unattended"}) {
		report, err := policy.Folder{Dir: "../rego/base", Schema: rego.InputSchema(), Profile: profile}.Test(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !report.Passed() || len(report.Results) < 10 {
			t.Errorf("profile %q: %d tests, passed: %t", profile, len(report.Results), report.Passed())
		}
	}
}
