package tools

import (
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// TestAnnounced: what a call was said to be before a message named another tool can deny it.
func TestAnnounced(t *testing.T) {
	call := agentCall("claude-agent-acp", "Read", `{"file_path":"src/vat.ts"}`)
	call.Announced = &effects.Call{Tool: effects.Tool{Name: "mcp__github__merge"}, Input: strictjson.Value(`{"path":"/etc/hosts"}`)}
	r := toolWorld(t).Effects(call)
	if !slices.ContainsFunc(r.Rest, func(e effects.Effect) bool {
		return e.Use != nil && e.Use.Server == "github" && e.Use.Tool == "merge" && e.Via == nil
	}) || !slices.ContainsFunc(r.Rest, func(e effects.Effect) bool { return e.File != nil && e.File.Path == "/etc/hosts" }) {
		t.Errorf("the rest is %+v", r.Rest)
	}
	if slices.ContainsFunc(r.Effects, func(e effects.Effect) bool { return e.Use != nil }) {
		t.Errorf("the effects are %v", lines(r))
	}
}
