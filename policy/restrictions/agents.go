package restrictions

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// agentCommand is a command that starts an agent, with what says in which mode.
type agentCommand struct {
	names    []string // of the program
	packages []string // that have it, for programs such as npx
	// flags are options without a value, with the modes that they mean.
	flags map[string][]string
	// values are options whose value is the name of a mode.
	values []string
	// letter is the letter of a flag that may stand among others (-py), 0 for none, and taking are
	// those that have the rest of the word as their value.
	letter rune
	taking string
	// same are further names of a mode.
	same map[string][]string
	// settings are the options that set what a settings file could, as KEY=VALUE, and keys those of
	// them whose value is the name of a mode.
	settings, keys []string
}

// The names of modes are those that the agents themselves send to hooks and clients, and those of
// their options.
var agentCommands = []agentCommand{
	{
		names: []string{"claude", "claude-code"}, packages: []string{"@anthropic-ai/claude-code"},
		flags:  map[string][]string{"--dangerously-skip-permissions": {"bypassPermissions"}},
		values: []string{"--permission-mode"},
	},
	{
		names: []string{"codex"}, packages: []string{"@openai/codex"},
		flags: map[string][]string{
			"--dangerously-bypass-approvals-and-sandbox": {"bypassPermissions", "danger-full-access", "full-access", "never", "yolo"},
			"--yolo":      {"bypassPermissions", "danger-full-access", "full-access", "never", "yolo"},
			"--full-auto": {"full-auto", "auto"},
		},
		values:   []string{"--sandbox", "-s", "--ask-for-approval", "-a"},
		same:     map[string][]string{"danger-full-access": {"full-access"}, "never": {"bypassPermissions"}},
		settings: []string{"--config", "-c"}, keys: []string{"sandbox_mode", "approval_policy"},
	},
	{
		names: []string{"gemini", "qwen"}, packages: []string{"@google/gemini-cli", "@qwen-code/qwen-code"},
		flags:  map[string][]string{"--yolo": {"yolo"}, "-y": {"yolo"}},
		values: []string{"--approval-mode", "--approvalMode"}, letter: 'y',
		same: map[string][]string{"auto_edit": {"autoEdit"}, "auto-edit": {"autoEdit", "auto_edit"}},
	},
	{
		names: []string{"agy"},
		flags: map[string][]string{"--dangerously-skip-permissions": {"bypassPermissions", "yolo"}},
	},
	{
		names: []string{"copilot"}, packages: []string{"@github/copilot"},
		flags: map[string][]string{
			"--allow-all-tools": {"allow-all-tools"}, "--allow-all": {"allow-all", "allow-all-tools", "yolo"}, "--yolo": {"allow-all", "allow-all-tools", "yolo"},
			"--autopilot": {"autopilot"}, "--plan": {"plan"},
		},
		values: []string{"--mode"},
	},
	{
		names:  []string{"cursor-agent", "agent"},
		flags:  map[string][]string{"-f": {"force", "yolo"}, "--force": {"force", "yolo"}, "--yolo": {"force", "yolo"}, "--plan": {"plan"}},
		values: []string{"--mode"}, letter: 'f', taking: "H",
	},
}

// starters are programs that start the program whose name or path is among their words.
var starters = strings.Fields("npx npm pnpm pnpx yarn bun bunx deno node bash sh dash zsh")

// startsIn returns the modes in which a run starts an agent, nil if none is known. Modes that a file,
// a variable or the agent's own settings say are not, nor what an unknown option does.
func startsIn(run *effects.Run) (modes []string) {
	if run == nil {
		return nil
	}
	name := strings.ToLower(path.Base(run.Program))
	for i := range agentCommands {
		c := &agentCommands[i]
		if slices.Contains(c.names, name) {
			modes = append(modes, c.modes(run.Args)...)
			continue
		}
		// A program such as npx, whose words have the name of the package, or of the program that it
		// installs, before those of the agent.
		at := slices.IndexFunc(run.Args, func(word string) bool {
			word = unversioned(strings.TrimPrefix(word, "npm:"))
			return slices.Contains(c.packages, word) || slices.Contains(starters, name) && slices.Contains(c.names, path.Base(word))
		})
		if at >= 0 {
			words := run.Args[at+1:]
			if len(words) > 0 && words[0] == "--" {
				words = words[1:] // npm exec PACKAGE -- WORDS
			}
			modes = append(modes, c.modes(words)...)
		}
	}
	return modes
}

// unversioned returns the name of a package without a version.
func unversioned(word string) string {
	if at := strings.LastIndexByte(word, '@'); at > 0 {
		return word[:at]
	}
	return word
}

// modes returns the modes that the words of the command say.
func (c *agentCommand) modes(words []string) (modes []string) {
	add := func(names ...string) {
		for _, name := range names {
			modes = append(append(modes, name), c.same[name]...)
		}
	}
	for i, word := range words {
		if word == "--" {
			break
		}
		option, value, joined := strings.Cut(word, "=")
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		switch {
		case c.flags[option] != nil:
			if !joined || value != "false" {
				add(c.flags[option]...)
			}
		case slices.Contains(c.values, option):
			add(value)
		case slices.Contains(c.settings, option):
			if joined { // -c=KEY=VALUE
				_, value, _ = strings.Cut(word, "=")
			}
			if key, set, ok := strings.Cut(value, "="); ok && slices.Contains(c.keys, strings.TrimSpace(key)) {
				add(strings.Trim(set, " \t\"'"))
			}
		case len(option) > 2 && option[0] == '-' && option[1] != '-':
			c.short(option[1:], word[2:], add)
		}
	}
	return modes
}

// short reads a word of one-letter options, of which rest is what follows the first.
func (c *agentCommand) short(letters, rest string, add func(...string)) {
	switch first := "-" + letters[:1]; {
	case slices.Contains(c.values, first): // -snever
		add(strings.TrimPrefix(rest, "="))
		return
	case slices.Contains(c.settings, first):
		if key, set, ok := strings.Cut(strings.TrimPrefix(rest, "="), "="); ok && slices.Contains(c.keys, key) {
			add(strings.Trim(set, " \t\"'"))
		}
		return
	}
	for _, letter := range letters {
		if strings.ContainsRune(c.taking, letter) {
			return
		}
		if letter == c.letter {
			add(c.flags["-"+string(letter)]...)
		}
	}
}
