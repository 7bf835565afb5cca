package runs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/languages"
)

// maxAppended is how many words of its input a command is read with.
const maxAppended = 64

// Words are what a program that appends words to a command (xargs) certainly reads: a text,
// or paths, each of which ends with NUL.
type Words struct {
	Text  string
	Found *effects.Word
}

// withCertain adds the effects of a command with the words that its wrapper certainly reads,
// and reports whether it did. The wrapper adds nothing then: it is read-only if all those
// commands are.
func (b *Builder) withCertain(index int, options, command []effects.Word, at Setting) bool {
	if at.Words == nil || at.Stdin != effects.StdinPipe || command[0].Expandable() || command[0].Text == "time" {
		return false // time is a word of shells, and to xargs a program
	}
	o, ok := appendOptions(options)
	if !ok || o.nul != (at.Words.Found != nil) {
		return false
	}
	var lists [][]effects.Word
	if at.Words.Found != nil {
		found := *at.Words.Found
		found.Several = o.each != 1
		if lists = append(lists, []effects.Word{found}); !o.quiet {
			lists = append(lists, nil) // without any path, some run the command alone
		}
	} else {
		words, plain := languages.XargsWords(at.Words.Text)
		if !plain || len(words) == 0 || len(words) > maxAppended {
			return false
		}
		for some := range slices.Chunk(words, o.each) {
			var list []effects.Word
			for _, word := range some {
				list = append(list, effects.LiteralWord(word))
			}
			lists = append(lists, list)
		}
	}
	at.Stdin, at.Text, at.Printed, at.Words = effects.StdinNone, "", "", nil
	first := len(b.Effects)
	for _, list := range lists {
		b.Command(slices.Concat(command, list), at)
	}
	b.Effects[index].Run.Readonly = onlyReads(b.Effects[first:])
	return true
}

// appending are the options of a wrapper that appends words.
type appending struct {
	nul   bool // the words end with NUL
	quiet bool // without any word it runs nothing
	each  int  // words of one run
}

// appendOptions reads the options that change neither where the words come from nor where
// they go; ok is false if there are others (POSIX, xargs).
func appendOptions(options []effects.Word) (o appending, ok bool) {
	o.each = maxAppended
	for i := 0; i < len(options); i++ {
		w := &options[i]
		if w.Expandable() {
			return o, false
		}
		switch text := w.Text; {
		case text == "-0", text == "--null":
			o.nul = true
		case text == "-r", text == "--no-run-if-empty":
			o.quiet = true
		case text == "-t", text == "-x":
		case strings.HasPrefix(text, "-n"), strings.HasPrefix(text, "-P"):
			value := text[2:]
			if value == "" && i+1 < len(options) && !options[i+1].Expandable() {
				i++
				value = options[i].Text
			}
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || value[0] == '+' {
				return o, false
			}
			if text[1] == 'n' {
				o.each = min(n, maxAppended)
			}
		default:
			return o, false
		}
	}
	return o, true
}

// withAppended adds the likely effects of a command with the words that its wrapper (xargs)
// reads from standard input, for denies: nothing is allowed because of them.
func (b *Builder) withAppended(options, command []effects.Word, at Setting) {
	text := at.Printed
	if at.Stdin == effects.StdinText && at.Text != effects.DynamicWord {
		text = at.Text
	}
	given, _ := languages.XargsWords(text)
	if len(given) == 0 || len(given) > maxAppended || command[0].Dynamic() || command[0].Glob {
		return
	}
	place := "" // the replacement string of -I
	for i := range options {
		rest, ok := strings.CutPrefix(options[i].Text, "-I")
		switch {
		case ok && rest != "":
			place = rest
		case ok && i+1 < len(options):
			place = options[i+1].Text
		}
	}
	words := slices.Clone(command)
	if place == "" {
		for _, text := range given {
			words = append(words, effects.LiteralWord(text))
		}
	} else {
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		for i := range words {
			words[i].Text = strings.ReplaceAll(words[i].Text, place, line)
		}
	}
	at.Stdin, at.Text, at.Printed, at.Words = effects.StdinNone, "", "", nil
	b.Command(words, at)
}
