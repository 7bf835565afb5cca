package setup

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/jsonedit"
)

// acpClient is a client of the Agent Client Protocol, and how it is told of its
// agents: in a file in JSON that permd changes, or in the person's own program
// text, for which permd prints a snippet.
type acpClient struct {
	name  string
	title string

	// Of a file:
	path    func(home string) string
	list    string // the object with an entry for each agent
	dialect jsonedit.Dialect
	typed   bool // its entries say that they are a command
	lines   bool // its commands are one text, in words and quotes; a name means a built-in agent
	full    bool // it has not the PATH of a person's shell
	notes   []string

	// Of a snippet:
	where   string // what the snippet goes into
	snippet func(program string, agent *clientAgent) (string, error)
}

// acpClients are the clients that install knows, in the order of the help.
func acpClients() []acpClient {
	return []acpClient{
		{
			name: "zed", title: "Zed", path: zedSettings, list: "agent_servers", dialect: jsonedit.Relaxed, typed: true,
			notes: []string{"start a new thread of the agent: threads that run already go on without permd"},
		},
		{
			name: "jetbrains", title: "the JetBrains IDE", list: "agent_servers", dialect: jsonedit.Relaxed, full: true,
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
			name: "acpx", title: "acpx", list: "agents", dialect: jsonedit.Plain, lines: true,
			path: func(home string) string { return filepath.Join(home, ".acpx", "config.json") },
			notes: []string{
				`acpx says yes by itself to what calls itself a read, and to everything with "approve-all": that goes for what permd leaves to you; with "defaultPermissions": "deny-all" it says no`,
				"an .acpxrc.json in a project can name another command for the agent",
			},
		},
	}
}

// ACPClients are the names of the clients that InstallACP knows.
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

// zedSettings is where Zed looks.
func zedSettings(home string) string {
	dir := filepath.Join(home, ".config")
	if v := os.Getenv("XDG_CONFIG_HOME"); runtime.GOOS != "darwin" && filepath.IsAbs(v) {
		dir = filepath.Clean(v)
	}
	return filepath.Join(dir, "zed", "settings.json")
}
