package programs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/chars"
)

// Reader splits the words after a program, in their order, as the program itself
// does: options with their values, sub-commands, operands. It is the only reader of
// argument lists: the effects of a run, the meaning of a policy's line and the
// checks of rules all use it.
//
// It knows the table and the words, but no file system and no shell. A word whose
// text is not known, or depends on the names in a folder, is returned as such.
//
//	for r := p.Read(words); r.More(); {
//		switch arg := r.Next(); arg.Kind {
//		case ArgOptions:
//			for use, ok := r.Option(); ok; use, ok = r.Option() {
type Reader struct {
	words    []effects.Word
	program  *Program // the innermost sub-command so far
	next     int      // index of the word to read
	operands int      // number of operands so far
	ended    bool     // "--" was read
	begun    bool     // find's expression has begun
	bsd      bool     // readPS may read words with a dash as BSD options
	optionWord
}

// Read returns a reader of the words after the program. It treats all words of
// StyleTest as operands.
func (p *Program) Read(words []effects.Word) Reader { return Reader{program: p, words: words} }

// Arg is a word, or a sequence of words whose first determines the others.
type Arg struct {
	Kind  ArgKind
	Index int // of the word
	// Fixed is set for an operand where no option can occur: after --, or after
	// the operand that ends the options.
	Fixed bool
	// Sub is the sub-command that an ArgSub names, nil if the table does not have
	// it, and Name its name, of which the word may be an alias.
	Sub  *Program
	Name string
	// End is the index after the last word of find's -exec, -1 when the command
	// does not end.
	End int
}

// ArgKind is the syntactic kind of a word.
type ArgKind uint8

const (
	ArgOperand  ArgKind = iota
	ArgOptions          // one option, or a bundle; see Reader.Option
	ArgNumber           // an option that is a number: -20
	ArgDashes           // --
	ArgSub              // a word where a sub-command is expected; an operand if Sub is nil
	ArgCommand          // a word of the command that a wrapper runs
	ArgText             // a word of a program that takes only text
	ArgUnknown          // a word whose text is not known and which may be an option
	ArgPattern          // a pattern that may become an option; see Reader.Literal
	ArgOperator         // of find: ( ) ! ,
	ArgLinks            // of find: -H, -L or -P
	ArgExec             // of find: -exec and the like, with their command
)

// More reports whether words are left. It skips options of the current word that
// Option has not returned.
func (r *Reader) More() bool { return r.At() < len(r.words) }

// At returns the index of the next word.
func (r *Reader) At() int {
	r.finish()
	return r.next
}

// Next reads the next word.
func (r *Reader) Next() Arg {
	i := r.At()
	r.next++
	w, p := &r.words[i], r.program
	switch p.Style {
	case StyleFind:
		return r.readFind(i, w)
	case StyleAssign:
		return r.readAssignment(i, w)
	case StyleTest:
		return r.operand(i)
	case StylePS:
		return r.readPS(i, w)
	case StyleGNU, StyleWords:
	}
	switch {
	case p.Text:
		return Arg{Kind: ArgText, Index: i}
	case p.Wrapper != nil && p.Stop && r.operands > 0:
		return Arg{Kind: ArgCommand, Index: i}
	case r.ended, p.Stop && r.operands > 0:
		r.operands++
		return Arg{Kind: ArgOperand, Index: i, Fixed: true}
	case mayBeOption(w), p.Plus && w.Dynamic() && w.Prefix != "" && w.Prefix[0] == '+':
		if o, name := p.optionWithValue(w.Prefix); o != nil && !w.Split {
			// As in "--format=$(…)": the option is known, its value is not.
			return r.openValue(i, o, name)
		}
		return Arg{Kind: ArgUnknown, Index: i}
	case w.Glob && !w.Dynamic() && MayMatchOption(w.Text):
		// Whatever --include=*.go expands to is this option.
		if o, _ := p.optionWithValue(w.Text); o == nil || o.Role != RoleText && o.Role != RoleGlobs && o.Role != RoleTypes {
			return Arg{Kind: ArgPattern, Index: i}
		}
	}
	return r.literal(i)
}

