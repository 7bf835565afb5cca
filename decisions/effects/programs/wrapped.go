package programs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Wrapped returns the index of the command in the words of a wrapper, their number if
// there is none. more reports whether the wrapper's own words do more than those of a
// transparent wrapper may.
func (t *Table) Wrapped(p *Program, words []effects.Word) (start int, more bool) {
	w := wrapperReader{table: t, wrapper: p.Wrapper, words: words}
	return w.read(p), w.more
}

// wrapperReader reads the words of a wrapper.
type wrapperReader struct {
	table   *Table
	wrapper *wrapper
	words   []effects.Word
	more    bool // the words do more than those of a transparent wrapper may
}

func (w *wrapperReader) read(p *Program) int {
	for r := p.Read(w.words); r.More(); {
		if i := r.At(); w.words[i].Expandable() {
			w.more = w.more || i > 0 || w.wrapper.Skip > 0
			return i
		}
		a := r.Next()
		switch i := a.Index; a.Kind {
		case ArgNumber:
		case ArgDashes:
			w.more = w.more || !w.wrapper.Transparent
			return w.skipOperands(i + 1)
		case ArgOptions:
			for use, ok := r.Option(); ok; use, ok = r.Option() {
				if use.Option == nil {
					w.more = true
					return w.afterUnknown(i + 1)
				}
				w.more = w.more || !w.harmless(&use)
			}
		case ArgOperand, ArgSub, ArgCommand, ArgText, ArgUnknown, ArgPattern, ArgOperator, ArgLinks, ArgExec:
			return w.skipOperands(i)
		}
	}
	return len(w.words)
}

// harmless reports whether an option of a wrapper has no effect that a rule could match.
func (w *wrapperReader) harmless(use *OptionUse) bool {
	switch use.Form {
	case NoValue, ValueAttached:
	case ValueSeparate:
		if w.words[use.Value].Expandable() {
			return false
		}
	case ValueMissing, ValueUnexpected, ValueFalse:
		return false
	}
	return use.Role == RoleText && !use.Abbreviated
}

// afterUnknown returns where the command probably begins after an unknown option, so
// that deny rules see it; the unknown option asks anyway.
func (w *wrapperReader) afterUnknown(i int) int {
	for i < len(w.words) && strings.HasPrefix(w.words[i].Text, "-") {
		i++
	}
	return i
}

// skipOperands skips the operands before the command.
func (w *wrapperReader) skipOperands(i int) int {
	for skip := w.wrapper.Skip; i < len(w.words); i++ {
		word := &w.words[i]
		if word.Glob || word.Tree {
			return i // one word or several: the beginning of the command is not known
		}
		if w.wrapper.Assignments && !word.Dynamic() {
			if word.Text == "-" { // env - is env -i
				w.more = true
				continue
			}
			if name, value, ok := strings.Cut(word.Text, "="); ok && name != "" {
				w.more = w.more || !w.table.HarmlessAssignment(name, value)
				continue
			}
		}
		if skip == 0 {
			return i
		}
		w.more = w.more || word.Dynamic()
		skip--
	}
	return i
}

// ReadsWordsFile reports whether the words that a wrapper appends may come from a file,
// so that the command gets the wrapper's standard input (xargs -a).
func ReadsWordsFile(options []effects.Word) bool {
	for i := range options {
		if w := &options[i]; w.Expandable() || len(w.Text) > 1 && w.Text[0] == '-' && strings.Contains(w.Text, "a") {
			return true
		}
	}
	return false
}
