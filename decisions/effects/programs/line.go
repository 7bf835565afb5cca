package programs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// LineWords is the meaning of a rule line's words to the program that it names.
type LineWords struct {
	Subcommand string   // as in Run.Subcommand
	Subwords   int      // number of words of Subcommand
	SubAt      []int    // their indices
	Flags      []string // as in Run.Flags
	Values     []string // of options
	Operands   []int    // indices of the other words
}

// Line reads the words after a program as the program would, so that a rule line can
// be compared with a run by meaning. It returns false for programs and options that
// the table does not know, and for words without a name in Run.Flags: a number, or
// an option that is negated.
func (t *Table) Line(program string, words []string) (LineWords, bool) {
	var l LineWords
	p := t.entryOf(program)
	if p == nil || !p.hasComparableOptions() {
		return l, false
	}
	var subs []string
	r := p.Read(literalWords(words))
	for r.More() {
		a := r.Next()
		switch a.Kind {
		case ArgDashes:
		case ArgOptions:
			for use, ok := r.Option(); ok; use, ok = r.Option() {
				if !l.option(&use, words) {
					return l, false
				}
				if use.Form == ValueMissing {
					// The rest of the words is not literal.
					l.Values = append(l.Values, words[r.next:]...)
					r.next = len(words)
				}
			}
		case ArgSub:
			if a.Sub == nil {
				l.Operands = append(l.Operands, a.Index)
				continue
			}
			subs, p = append(subs, a.Name), a.Sub
			l.SubAt = append(l.SubAt, a.Index)
		case ArgOperand, ArgCommand, ArgText:
			if !a.Fixed && strings.HasPrefix(words[a.Index], "-") && len(words[a.Index]) > 1 && (a.Kind == ArgText || p.RunsItself()) {
				return l, false
			}
			l.Operands = append(l.Operands, a.Index)
		case ArgNumber, ArgUnknown, ArgPattern, ArgOperator, ArgLinks, ArgExec:
			return l, false
		}
	}
	l.Subcommand, l.Subwords = strings.Join(subs, " "), len(subs)
	for flag, more := range p.Implies {
		if slices.Contains(l.Flags, flag) {
			l.Flags = append(l.Flags, more...)
		}
	}
	slices.Sort(l.Flags)
	l.Flags = slices.Compact(l.Flags)
	return l, true
}

// option records an option of a line, and reports whether a run would have it.
func (l *LineWords) option(use *OptionUse, words []string) bool {
	if use.Option == nil || use.Abbreviated || use.Form == ValueFalse {
		return false
	}
	l.Flags = append(l.Flags, use.Canonical)
	switch use.Form {
	case ValueAttached, ValueUnexpected:
		l.Values = append(l.Values, use.Text)
	case ValueSeparate:
		first := use.Value
		if use.Arity == ArityTwo {
			first--
		}
		l.Values = append(l.Values, words[first:use.Value+1]...)
	case NoValue, ValueMissing, ValueFalse:
	}
	return true
}

// hasComparableOptions reports whether the options of a program have names by which rules can
// refer to them, whatever their position.
func (p *Program) hasComparableOptions() bool {
	return (p.Style == StyleGNU || p.Style == StyleWords) && !p.Dashless
}

func literalWords(words []string) []effects.Word {
	all := make([]effects.Word, len(words))
	for i, text := range words {
		all[i] = effects.LiteralWord(text)
	}
	return all
}
