package effects

import (
	"slices"
	"strings"
)

// input is where the standard input of a command comes from.
type input struct {
	kind Stdin
	text string
	// printed is what comes out of a pipe, when that is known.
	printed string
	// own is set for the last command of a pipeline: zsh expands its words in the
	// shell itself, where substitutions read what the shell reads.
	own *input
}

// known is the text that a command reads.
func (in *input) known() (string, bool) {
	switch {
	case in.kind == StdinText && in.text != DynamicWord:
		return in.text, true
	case in.kind == StdinPipe && in.printed != "":
		return in.printed, true
	}
	return "", false
}

// recipes handles a makefile, or its like, that comes from standard input: the
// lines of its recipes are shell text.
func (v *invocation) recipes(i int) {
	v.unknown(i, "a program that does what it reads")
	input := input{kind: v.at.stdin, text: v.at.text, printed: v.at.printed}
	text, ok := input.known()
	if !ok || len(text) > maxOutput {
		return
	}
	for line := range strings.Lines(text) {
		recipe, ok := strings.CutPrefix(line, "\t")
		if _, after, found := strings.Cut(line, ";"); !ok && found {
			recipe, ok = after, true // target: ; command
		}
		if recipe = strings.TrimLeft(strings.TrimSpace(recipe), "@-+ "); ok && recipe != "" {
			v.b.glimpse(recipe, v.run.Cwd, v.at.from)
		}
	}
}

// curlConfig adds what curl would do with the options that it reads from its
// standard input; that it reads such is a question already.
func (v *invocation) curlConfig() {
	input := input{kind: v.at.stdin, text: v.at.text, printed: v.at.printed}
	text, ok := input.known()
	if !ok || len(text) > maxOutput {
		return
	}
	words := []word{literalWord(v.run.Program)}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		end := strings.IndexAny(line, "=: \t")
		if line == "" || line[0] == '#' || len(words) > maxAppended {
			continue
		}
		if end < 0 {
			words = append(words, literalWord("--"+strings.TrimLeft(line, "-")))
			continue
		}
		value := strings.Trim(strings.TrimLeft(line[end:], "=: \t"), `"`)
		words = append(words, literalWord("--"+strings.TrimLeft(line[:end], "-")), literalWord(value))
	}
	if len(words) > 1 && !slices.ContainsFunc(words[1:], func(w word) bool { return w.text == "--config" }) {
		v.b.run(words, setting{cwd: v.run.Cwd, from: v.at.from, stdin: StdinNone})
	}
}

// maxAppended is how many words of its input are added to a command.
const maxAppended = 64

// appended adds what a command does with the words that its wrapper reads, when
// those are known: xargs.
func (b *builder) appended(options, command []word, at setting) {
	text := at.printed
	if at.stdin == StdinText && at.text != DynamicWord {
		text = at.text
	}
	given := strings.Fields(text)
	if len(given) == 0 || len(given) > maxAppended || command[0].dynamic() || command[0].glob {
		return
	}
	place := "" // what stands for the words, with -I
	for i := range options {
		rest, ok := strings.CutPrefix(options[i].text, "-I")
		switch {
		case ok && rest != "":
			place = rest
		case ok && i+1 < len(options):
			place = options[i+1].text
		}
	}
	words := slices.Clone(command)
	if place == "" {
		for _, text := range given {
			words = append(words, literalWord(strings.Trim(text, `"'`)))
		}
	} else {
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		for i := range words {
			words[i].text = strings.ReplaceAll(words[i].text, place, line)
		}
	}
	at.stdin, at.text, at.printed = StdinNone, "", ""
	b.command(words, at)
}

// maxOutput is the longest output that is followed, in bytes.
const maxOutput = 4 << 10
