package setup

import (
	"path/filepath"
)

func cursorPlaces(root, home string) []configPlace {
	edit := &jsonHooks{
		harness: "cursor", requiredSettings: []jsonSwitch{{[]string{"version"}, "1"}}, timeout: hookLimit, failClosedMember: `"failClosed":true`,
	}
	for _, event := range []string{"beforeShellExecution", "beforeMCPExecution", "beforeReadFile"} {
		edit.lists = append(edit.lists, jsonList{[]string{"hooks", event}, cursorEntry})
	}
	// For what the other three do not see. It is not for all tools: only
	// beforeMCPExecution names the server of a tool server's tool.
	edit.lists = append(edit.lists, jsonList{[]string{"hooks", "preToolUse"}, cursorToolEntry})
	return []configPlace{
		{name: "cursor", path: filepath.Join(home, ".cursor", "hooks.json"), mode: 0o600, edit: edit},
		{name: "cursor", managed: true, path: systemFile(root, "etc/cursor/hooks.json", "Library/Application Support/Cursor/hooks.json"), mode: 0o644, edit: edit},
	}
}

type cursorHook struct {
	Matcher    string `json:"matcher,omitzero"`
	Command    string `json:"command"`
	Timeout    int    `json:"timeout"`
	FailClosed bool   `json:"failClosed"`
}

func cursorEntry(command string) any {
	return cursorHook{Command: command, Timeout: hookLimit, FailClosed: true}
}

func cursorToolEntry(command string) any {
	return cursorHook{"Write|Delete|Grep|Task", command, hookLimit, true}
}
