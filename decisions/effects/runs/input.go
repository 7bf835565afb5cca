package runs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/goals"
)

// Input is the standard input of a command, and what is known of its output.
type Input struct {
	Kind effects.Stdin
	Text string
	// Printed is the output of a preceding command, if known.
	Printed string
	// Words are what a command that appends words (xargs) certainly reads, nil if not known.
	Words *Words
	// Own is set for the last command of a pipeline: zsh expands its words in the shell
	// itself, where substitutions read the shell's input.
	Own *Input
	// Redirected is set if standard output is certainly no terminal.
	Redirected bool
}

// Known returns the text that a command reads, if it is known.
func (in *Input) Known() (string, bool) {
	switch {
	case in.Kind == effects.StdinText && in.Text != effects.DynamicWord:
		return in.Text, true
	case in.Kind == effects.StdinPipe && in.Printed != "":
		return in.Printed, true
	}
	return "", false
}

// recipes handles a makefile or similar on standard input: the lines of its recipes are
// shell text.
func (v *invocation) recipes(i int) {
	v.unknown(i, "a program that does what it reads")
	input := Input{Kind: v.at.Stdin, Text: v.at.Text, Printed: v.at.Printed}
	text, ok := input.Known()
	if !ok || len(text) > MaxOutput {
		return
	}
	for _, command := range goals.Commands(text) {
		v.b.AddLikely(command, v.run.Cwd, v.at.From)
	}
}

// curlConfig adds the effects of options that curl reads from its standard input. An
// Unknown effect for these has already been added.
func (v *invocation) curlConfig() {
	input := Input{Kind: v.at.Stdin, Text: v.at.Text, Printed: v.at.Printed}
	text, ok := input.Known()
	if !ok || len(text) > MaxOutput {
		return
	}
	words := []effects.Word{effects.LiteralWord(v.run.Program)}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		end := strings.IndexAny(line, "=: \t")
		if line == "" || line[0] == '#' || len(words) > maxAppended {
			continue
		}
		if end < 0 {
			words = append(words, effects.LiteralWord("--"+strings.TrimLeft(line, "-")))
			continue
		}
		value := strings.Trim(strings.TrimLeft(line[end:], "=: \t"), `"`)
		words = append(words, effects.LiteralWord("--"+strings.TrimLeft(line[:end], "-")), effects.LiteralWord(value))
	}
	if len(words) > 1 && !slices.ContainsFunc(words[1:], func(w effects.Word) bool { return w.Text == "--config" }) {
		v.b.Run(words, Setting{Cwd: v.run.Cwd, From: v.at.From, Stdin: effects.StdinNone})
	}
}

// MaxOutput is the longest output that is followed, in bytes.
const MaxOutput = 4 << 10
