package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// harness says how one agent harness is run without a person, with the stand-in
// model and the hook that permd hook install writes.
type harness struct {
	name  string // its name for permd hook install
	title string
	pkg   string // npm package
	seen  string // the version that docs/hooks.md describes
	bin   string // the program that the package installs
	env   func(m *model) []string
	// setup writes the settings that are needed in addition to the hook; with off
	// they turn hooks off.
	setup func(home string, m *model, off bool) error
	args  func(prompt string, bypass bool) []string
	// drive runs the harness if a command line is not enough.
	drive func(l *live, ctx context.Context, h *harness, t *trial) (string, error)
	// except has the rows with another result, in which permd is not asked.
	except map[string]string
}

var harnesses = []harness{
	{
		name: "claude", title: "Claude Code", pkg: "@anthropic-ai/claude-code", seen: "2.1.329", bin: "claude",
		env: func(m *model) []string {
			return []string{
				"ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=none", "ANTHROPIC_MODEL=" + modelName, "ANTHROPIC_SMALL_FAST_MODEL=" + modelName,
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1",
				"IS_SANDBOX=1", // otherwise root may not bypass permissions
			}
		},
		setup: func(home string, _ *model, off bool) error {
			return writeFile(filepath.Join(home, ".claude", "settings.json"), fmt.Sprintf(`{"disableAllHooks": %v}`, off))
		},
		args: func(prompt string, bypass bool) []string {
			if bypass {
				return []string{"--dangerously-skip-permissions", "-p", prompt}
			}
			return []string{"-p", prompt}
		},
	},
	{
		name: "codex", title: "Codex", pkg: "@openai/codex", seen: "0.169.0", bin: "codex",
		setup: func(home string, m *model, off bool) error {
			return writeFile(filepath.Join(home, ".codex", "config.toml"), fmt.Sprintf(`model = %q
model_provider = "stand-in"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.stand-in]
name = "stand-in"
base_url = "%s/v1"
wire_api = "responses"

[features]
hooks = %v
`, modelName, m.URL, !off))
		},
		args: func(prompt string, bypass bool) []string {
			args := []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"}
			if bypass {
				args = append(args, "--dangerously-bypass-approvals-and-sandbox")
			}
			return append(args, prompt)
		},
	},
	{
		name: "gemini", title: "Gemini CLI", pkg: "@google/gemini-cli", seen: "0.61.0", bin: "gemini",
		env: func(m *model) []string {
			return []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + m.URL, "GEMINI_CLI_NO_RELAUNCH=true"}
		},
		setup: func(home string, _ *model, off bool) error {
			return writeFile(filepath.Join(home, ".gemini", "settings.json"), fmt.Sprintf(`{
  // as people have it
  "hooksConfig": {"enabled": %v},
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "privacy": {"usageStatisticsEnabled": false},
  "general": {"enableAutoUpdate": false},
  "tools": {"allowed": ["run_shell_command"]}
}
`, !off))
		},
		args: func(prompt string, bypass bool) []string {
			args := []string{"--skip-trust", "-m", "gemini-2.5-flash", "-p", prompt}
			if bypass {
				args = append(args, "--yolo")
			}
			return args
		},
	},
	{
		name: "copilot", title: "Copilot CLI", pkg: "@github/copilot", seen: "1.0.102", bin: "copilot",
		env: func(m *model) []string {
			return []string{
				"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + m.URL + "/v1", "COPILOT_PROVIDER_API_KEY=none",
				"COPILOT_MODEL=" + modelName, "COPILOT_AUTO_UPDATE=false",
			}
		},
		setup: func(home string, _ *model, off bool) error {
			return writeFile(filepath.Join(home, ".copilot", "settings.json"), fmt.Sprintf(`{"disableAllHooks": %v}`, off))
		},
		args: func(prompt string, bypass bool) []string {
			args := []string{"--no-color", "-p", prompt}
			if bypass {
				args = append(args, "--allow-all-tools")
			}
			return args
		},
	},
	opencode,
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
