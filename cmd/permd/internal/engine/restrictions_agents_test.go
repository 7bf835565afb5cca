package engine

import (
	"testing"

	"github.com/permd/permd/decisions"
)

// TestForbiddenModesOfCommands checks that a command that starts an agent in a forbidden mode is denied
// although the user allows it, and that any other start is decided as without the setting.
func TestForbiddenModesOfCommands(t *testing.T) {
	w := newRestrictedWorld(t)
	w.write(".config/permd/policy.d/all.rego", `package permd.user

import rego.v2

allow contains {"reason": "all", "covers": ["unknown"]} if {
	input.effect.kind in {"run", "unknown", "connect", "read", "write", "delete", "state"}
}
`)
	for modes, commands := range map[string][]string{
		"bypassPermissions": {
			"claude --permission-mode bypassPermissions", "claude --permission-mode=bypassPermissions -p x", "claude -p x --dangerously-skip-permissions", "/usr/local/bin/claude --dangerously-skip-permissions",
			"timeout 60 claude --dangerously-skip-permissions -p x", "cat x | claude -p --dangerously-skip-permissions", "bash -c 'claude --dangerously-skip-permissions'", "env A=b claude --dangerously-skip-permissions",
			"npx @anthropic-ai/claude-code@latest --dangerously-skip-permissions", "npx -y @anthropic-ai/claude-code --permission-mode bypassPermissions", "bunx @anthropic-ai/claude-code --dangerously-skip-permissions",
			"npm exec -- @anthropic-ai/claude-code --dangerously-skip-permissions", "ls && nohup claude --dangerously-skip-permissions &",
			"codex --yolo", "codex exec --dangerously-bypass-approvals-and-sandbox x", "codex -a never", "codex -anever", "codex exec -c approval_policy=never x", `codex -c 'approval_policy="never"'`, "codex --config approval_policy=never",
			"npx claude --dangerously-skip-permissions", "npm exec -- claude --dangerously-skip-permissions", "npm exec @anthropic-ai/claude-code -- --dangerously-skip-permissions", "bunx claude@latest --dangerously-skip-permissions",
			"npx -p @anthropic-ai/claude-code -- claude --dangerously-skip-permissions", "npx --package=@anthropic-ai/claude-code@1 -- claude --dangerously-skip-permissions", "deno run npm:@anthropic-ai/claude-code --dangerously-skip-permissions",
			"pnpm claude --dangerously-skip-permissions", "node ./node_modules/.bin/claude --dangerously-skip-permissions",
			"npx @openai/codex@0.130.0 --yolo", "agy --dangerously-skip-permissions",
		},
		"full-access": {"codex --yolo", "codex -s danger-full-access", "codex --sandbox=danger-full-access x", "codex exec -c sandbox_mode=danger-full-access", "codex -csandbox_mode=danger-full-access"},
		"yolo": {
			"gemini --yolo", "gemini -y -p x", "gemini -dy", "gemini --approval-mode yolo", "gemini --approval-mode=yolo", "npx @google/gemini-cli --yolo", "qwen -y", "copilot --allow-all -p x", "copilot --yolo",
			"cursor-agent -f", "cursor-agent -pf x", "cursor-agent --force -p x", "agent -p x --yolo",
		},
		"autoEdit":        {"gemini --approval-mode auto_edit", "qwen --approval-mode auto-edit"},
		"allow-all-tools": {"copilot --allow-all-tools -p x", "copilot --allow-all"},
		"autopilot":       {"copilot --autopilot", "copilot --mode=autopilot", "npx @github/copilot --mode autopilot"},
	} {
		w.set(`forbid_modes = ["` + modes + `"]`)
		for _, command := range commands {
			w.want("starts an agent in a forbidden mode", shellCall(command), decisions.Deny, "the organisation forbids the mode "+modes+" (forbid_modes)")
		}
	}
	w.set(`forbid_modes = ["bypassPermissions", "yolo", "plan"]`)
	for _, command := range []string{
		"claude", "claude -p x", "claude --permission-mode acceptEdits", "claude --allow-dangerously-skip-permissions", "claude -p 'what is --dangerously-skip-permissions'", "claude -p -- --dangerously-skip-permissions",
		"echo --dangerously-skip-permissions", "grep -r bypassPermissions .", "codex exec x", "codex -a on-request", "codex -c model=never", "gemini --yolo=false", "gemini -p yolo", "cursor-agent -p x", "cursor-agent -H f", "cursor-agent -Hf", "copilot -p x",
		"npx yolo --dangerously-skip-permissions", "npx claude -p x", "npm exec @anthropic-ai/claude-code -- -p x", "bash -c 'echo claude --dangerously-skip-permissions'", "claudia --dangerously-skip-permissions",
	} {
		w.want("starts no agent in a forbidden mode", shellCall(command), decisions.Allow, "")
	}
}