// Literal reads an ArgPattern again, as a word with the pattern's text.
func (r *Reader) Literal(pattern Arg) Arg {
	if r.program.Style == StylePS {
		return r.psLiteral(pattern.Index)
	}
	return r.literal(pattern.Index)
}

// Operand reads an ArgPattern again, as an operand.
func (r *Reader) Operand(pattern Arg) Arg { return r.operand(pattern.Index) }

func (r *Reader) literal(i int) Arg {
	w, p := &r.words[i], r.program
	switch {
	case w.Text == "--":
		r.ended = true
		return Arg{Kind: ArgDashes, Index: i}
	case len(w.Text) > 1 && w.Text[0] == '-':
		return r.options(i)
	case p.Plus && w.Text != "" && w.Text[0] == '+':
		return r.singleOption(OptionUse{Index: i, name: w.Text}) // the table has none of these
	case !p.Dashless || i > 0 || w.Text == "":
	case w.Tree:
		return Arg{Kind: ArgUnknown, Index: i}
	case chars.IsLetter(w.Text[0]):
		return r.bundle(i, 0)
	}
	if p.Subs == nil || r.operands > 0 {
		return r.operand(i)
	}
	return r.subcommand(i)
}

func (r *Reader) operand(i int) Arg {
	r.operands++
	return Arg{Kind: ArgOperand, Index: i}
}

// subcommand enters a sub-command.
func (r *Reader) subcommand(i int) Arg {
	w := &r.words[i]
	a := Arg{Kind: ArgSub, Index: i, Name: w.Text}
	if !w.Expandable() {
		a.Sub = r.program.Sub(w.Text)
	}
	if a.Sub == nil {
		r.operands++
		return a
	}
	if real := a.Sub.Aliases[w.Text]; real != "" {
		a.Name = real
	}
	r.program = a.Sub
	if a.Sub.RunsItself() {
		r.operands++
	}
	return a
}

// RunsItself reports whether the sub-command's own name is the program that it runs
// (rtk git).
func (p *Program) RunsItself() bool { return p.Wrapper != nil && p.Wrapper.Itself }

// readFind reads a word of find: starting points, then an expression.
func (r *Reader) readFind(i int, w *effects.Word) Arg {
	operator := w.Text == "(" || w.Text == "!" || w.Text == ","
	if !r.begun {
		switch {
		case mayBeOption(w):
			return Arg{Kind: ArgUnknown, Index: i}
		case !w.Dynamic() && w.Glob && (MayMatchOption(w.Text) || w.Text[0] == '(' || w.Text[0] == ','):
			return Arg{Kind: ArgPattern, Index: i}
		case w.Dynamic(), !operator && !strings.HasPrefix(w.Text, "-"):
			return r.operand(i)
		case w.Text == "-H", w.Text == "-L", w.Text == "-P":
			return Arg{Kind: ArgLinks, Index: i}
		}
		r.begun = true
	}
	if operator || w.Text == ")" {
		return Arg{Kind: ArgOperator, Index: i}
	}
	if w.Dynamic() || w.Glob {
		return Arg{Kind: ArgUnknown, Index: i}
	}
	a := r.readPrimary(i)
	if r.use.Option == nil || r.use.Role != RoleCommand {
		return a
	}
	a.Kind = ArgExec
	r.readExec(&a)
	return a
}

// readExec finds the end of the command after -exec: ; or {} +.
func (r *Reader) readExec(a *Arg) {
	end := a.Index + 1
	for end < len(r.words) && r.words[end].Text != ";" && (r.words[end].Text != "+" || r.words[end-1].Text != "{}") {
		end++
	}
	a.End = end
	if end == a.Index+1 || end >= len(r.words) {
		a.End, end = -1, len(r.words)-1
	}
	r.next = end + 1
}

// mayBeOption reports whether a word whose text is not known may be an option, or
// expand to several words.
func mayBeOption(w *effects.Word) bool {
	return w.Dynamic() && (w.Split || w.Prefix == "" || w.Prefix[0] == '-')
}

// MayMatchOption reports whether a pattern may match a name that begins like an
// option.
func MayMatchOption(pattern string) bool { return strings.IndexByte("*?[@+!-", pattern[0]) >= 0 }
