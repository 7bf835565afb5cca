package tools

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// TestACPKinds has calls with input that name no tool, and what their kind makes of them.
func TestACPKinds(t *testing.T) {
	in := func(s string) strictjson.Value { return strictjson.Value(s) }
	runToolCases(t, []toolCase{
		{name: "stranger's search", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "search", in(`{"query":"x","index":"docs"}`)
		}), want: []string{"?use :kind/search @kind"}},
		{name: "stranger's tool that calls another", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "think", in(`{"tool":"merge","arguments":{}}`)
		}), want: []string{"?use :kind/think @kind", "use ?:merge @rawInput.tool"}},
		{name: "stranger's tool with a diff", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "other", in(`{"x":1}`)
			c.Claims.Diffs = []effects.Diff{{Path: "a.go", From: "content[0]"}}
		}), want: []string{"unknown - @rawInput"}, missing: true, defects: []string{"contradiction @content[0]"}},
		{name: "stranger's tool of another kind", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "read", in(`{"id":1}`)
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "tool without a name of an agent with a profile", call: acp("codex-acp", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "other", in(`{"id":1}`)
		}), want: []string{"unknown - @rawInput"}, missing: true, defects: []string{"contradiction @rawInput.id"}},
	})
}
