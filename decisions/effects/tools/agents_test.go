package tools

import (
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestAgentModes starts sub-agents with more or fewer permissions than by default.
// The shipped rules allow the tools.
func TestAgentModes(t *testing.T) {
	w := toolWorld(t)
	for input, wide := range map[string]string{
		`{"prompt":"x","mode":"bypassPermissions"}`:                       "rawInput.mode",
		`{"prompt":"x","mode":"acceptEdits"}`:                             "rawInput.mode",
		`{"prompt":"x","mode":"auto"}`:                                    "rawInput.mode",
		`{"prompt":"x","mode":"dontAsk"}`:                                 "rawInput.mode",
		`{"prompt":"x","mode":"a mode of the future"}`:                    "rawInput.mode",
		`{"prompt":"x","mode":["plan","yolo"]}`:                           "rawInput.mode",
		`{"prompt":"x","mode":7}`:                                         "rawInput.mode",
		`{"prompt":"x","permissionMode":"yolo"}`:                          "rawInput.permissionMode",
		`{"prompt":"x","approval_policy":"never"}`:                        "rawInput.approval_policy",
		`{"prompt":"x","sandbox":"danger-full-access"}`:                   "rawInput.sandbox",
		`{"prompt":"x","dangerouslySkipPermissions":true}`:                "rawInput.dangerouslySkipPermissions",
		`{"prompt":"x","auto_approve":true}`:                              "rawInput.auto_approve",
		`{"prompt":"x","options":{"permission_mode":"yolo"}}`:             "rawInput.options.permission_mode",
		`{"agents":[{"prompt":"x"},{"prompt":"y","mode":"acceptEdits"}]}`: "rawInput.agents[1].mode",

		`{"prompt":"x","description":"d","subagent_type":"Explore","model":"sonnet","run_in_background":true,"name":"a","team_name":"t","isolation":"worktree"}`: "",
		`{"prompt":"bypassPermissions mode"}`:                                 "",
		`{"prompt":"x","mode":"default"}`:                                     "",
		`{"prompt":"x","mode":"plan"}`:                                        "",
		`{"prompt":"x","mode":"Plan"}`:                                        "",
		`{"prompt":"x","mode":"","permissions":null,"auto_approve":false}`:    "",
		`{"prompt":"x","options":{"permission_mode":"default","x":{"y":[]}}}`: "",
	} {
		for _, c := range []*effects.Call{
			agentCall("claude", "Task", input), agentCall("claude", "Agent", input), agentCall("opencode", "task", input),
			agentCall("codex", "spawn_agent", input), agentCall("somebody", "mcp__agents__run_agent", input),
		} {
			var got []string
			for _, e := range w.Effects(c).Effects {
				if e.Kind == effects.KindMode {
					got = append(got, e.From)
				}
			}
			if wide == "" && got != nil || wide != "" && !slices.Equal(got, []string{wide}) {
				t.Errorf("%s %s: modes at %q, want %q", c.Tool.Name, input, got, wide)
			}
		}
	}
	// The mode of a tool that starts no agent means something else.
	for _, e := range w.Effects(agentCall("claude", "mcp__x__render", `{"mode":"dark"}`)).Effects {
		if e.Kind == effects.KindMode {
			t.Errorf("a mode that is none: %+v", e)
		}
	}
}
