package setup

import (
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

const copilotNote = "Copilot goes on with a call, or asks, when the hook takes longer than its limit"

func copilotPlaces(root, home string, o hookOptions) []configPlace {
	edit := &ownFile{harness: "copilot", options: o, text: copilotFile, earlier: copilotEarlier}
	notes := []string{restartNote, copilotNote}
	return []configPlace{
		{name: "copilot", path: filepath.Join(ownFolder("COPILOT_HOME", home, ".copilot"), "hooks", "permd.json"), mode: 0o600, edit: edit, notes: notes},
		{name: "copilot", managed: true, path: systemFile(root, "etc/github-copilot/policy.d/permd.json", ""), mode: 0o644, edit: edit, notes: notes},
	}
}

// copilotFile is one of Copilot's files of hooks.
func copilotFile(program string, o hookOptions) []byte { return copilotHooks(program, o, true) }

// copilotEarlier is the file as earlier versions wrote it.
func copilotEarlier(program string) []byte { return copilotHooks(program, hookOptions{}, false) }

func copilotHooks(program string, o hookOptions, after bool) []byte {
	type hook struct {
		Type    string `json:"type"`
		Bash    string `json:"bash"`
		Limit   int    `json:"timeoutSec"`
		Comment string `json:"comment,omitzero"`
	}
	type hooks struct {
		PreToolUse  []hook `json:"preToolUse"`
		PostToolUse []hook `json:"postToolUse,omitzero"`
	}
	list := hooks{PreToolUse: []hook{{"command", hookCommand(program, "copilot", o), limitOf(o.wait), programPrefix + cli.Quote(program) + programSuffix}}}
	if after {
		list.PostToolUse = []hook{{Type: "command", Bash: afterCommand(program, "copilot", o), Limit: hookLimit}}
	}
	text, err := json.Marshal(struct {
		Version int   `json:"version"`
		Hooks   hooks `json:"hooks"`
	}{1, list}, jsontext.WithIndent("  "))
	if err != nil {
		panic(err) // strings and numbers
	}
	return append(text, '\n')
}
