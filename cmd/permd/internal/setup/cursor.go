package setup

import (
	"path/filepath"
)

func cursorPlaces(root, home string, o hookOptions) []configPlace {
	edit := &jsonHooks{
		harness: "cursor", requiredSettings: []jsonSwitch{{[]string{"version"}, "1"}}, options: o, unit: 1, failClosedMember: `"failClosed":true`,
	}
	for _, event := range []string{"beforeShellExecution", "beforeMCPExecution", "beforeReadFile"} {
		edit.lists = append(edit.lists, jsonList{[]string{"hooks", event}, cursorEntry})
	}
	// For what the other three do not see. It is not for all tools: only
	// beforeMCPExecution names the server of a tool server's tool.
	edit.lists = append(edit.lists, jsonList{[]string{"hooks", "preToolUse"}, cursorToolEntry})
	for _, event := range []string{"afterShellExecution", "afterMCPExecution"} {
		edit.after = append(edit.after, jsonList{[]string{"hooks", event}, cursorAfter})
	}
	edit.after = append(edit.after, jsonList{[]string{"hooks", "postToolUse"}, cursorToolAfter})
	return []configPlace{
		{name: "cursor", path: filepath.Join(home, ".cursor", "hooks.json"), mode: 0o600, edit: edit},
		{name: "cursor", managed: true, path: systemFile(root, "etc/cursor/hooks.json", "Library/Application Support/Cursor/hooks.json"), mode: 0o644, edit: edit},
	}
}

type cursorHook struct {
	Matcher    string `json:"matcher,omitzero"`
	Command    string `json:"command"`
	Timeout    int    `json:"timeout"`
	FailClosed bool   `json:"failClosed,omitzero"`
}

func cursorEntry(command string, limit int) any {
	return cursorHook{Command: command, Timeout: limit, FailClosed: true}
}

const cursorTools = "Write|Delete|Grep|Task"

func cursorToolEntry(command string, limit int) any {
	return cursorHook{cursorTools, command, limit, true}
}

func cursorAfter(command string, limit int) any { return cursorHook{Command: command, Timeout: limit} }

func cursorToolAfter(command string, limit int) any {
	return cursorHook{cursorTools, command, limit, false}
}
