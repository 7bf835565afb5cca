package setup

import (
	"path/filepath"
)

const (
	codexTrust = "Codex runs the hook only after you trusted it: start codex, type /hooks, and trust them; until then no call is checked"
	codexNote  = "Codex goes on with a call when the hook takes longer than its limit"
)

func codexPlaces(root, home string, o hookOptions) []configPlace {
	return []configPlace{
		{
			name: "codex", mode: 0o600, edit: &tomlHooks{options: o}, notes: []string{codexTrust, codexNote},
			path: filepath.Join(ownFolder("CODEX_HOME", home, ".codex"), "config.toml"),
		},
		{
			name: "codex", managed: true, mode: 0o644, edit: &tomlHooks{managed: true, options: o}, notes: []string{restartNote, codexNote},
			path: systemFile(root, "etc/codex/requirements.toml", ""),
		},
	}
}
