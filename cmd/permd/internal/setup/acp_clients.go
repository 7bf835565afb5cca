package setup

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/jsonedit"
)

// acpClient is a client of the Agent Client Protocol. Its agents are configured in a
// JSON file, which permd changes, or in code, for which permd prints a snippet.
type acpClient struct {
	name  string
	title string

	// For a file:
	path          func(home string) string
	list          string // the object with an entry for each agent
	dialect       jsonedit.Dialect
	hasType       bool // its entries have a type, "custom"
	commandLines  bool // its commands are one string with quoting; a name means a built-in agent
	absolutePaths bool // it does not have the PATH of the user's shell, so paths must be absolute
	notes         []string

	// For a snippet:
	where   string // where to insert the snippet
	snippet func(program string, agent *clientAgent) (string, error)
}

// acpClients returns the supported clients, in the order of the help text.
func acpClients() []acpClient {
	return []acpClient{
		{
			name: "zed", title: "Zed", path: zedSettings, list: "agent_servers", dialect: jsonedit.Relaxed, hasType: true,
			notes: []string{"start a new thread of the agent: threads that run already go on without permd"},
		},
		{
			name: "jetbrains", title: "the JetBrains IDE", list: "agent_servers", dialect: jsonedit.Relaxed, absolutePaths: true,
			path:  func(home string) string { return filepath.Join(home, ".jetbrains", "acp.json") },
			notes: []string{"start a new chat with the agent: chats that run already go on without permd"},
		},
		{
			name: "codecompanion", title: "CodeCompanion.nvim", where: "the setup of codecompanion.nvim in Neovim's init.lua", snippet: codecompanionSnippet,
			notes: []string{"an adapter's other commands, such as yolo, stay without permd"},
		},
		{
			name: "avante", title: "avante.nvim", where: "the setup of avante.nvim in Neovim's init.lua", snippet: avanteSnippet,
			notes: []string{
				"without auto_approve_tool_permissions = false, avante says yes to all that permd leaves to you",
				"a yes to all in avante says yes to the rest of its session",
			},
		},
		{
			name: "agent-shell", title: "agent-shell", where: "Emacs's init.el", snippet: agentShellSnippet,
			notes: []string{"an agent-shell-permission-responder-function of yours may answer what permd leaves to you"},
		},
		{
			name: "acpx", title: "acpx", list: "agents", dialect: jsonedit.Plain, commandLines: true,
			path: func(home string) string { return filepath.Join(home, ".acpx", "config.json") },
			notes: []string{
				`acpx says yes by itself to what calls itself a read, and to everything with "approve-all": that goes for what permd leaves to you; with "defaultPermissions": "deny-all" it says no`,
				"an .acpxrc.json in a project can name another command for the agent",
			},
		},
	}
}

// ACPClients returns the names of the supported clients.
func ACPClients() (names []string) {
	for _, c := range acpClients() {
		names = append(names, c.name)
	}
	return names
}

func acpClientOf(name string) (*acpClient, error) {
	for _, c := range acpClients() {
		if c.name == name {
			return &c, nil
		}
	}
	return nil, cli.Failf(cli.ExitUsage, "one of: "+strings.Join(ACPClients(), ", "), "there is no client %q", name)
}

// zedSettings returns the path of Zed's settings.
func zedSettings(home string) string {
	dir := filepath.Join(home, ".config")
	if v := os.Getenv("XDG_CONFIG_HOME"); runtime.GOOS != "darwin" && filepath.IsAbs(v) {
		dir = filepath.Clean(v)
	}
	return filepath.Join(dir, "zed", "settings.json")
}
