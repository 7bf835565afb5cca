package programs

import (
	"slices"
	"strings"
)

// LineWords is what the words of a rule line mean to the program that it names.
type LineWords struct {
	Subcommand string   // as Run.Subcommand
	Subwords   int      // how many words that are
	SubAt      []int    // their indexes
	Flags      []string // as Run.Flags
	Values     []string // of options
	Operands   []int    // indexes of the other words
}

// Line reads the words after a program as the program would, so that a line
// can be compared with a run by what both mean. It is false for a program or an
// option that the table does not know.
func (t *Table) Line(program string, words []string) (LineWords, bool) {
	var l LineWords
	p := t.find(program)
	if p == nil || p.Style != StyleGNU && p.Style != StyleWords || p.Dashless {
		return l, false
	}
	var subs []string
	options := true
	for i := 0; i < len(words); i++ {
		w := words[i]
		sub := p.Sub(w)
		switch {
		case options && w == "--":
			options = false
		case options && len(w) > 1 && w[0] == '-':
			used, ok := l.option(p, words, i)
			if !ok {
				return l, false
			}
			i += used
		case options && sub != nil && len(l.Operands) == 0:
			name := w
			if real := sub.Aliases[w]; real != "" {
				name = real
			}
			subs, p = append(subs, name), sub
			l.SubAt = append(l.SubAt, i)
		default:
			l.Operands = append(l.Operands, i)
			options = options && !p.Stop
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

// option reads the option at i and returns how many further words it takes.
func (l *LineWords) option(p *Program, words []string, i int) (used int, ok bool) {
	text := words[i]
	name, value, attached := strings.Cut(text, "=")
	if p.Style == StyleWords {
		name = "-" + strings.TrimLeft(name, "-")
	}
	if o := p.Options[name]; o != nil && (len(name) > 2 || p.Style == StyleWords) {
		l.Flags = append(l.Flags, o.Canonical)
		n := 0
		switch {
		case attached:
			l.Values = append(l.Values, value)
		case o.Arity == ArityRequired:
			n = 1
		case o.Arity == ArityTwo:
			n = 2
		}
		n = min(n, len(words)-i-1)
		l.Values = append(l.Values, words[i+1:i+1+n]...)
		return n, true
	}
	if strings.HasPrefix(text, "--") || p.Style == StyleWords {
		return 0, false
	}
	for j := 1; j < len(text); j++ {
		o := p.Options["-"+text[j:j+1]]
		if o == nil {
			return 0, false
		}
		l.Flags = append(l.Flags, o.Canonical)
		switch rest := text[j+1:]; {
		case o.Arity == ArityNone:
			continue
		case rest != "":
			l.Values = append(l.Values, rest)
		case o.Arity == ArityRequired && i+1 < len(words):
			l.Values = append(l.Values, words[i+1])
			return 1, true
		}
		return 0, true
	}
	return 0, true
}
