package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestEnters has the modes that calls enter: by the name of the tool, and by what a sub-agent is
// started with, whether it may do more there or less.
func TestEnters(t *testing.T) {
	w := toolWorld(t)
	for _, tt := range []struct {
		agent, tool, input string
		want               []string
	}{
		{"claude", "EnterPlanMode", `{}`, []string{"plan"}},
		{"claude", "ExitPlanMode", `{"plan":"x"}`, nil},
		{"kimi-cli", "EnterPlanMode", `{}`, []string{"plan"}},
		{"kimi-code", "EnterPlanMode", `{}`, []string{"plan"}},
		{"gemini-cli", "enter_plan_mode", `{"reason":"x"}`, []string{"plan"}},
		{"opencode", "plan_enter", `{}`, []string{"plan"}},
		{"opencode", "plan_exit", `{}`, []string{"build"}},
		{"cline", "switch_to_act_mode", `{}`, []string{"act"}},
		{"claude", "Task", `{"prompt":"x","mode":"plan"}`, []string{"plan"}},
		{"claude", "Agent", `{"prompt":"x","mode":"acceptEdits"}`, []string{"acceptEdits"}},
		{"claude", "Agent", `{"prompt":"mode: plan","description":"yolo","mode":""}`, nil},
		{"opencode", "task", `{"prompt":"x","permission_mode":"plan"}`, []string{"plan"}},
		{"codex", "spawn_agent", `{"agents":[{"mode":["plan",{"id":"yolo"}]}]}`, []string{"plan", "yolo"}},
		{"somebody", "mcp__agents__run_agent", `{"prompt":"x","mode":"plan"}`, []string{"plan"}},
		{"claude", "mcp__x__render", `{"mode":"plan"}`, nil},
	} {
		if got := w.Effects(agentCall(tt.agent, tt.tool, tt.input)).Enters; !slices.Equal(got, tt.want) {
			t.Errorf("%s %s %s enters %q, want %q", tt.agent, tt.tool, tt.input, got, tt.want)
		}
	}
	for _, p := range w.Profiles.agents {
		for name, s := range p.tools {
			if lower := strings.ToLower(name); (strings.Contains(lower, "enter") || strings.Contains(lower, "switch_to")) && strings.Contains(lower, "plan") && len(s.enters) == 0 {
				t.Errorf("%s: %s enters no mode", p.id, name)
			}
		}
	}
	c := agentCall("claude", "Read", `{"file_path":"a"}`)
	c.Announced = agentCall("claude", "EnterPlanMode", `{}`)
	if got := w.Effects(c).Enters; !slices.Equal(got, []string{"plan"}) {
		t.Errorf("what was announced before enters %q", got)
	}
}

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
