package setup

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// clientAgent is an agent as clients start it.
type clientAgent struct {
	name    string
	label   string   // for display
	command []string // what starts it as an agent of the protocol
	// aliases are other names by which clients call it, and of its programs and
	// packages: lower case, only letters and digits.
	aliases []string
	// Names of its presets in clients that are configured by code.
	codecompanion, avante, agentShell string
	known                             bool
	commandGiven                      bool // the command was given on the command line
}

// acpAgents returns the agents that install knows by name, in the order of the help
// text.
func acpAgents() []clientAgent {
	agents := []clientAgent{
		{name: "claude", label: "Claude", command: []string{"claude-agent-acp"}, aliases: []string{"claudecode", "claudeagent", "claudeacp", "claudecodeacp", "claudeagentacp"},
			codecompanion: "claude_code", avante: "claude-code", agentShell: "anthropic-claude-acp"},
		{name: "codex", label: "Codex", command: []string{"codex-acp"}, aliases: []string{"codexacp", "codexcli"},
			codecompanion: "codex", avante: "codex", agentShell: "openai-codex-acp"},
		{name: "gemini", label: "Gemini CLI", command: []string{"gemini", "--acp"}, aliases: []string{"geminicli"},
			codecompanion: "gemini_cli", avante: "gemini-cli", agentShell: "google-gemini-acp"},
		{name: "opencode", label: "opencode", command: []string{"opencode", "acp"}, aliases: []string{"opencodeai"},
			codecompanion: "opencode", avante: "opencode", agentShell: "opencode-acp"},
		{name: "goose", label: "goose", command: []string{"goose", "acp"},
			codecompanion: "goose", avante: "goose", agentShell: "goose-acp"},
		{name: "qwen", label: "Qwen Code", command: []string{"qwen", "--acp"}, aliases: []string{"qwencode"},
			agentShell: "qwen-acp"},
		{name: "kimi", label: "Kimi", command: []string{"kimi", "acp"}, aliases: []string{"kimicli", "kimicode"},
			codecompanion: "kimi_cli", avante: "kimi-cli"},
		{name: "copilot", label: "GitHub Copilot", command: []string{"copilot", "--acp", "--stdio"}, aliases: []string{"githubcopilot", "githubcopilotcli", "copilotcli", "copilotacp"},
			codecompanion: "copilot_acp", agentShell: "github-acp"},
		{name: "cursor", label: "Cursor", command: []string{"cursor-agent", "acp"}, aliases: []string{"cursoragent", "cursorcli", "cursoragentacp"},
			codecompanion: "cursor_cli", agentShell: "cursor-acp"},
		{name: "cline", label: "Cline", command: []string{"cline", "--acp"}, aliases: []string{"clinecli"},
			codecompanion: "cline_cli"},
		{name: "vibe", label: "Mistral Vibe", command: []string{"vibe-acp"}, aliases: []string{"mistralvibe", "vibeacp"},
			codecompanion: "mistral_vibe", agentShell: "mistral-acp"},
		{name: "kiro", label: "Kiro", command: []string{"kiro-cli", "acp"}, aliases: []string{"kirocli", "kiroclichat"},
			codecompanion: "kiro", agentShell: "kiro-acp"},
		{name: "auggie", label: "Auggie", command: []string{"auggie", "--acp"}, aliases: []string{"auggiecli"},
			codecompanion: "auggie_cli", agentShell: "auggie-acp"},
		{name: "droid", label: "Factory Droid", command: []string{"droid", "exec", "--output-format", "acp"}, aliases: []string{"factorydroid", "droidacp"},
			agentShell: "droid-acp"},
		{name: "pi", label: "Pi", command: []string{"pi-acp"}, aliases: []string{"piacp"},
			agentShell: "pi-acp"},
	}
	for i := range agents {
		agents[i].known = true
	}
	return agents
}

// ACPAgents returns the names of the known agents.
func ACPAgents() (names []string) {
	for _, a := range acpAgents() {
		names = append(names, a.name)
	}
	return names
}

