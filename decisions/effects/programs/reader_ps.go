package programs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/chars"
)

// readPS reads a word of ps. Each word by itself is of one of three styles: --long as in
// GNU programs, -abc as in UNIX, abc as in BSD. The same letter means other things in
// the last two: -e is every process, e is the environment of each. In the table, a
// letter without a dash is one of BSD.
func (r *Reader) readPS(i int, w *effects.Word) Arg {
	if i == 0 {
		r.bsd = r.program.readAsBSD(r.words)
	}
	switch {
	case r.ended:
		return r.operand(i)
	case w.Dynamic():
		if o, name := r.program.optionWithValue(w.Prefix); o != nil && !w.Split {
			return r.openValue(i, o, name)
		}
		if w.Prefix != "" && isDigit(w.Prefix[0]) && !w.Split {
			return r.operand(i)
		}
		return Arg{Kind: ArgUnknown, Index: i}
	case w.Tree:
		return Arg{Kind: ArgUnknown, Index: i}
	case w.Glob:
		return Arg{Kind: ArgPattern, Index: i}
	}
	return r.psLiteral(i)
}

func (r *Reader) psLiteral(i int) Arg {
	switch text := r.words[i].Text; {
	case text == "--":
		r.ended = true
		return Arg{Kind: ArgDashes, Index: i}
	case strings.HasPrefix(text, "--"):
		return r.options(i)
	case len(text) > 1 && text[0] == '-' && !isDigit(text[1]):
		return r.bundle(i, 1)
	case text != "" && chars.IsLetter(text[0]):
		return r.bundle(i, 0)
	}
	return r.operand(i) // a process, or a group of processes
}

// psOption returns the option that a letter of a bundle is.
func (r *Reader) psOption(letter string, dashless bool) *Option {
	if o := r.program.Options["-"+letter]; o != nil && !dashless {
		return o
	}
	// What is no UNIX option makes ps read all words as BSD options.
	return r.program.Options[letter]
}

// readAsBSD reports whether ps may read words with a dash as BSD options. It does so
// when it cannot read them as UNIX options: because of a letter (ps -ax), or of a value
// in the same word, such as a user x that does not exist (ps -aux), or because -T and
// -H exclude each other. procps-ng 4.0.2.
func (p *Program) readAsBSD(words []effects.Word) bool {
	threads := false
	forest := false
	for i := range words {
		text := words[i].Text
		if len(text) < 2 || text[0] != '-' || text[1] == '-' || isDigit(text[1]) {
			continue
		}
		for at := 1; at < len(text); at++ {
			o := p.Options["-"+text[at:at+1]]
			if o == nil {
				return true
			}
			threads, forest = threads || text[at] == 'T', forest || text[at] == 'H'
			if o.Arity == ArityNone {
				continue
			}
			if value := text[at+1:]; o.Role != RoleColumns && strings.Trim(value, digits+",") != "" {
				return true
			}
			break
		}
	}
	return threads && forest
}

// nextBSD returns the next letter of a bundle with a dash that, read as a BSD option,
// is not harmless.
func (r *Reader) nextBSD() (u OptionUse, ok bool) {
	for r.letter < len(r.text) {
		letter := r.text[r.letter : r.letter+1]
		r.letter++
		if o := r.program.Options[letter]; o != nil && o.Role == RoleUnknown {
			return OptionUse{Option: o, Index: r.index, name: letter, letter: true}, true
		}
	}
	r.form = nothingLeft
	return OptionUse{}, false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
