//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// TestRejectThroughGateway: the agent calls a rejected tool through another one that is
// allowed, without naming its server. A rule allows everything.
func TestRejectThroughGateway(t *testing.T) {
	t.Parallel()
	a, allow := rejecting(t, nil)
	call := func(tool, input string) *decisions.Decision {
		return a.call(t, effects.Call{Tool: effects.Tool{Name: tool}, Input: []byte(input), Cwd: "/p"})
	}
	a.reject(t, call("mcp__github__merge", `{"pr": 1}`), "project")
	allow(anything)
	for input, want := range map[string]decisions.Verdict{
		`{"tool": "merge", "arguments": {}}`:                       decisions.Deny,
		`{"tool": "github_merge", "arguments": {}}`:                decisions.Deny,
		`{"tool": "github:merge", "arguments": {}}`:                decisions.Deny,
		`{"server": "github", "tool": "merge", "arguments": {}}`:   decisions.Deny,
		`{"calls": [{"name": "list"}, {"name": "github/merge"}]}`:  decisions.Deny,
		`{"server": "internal", "tool": "merge", "arguments": {}}`: decisions.Allow,
		`{"tool": "list", "arguments": {}}`:                        decisions.Allow,
		`{"tool": "gitlab_merge", "arguments": {}}`:                decisions.Allow,
	} {
		wantVerdict(t, call("mcp__hub__call_tool", input), want, input)
	}
	wantVerdict(t, call("mcp__github__list", `{}`), decisions.Allow, "another tool of the server")
}
