package doctor

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/account"
)

// knownAgent is a program that can use permd, and where it keeps its settings.
type knownAgent struct {
	name     string
	programs []string
	files    []string // below the home folder
}

// knownAgents are the programs that agentPrograms looks for.
var knownAgents = []knownAgent{
	{"Claude Code", []string{"claude", "claude-agent-acp", "claude-code-acp"}, []string{".claude/settings.json", ".claude.json"}},
	{"Codex", []string{"codex", "codex-acp"}, []string{".codex/config.toml"}},
	{"Gemini CLI", []string{"gemini"}, []string{".gemini/settings.json"}},
	{"OpenCode", []string{"opencode"}, []string{".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"}},
	{"Zed", []string{"zed", "zeditor"}, []string{".config/zed/settings.json"}},
	{"Cursor", []string{"cursor-agent", "cursor"}, []string{".cursor/cli-config.json", ".cursor/hooks.json"}},
	{"Copilot CLI", []string{"copilot"}, []string{".copilot/config.json"}},
	{"Goose", []string{"goose"}, []string{".config/goose/config.yaml"}},
	{"Qwen Code", []string{"qwen"}, []string{".qwen/settings.json"}},
	{"Kimi", []string{"kimi"}, []string{".kimi/config.toml", ".kimi/config.json"}},
}

// agentPrograms checks which agents and editors are installed.
func (x *examination) agentPrograms() {
	home := (&account.Users{}).Lookup(x.uid).Home
	found := 0
	for _, a := range knownAgents {
		var at []string
		for _, program := range a.programs {
			if path, err := exec.LookPath(program); err == nil {
				at = append(at, path)
				break
			}
		}
		for _, file := range a.files {
			path := filepath.Join(home, filepath.FromSlash(file))
			if info, err := os.Stat(path); err == nil && info.Mode().Type() != fs.ModeDir {
				at = append(at, path)
				break
			}
		}
		if len(at) > 0 {
			found++
			x.OK("clients", "%s: %s", a.name, strings.Join(at, ", "))
		}
	}
	if found == 0 {
		x.OK("clients", "no agent or editor that permd knows is installed")
	}
}