// acpAgentOf returns the agent that the command line names: a known one, a command,
// or a name with a command.
func acpAgentOf(name string, command []string) (*clientAgent, error) {
	if len(command) > 0 && isPermd(command[0]) {
		return nil, cli.Failf(cli.ExitUsage, "name the agent's own command", "the command is permd itself")
	}
	for _, word := range append([]string{name}, command...) {
		if !utf8.ValidString(word) || strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, cli.Failf(cli.ExitUsage, "", "the name and the command of an agent are text on one line: %q", word)
		}
	}
	if name == "" && len(command) > 0 {
		name = filepath.Base(command[0])
	}
	if strings.TrimSpace(name) == "" {
		return nil, cli.Failf(cli.ExitUsage, "one of: "+strings.Join(ACPAgents(), ", ")+"; or the command of another one after --", "the agent is missing")
	}
	agents := acpAgents()
	i := slices.IndexFunc(agents, func(a clientAgent) bool { return a.name == strings.ToLower(name) })
	if i < 0 {
		return &clientAgent{name: name, label: name, command: command, commandGiven: len(command) > 0}, nil
	}
	if len(command) > 0 {
		agents[i].command, agents[i].commandGiven = command, true
	}
	return &agents[i], nil
}

// isPermd reports whether a command is permd by its name.
func isPermd(command string) bool { return strings.HasPrefix(filepath.Base(command), "permd") }

// hasName reports whether a client's entry with that name is for this agent.
func (a *clientAgent) hasName(key string) bool {
	if key == a.name || key == a.label {
		return true
	}
	key = strings.TrimSuffix(strings.TrimPrefix(key, "acp.registry."), permdSuffix)
	if !a.known {
		return strings.EqualFold(key, a.name)
	}
	return a.is(key)
}

// permdSuffix ends the name of an entry that install adds, so that users can tell it
// from the agent's own.
const permdSuffix = " (permd)"

// is reports whether name is one of the agent's names.
func (a *clientAgent) is(name string) bool {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
	return name == a.name || slices.Contains(a.aliases, name)
}

// runners start a program that their arguments name.
var runners = []string{"npx", "npm", "pnpm", "yarn", "bunx", "bun", "uvx", "uv", "node", "env", "deno"}

// matchesCommand reports whether a command line starts this agent.
func (a *clientAgent) matchesCommand(words []string) bool {
	if len(words) == 0 {
		return false
	}
	if !a.known {
		return slices.Equal(words, a.command)
	}
	if a.is(filepath.Base(words[0])) {
		return true
	}
	if !slices.Contains(runners, filepath.Base(words[0])) {
		return false
	}
	for _, word := range runnerOperands(words[1:]) {
		if i := strings.LastIndex(word, "/node_modules/"); i >= 0 {
			word = word[i:]
		} else if filepath.IsAbs(word) {
			word = filepath.Base(word) // a folder may have the name of an agent
		}
		for part := range strings.SplitSeq(word, "/") {
			// A package, possibly with a version.
			if part, _, _ = strings.Cut(part, "@"); a.is(part) {
				return true
			}
		}
	}
	return false
}

// runnerWords are words that precede the program in a runner's arguments: its
// sub-commands, and flags without a value.
var runnerWords = []string{"exec", "x", "dlx", "run", "tool", "-y", "--yes", "-q", "--quiet", "-A", "--allow-all", "--bun", "--"}

// runnerOperands returns the arguments of a runner that may name the program that it
// starts: up to the first that is not the value of a flag. The rest is for the
// program.
func runnerOperands(words []string) (names []string) {
	value := false
	for i, word := range words {
		switch {
		case permdWords(words[i:]) > 0:
			return append(names, unwrapWords(words[i:])...)
		case slices.Contains(runnerWords, word):
			value = false
		case strings.HasPrefix(word, "-"):
			_, with, ok := strings.Cut(word, "=")
			if value = !ok; ok {
				names = append(names, with)
			}
		case value:
			names = append(names, word)
			value = false
		case strings.Contains(word, "="): // a variable, of env
		default:
			return append(names, word)
		}
	}
	return names
}
