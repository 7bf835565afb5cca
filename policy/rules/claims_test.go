package rules

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/rego"
)

// TestShippedAllowsReadNoClaims: no shipped allow depends on what the agent says of a call.
func TestShippedAllowsReadNoClaims(t *testing.T) {
	parsed := map[string]*ast.Module{}
	for name, text := range rego.Base() {
		m, err := ast.ParseModuleWithOpts(name, string(text), ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			t.Fatal(err)
		}
		parsed[name] = m
	}
	c := ast.NewCompiler()
	if c.Compile(parsed); c.Failed() {
		t.Fatal(c.Errors)
	}
	var claims input.Parts
	for _, name := range []string{"title", "kind", "claimed_user", "claimed_trace", "claimed_paths", "claimed_status", "claimed_options", "claimed_meta"} {
		claims = claims.Union(input.PartOf(ast.MustParseRef("input.call." + name)))
	}
	seen := map[*ast.Rule]bool{}
	var check func(r *ast.Rule)
	check = func(r *ast.Rule) {
		if seen[r] {
			return
		}
		seen[r] = true
		if input.PartsIn(r).Overlaps(claims) {
			t.Errorf("%s: an allow reads a claim", r.Location)
		}
		for dep := range c.Graph.Dependencies(r) {
			check(dep.(*ast.Rule))
		}
	}
	allows := c.GetRulesExact(ast.MustParseRef("data.permd.base.allow"))
	for _, r := range allows {
		check(r)
	}
	if len(allows) < 5 || len(seen) <= len(allows) {
		t.Errorf("%d allows, %d rules in all", len(allows), len(seen))
	}
}
