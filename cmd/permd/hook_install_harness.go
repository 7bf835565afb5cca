package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/jsonedit"
)

// hookLimit is how long a harness waits for permd hook, in seconds. It is more
// than permd hook itself waits for the daemon, so that a slow daemon is answered
// for by permd hook, which says no, and not by the harness, which goes on.
const hookLimit = 10

// hookHarnesses are those that install knows, in the order of the help.
var hookHarnesses = []string{"claude", "codex", "gemini", "cursor", "copilot", "cline"}

const (
	claudeNote        = "Claude Code 2.1.295 and newer stop a call when the hook takes longer than its limit; older ones go on with it"
	codexTrust        = "Codex runs the hook only after you trusted it: start codex, type /hooks, and trust both; until then no call is checked"
	codexNote         = "Codex goes on with a call when the hook takes longer than its limit"
	geminiNote        = "Gemini CLI runs no hooks in folders that it does not trust, and goes on with a call when the hook takes longer than its limit"
	geminiManagedNote = "a person can still turn the hook off by its name in their own settings (hooksConfig.disabled): Gemini CLI adds both lists up"
	copilotNote       = "Copilot goes on with a call, or asks, when the hook takes longer than its limit"
	clineNote         = "turn on Enable Hooks in Cline's settings; Cline goes on with a call when the hook takes longer than 30 seconds"
	restartNote       = "sessions that run already do not see the change: start them anew"
)

// hookPlaces are the files of a harness: the person's own, and the
// organisation's if it has one.
func (a *app) hookPlaces(harness, home string) []configPlace {
	etc := func(linux, darwin string) string {
		if runtime.GOOS == "darwin" && darwin != "" {
			return filepath.Join("/", a.root, darwin)
		}
		return filepath.Join("/", a.root, linux)
	}
	// A folder that the harness is told by a variable; only an absolute one is
	// the same for everybody who looks.
	own := func(variable string, below ...string) string {
		if v := os.Getenv(variable); filepath.IsAbs(v) {
			return filepath.Clean(v)
		}
		return filepath.Join(append([]string{home}, below...)...)
	}
	switch harness {
	case "claude":
		edit := &jsonHooks{
			harness: harness, lists: []jsonList{{[]string{"hooks", "PreToolUse"}, claudeEntry}},
			off: []jsonSwitch{{[]string{"disableAllHooks"}, "true"}}, limit: hookLimit, closed: `"onFailure":"block"`,
		}
		return []configPlace{
			{harness, false, filepath.Join(own("CLAUDE_CONFIG_DIR", ".claude"), "settings.json"), 0o600, edit, []string{restartNote, claudeNote}},
			{harness, true, etc("etc/claude-code/managed-settings.json", "Library/Application Support/ClaudeCode/managed-settings.json"), 0o644, edit, []string{restartNote, claudeNote}},
		}
	case "codex":
		return []configPlace{
			{harness, false, filepath.Join(own("CODEX_HOME", ".codex"), "config.toml"), 0o600, &tomlHooks{}, []string{codexTrust, codexNote}},
			{harness, true, etc("etc/codex/requirements.toml", ""), 0o644, &tomlHooks{managed: true}, []string{restartNote, codexNote}},
		}
	case "gemini":
		edit := &jsonHooks{
			harness: harness, lists: []jsonList{{[]string{"hooks", "BeforeTool"}, geminiEntry}}, dialect: jsonedit.Comments,
			off:   []jsonSwitch{{[]string{"hooksConfig", "enabled"}, "false"}, {[]string{"hooksConfig", "disabled"}, `"permd"`}},
			limit: hookLimit * 1000,
		}
		pinned := *edit
		// A person's own settings could say false; the organisation's win.
		pinned.pins = []jsonSwitch{{[]string{"hooksConfig", "enabled"}, "true"}}
		return []configPlace{
			{harness, false, filepath.Join(own("GEMINI_CLI_HOME"), ".gemini", "settings.json"), 0o600, edit, []string{restartNote, geminiNote}},
			{harness, true, etc("etc/gemini-cli/settings.json", "Library/Application Support/GeminiCli/settings.json"), 0o644, &pinned, []string{restartNote, geminiNote, geminiManagedNote}},
		}
	case "cursor":
		edit := &jsonHooks{
			harness: harness, pins: []jsonSwitch{{[]string{"version"}, "1"}}, limit: hookLimit, closed: `"failClosed":true`,
		}
		for _, event := range []string{"beforeShellExecution", "beforeMCPExecution", "beforeReadFile"} {
			edit.lists = append(edit.lists, jsonList{[]string{"hooks", event}, cursorEntry})
		}
		// What those three do not see. Not all tools: of a tool server's, only
		// beforeMCPExecution says which server.
		edit.lists = append(edit.lists, jsonList{[]string{"hooks", "preToolUse"}, cursorToolEntry})
		return []configPlace{
			{harness, false, filepath.Join(home, ".cursor", "hooks.json"), 0o600, edit, nil},
			{harness, true, etc("etc/cursor/hooks.json", "Library/Application Support/Cursor/hooks.json"), 0o644, edit, nil},
		}
	case "copilot":
		edit := &ownFile{harness: harness, text: copilotFile}
		return []configPlace{
			{harness, false, filepath.Join(own("COPILOT_HOME", ".copilot"), "hooks", "permd.json"), 0o600, edit, []string{restartNote, copilotNote}},
			{harness, true, etc("etc/github-copilot/policy.d/permd.json", ""), 0o644, edit, []string{restartNote, copilotNote}},
		}
	case "cline":
		return []configPlace{{harness, false, filepath.Join(home, "Documents", "Cline", "Hooks", "PreToolUse"), 0o700, &ownFile{harness: harness, text: clineFile}, []string{clineNote}}}
	}
	return nil
}

// hookCommand is the command line that a harness gives to a shell. Whatever goes
// wrong with the program ends with the code that stops the call: a program that
// is gone, or was killed, must not be a yes.
func hookCommand(program, harness string) string {
	return cli.Quote(program) + " hook " + harness + " || exit 2"
}

// hookProgram is the program of a command line that install has written, "" if it
// is none of permd's.
func hookProgram(command, harness string) string {
	rest, ok := strings.CutSuffix(strings.TrimSuffix(command, " || exit 2"), " hook "+harness)
	if !ok || rest == "" {
		return ""
	}
	if quoted, ok := strings.CutPrefix(rest, "'"); ok {
		rest, ok = strings.CutSuffix(quoted, "'")
		if !ok || strings.Contains(rest, "'") {
			return ""
		}
	} else if strings.ContainsAny(rest, " \t") {
		return ""
	}
	if !strings.HasPrefix(filepath.Base(rest), "permd") {
		return ""
	}
	return rest
}
