package setup

import (
	"path/filepath"

	"github.com/permd/permd/internal/jsonedit"
)

const (
	geminiNote        = "Gemini CLI runs no hooks in folders that it does not trust, and goes on with a call when the hook takes longer than its limit"
	geminiManagedNote = "a person can still turn the hook off by its name in their own settings (hooksConfig.disabled): Gemini CLI adds both lists up"
)

func geminiPlaces(root, home string, o hookOptions) []configPlace {
	edit := &jsonHooks{
		harness: "gemini", lists: []jsonList{{[]string{"hooks", "BeforeTool"}, geminiEntry}}, after: []jsonList{{[]string{"hooks", "AfterTool"}, geminiEntry}}, dialect: jsonedit.Comments,
		offSwitches: []jsonSwitch{{[]string{"hooksConfig", "enabled"}, "false"}, {[]string{"hooksConfig", "disabled"}, `"permd"`}},
		options:     o, unit: 1000,
	}
	pinned := *edit
	// The user's own settings could turn it off; the managed settings win.
	pinned.requiredSettings = []jsonSwitch{{[]string{"hooksConfig", "enabled"}, "true"}}
	return []configPlace{
		{
			name: "gemini", mode: 0o600, edit: edit, notes: []string{restartNote, geminiNote},
			path: filepath.Join(ownFolder("GEMINI_CLI_HOME", home), ".gemini", "settings.json"),
		},
		{
			name: "gemini", managed: true, mode: 0o644, edit: &pinned, notes: []string{restartNote, geminiNote, geminiManagedNote},
			path: systemFile(root, "etc/gemini-cli/settings.json", "Library/Application Support/GeminiCli/settings.json"),
		},
	}
}

func geminiEntry(command string, limit int) any {
	return hookGroup{"*", []commandHook{{Name: "permd", Type: "command", Command: command, Timeout: limit}}}
}
