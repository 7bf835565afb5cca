package setup

import (
	"path/filepath"
)

const claudeNote = "Claude Code 2.1.295 and newer stop a call when the hook takes longer than its limit; older ones go on with it"

func claudePlaces(root, home string, o hookOptions) []configPlace {
	edit := &jsonHooks{
		harness: "claude", lists: []jsonList{{[]string{"hooks", "PreToolUse"}, claudeEntry}},
		after:       []jsonList{{[]string{"hooks", "PostToolUse"}, claudeAfter}, {[]string{"hooks", "Stop"}, claudeStop}},
		offSwitches: []jsonSwitch{{[]string{"disableAllHooks"}, "true"}}, options: o, unit: 1, failClosedMember: `"onFailure":"block"`,
	}
	notes := []string{restartNote, claudeNote}
	return []configPlace{
		{name: "claude", path: filepath.Join(ownFolder("CLAUDE_CONFIG_DIR", home, ".claude"), "settings.json"), mode: 0o600, edit: edit, notes: notes},
		{
			name: "claude", managed: true, mode: 0o644, edit: edit, notes: notes,
			path: systemFile(root, "etc/claude-code/managed-settings.json", "Library/Application Support/ClaudeCode/managed-settings.json"),
		},
	}
}

type commandHook struct {
	Name      string `json:"name,omitzero"`
	Type      string `json:"type"`
	Command   string `json:"command"`
	Timeout   int    `json:"timeout"`
	OnFailure string `json:"onFailure,omitzero"`
}

type hookGroup struct {
	Matcher string        `json:"matcher"`
	Hooks   []commandHook `json:"hooks"`
}

// claudeAfter is an entry at an event that every version knows: an older one leaves a
// file out that names another.
func claudeAfter(command string, limit int) any {
	return hookGroup{"*", []commandHook{{Type: "command", Command: command, Timeout: limit}}}
}

func claudeStop(command string, limit int) any {
	return struct {
		Hooks []commandHook `json:"hooks"`
	}{[]commandHook{{Type: "command", Command: command, Timeout: limit}}}
}

func claudeEntry(command string, limit int) any {
	return hookGroup{"*", []commandHook{{Type: "command", Command: command, Timeout: limit, OnFailure: "block"}}}
}
