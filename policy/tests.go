package policy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/calltest"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/rego"
)

// Tests of a layer are rules in Rego (*_test.rego), which package rules runs, and calls
// (*_test.yaml), which package calltest decides.

// callBudget bounds the calls of one layer while it is loaded.
const callBudget = 10 * time.Second

// baseForTests compiles the base layer that the calls of other layers are decided over:
// always that of the balanced profile with all its rules, so that the settings of a
// machine change no result.
func baseForTests(base map[string][]byte, schema *input.Schema) (*rules.Layer, diag.List) {
	c, ps := rules.Compile(rules.Unit{Layer: decisions.Base, Files: baseFiles(base, settings.ProfileBalanced)}, schema)
	return c, ps.Errors()
}

// baseFiles returns the files of the embedded layer that a profile has.
func baseFiles(base map[string][]byte, profile string) []source.File {
	var files []source.File
	for _, name := range slices.Sorted(maps.Keys(base)) {
		if rego.InProfile(name, profile) {
			files = append(files, source.File{Name: name, Rel: name, Data: base[name]})
		}
	}
	return files
}

// callTests decides the calls of a layer, over a base layer.
func callTests(ctx context.Context, u *rules.Unit, c *rules.Layer, base map[string][]byte, schema *input.Schema,
	profiles *tools.Profiles) ([]rules.TestResult, diag.List) {
	if !slices.ContainsFunc(u.Files, source.File.IsCalls) {
		return nil, nil
	}
	r := calltest.Rules{Layer: c, Table: c.TableOver(u.Table), Profiles: c.ProfilesOver(cmp.Or(u.Profiles, profiles))}
	if u.Layer != decisions.Base {
		var ps diag.List
		if r.Base, ps = baseForTests(base, schema); ps.Failed() {
			return nil, ps
		}
	}
	return calltest.Run(ctx, r, u.Files)
}

// FailedTests runs the tests of rules that were compiled of a unit with a table and profiles, those
// in Rego and calls, as a daemon does before it uses the rules, and returns those that failed.
func FailedTests(ctx context.Context, u *rules.Unit, c *rules.Layer, schema *input.Schema) diag.List {
	failed := c.FailedTests(ctx, *u, schema)
	results, ps := callTests(ctx, u, c, rego.Base(), schema, u.Profiles)
	return append(append(failed, ps...), rules.Failures(results)...)
}

// failedCalls decides the calls of a layer that was just compiled, and returns those with
// another verdict than the file says.
func (s *Store) failedCalls(ctx context.Context, u *rules.Unit, c *rules.Layer) diag.List {
	ctx, cancel := context.WithTimeout(ctx, callBudget)
	defer cancel()
	results, ps := callTests(ctx, u, c, s.opts.Base, s.schema, s.profiles)
	return append(ps, rules.Failures(results)...)
}
