package pattern

import (
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Sense is what a run line means, whatever the order and the spelling of its
// options: "rm -rf *" and "rm --recursive --force *" are one. Only lines that
// deny or ask are compared by it, since it leaves out what else a run has.
type Sense struct {
	// Subcommand begins that of the run.
	Subcommand string
	// Flags are among those of the run; they are all of them unless Rest.
	Flags []string
	Rest  bool
	// Texts are regular expressions (RE2) that Joined(args) must match: one for
	// the operands in their order, with any options and their values between
	// them, and one for each value of an option.
	Texts []string
	// Operands are those operands of the line that have no *: each stands among
	// the words of whatever the line touches, as a word of its own.
	Operands []string

	compiled []*regexp.Regexp
}

// Joined is a run's words as one text, for Sense.Texts: before each a NUL, which
// no word has.
func Joined(args []string) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteByte(0)
		b.WriteString(strings.ReplaceAll(a, "\x00", "\x01"))
	}
	return b.String()
}

const (
	anyInWord = `[^\x00]*`
	// skipped is an option with, as may be, its value.
	skipped = `(?:\x00-` + anyInWord + `(?:\x00` + anyInWord + `)?)*?`
	subword = `\x00(?:[^-\x00]` + anyInWord + `)?` + skipped
	wordEnd = `(?:\x00|$)`
)

// Understood returns the pattern with the sense of its line, as far as the
// table knows the program: without it Touches knows an option only by the name
// that stands in the line.
func (p *Pattern) Understood(t *effects.Table) *Pattern {
	if p.Run == nil || t == nil || p.Run.ByPath() {
		return p
	}
	sense := p.Run.senseOf(t)
	if sense == nil {
		return p
	}
	run := *p.Run
	run.Sense = sense
	return &Pattern{Kind: p.Kind, Run: &run}
}

func (r *Run) senseOf(t *effects.Table) *Sense {
	spoken := r.spoken()
	words := make([]string, len(spoken))
	for i, w := range spoken {
		lit, ok := w.Literal()
		if !ok {
			if strings.HasPrefix(w.Prefix(), "-") {
				return nil // the option's value is open
			}
			lit = "*" // an operand, if it is one
		}
		words[i] = lit
	}
	l, ok := t.Line(r.Program, words)
	if !ok || slices.Contains(l.Values, "*") {
		return nil
	}
	if len(l.Flags) == 0 && l.Subcommand == "" && (!r.Rest || len(l.Operands) == 0) {
		return nil // the words say it all; a sub-command may have other names
	}
	s := &Sense{Subcommand: l.Subcommand, Flags: l.Flags, Rest: r.Rest}
	for _, i := range l.Operands {
		if word, literal := spoken[i].Literal(); literal {
			s.Operands = append(s.Operands, word)
		}
	}
	if len(l.Operands) > 0 || !r.Rest {
		text := "(?s)^" + skipped + strings.Repeat("(?:"+subword+")", l.Subwords)
		for _, i := range l.Operands {
			text += `\x00` + spoken[i].Regexp(anyInWord) + skipped
		}
		if r.Rest {
			text += wordEnd
		} else {
			text += "$"
		}
		s.Texts = append(s.Texts, text)
	}
	for _, v := range l.Values {
		// In a word of its own, or at the end of the option's.
		s.Texts = append(s.Texts, `(?s)\x00(?:-`+anyInWord+")?"+regexp.QuoteMeta(v)+wordEnd)
	}
	for _, text := range s.Texts {
		re, err := regexp.Compile(text)
		if err != nil {
			return nil
		}
		s.compiled = append(s.compiled, re)
	}
	return s
}

// touches reports whether a run of the program may be what the line speaks of.
func (s *Sense) touches(run *effects.Run) bool {
	if s.Subcommand != "" && run.Subcommand != s.Subcommand && !strings.HasPrefix(run.Subcommand, s.Subcommand+" ") {
		return false
	}
	if !s.Rest && len(run.Flags) != len(s.Flags) {
		return false
	}
	for _, f := range s.Flags {
		if !slices.Contains(run.Flags, f) {
			return false
		}
	}
	if len(s.compiled) == 0 {
		return true
	}
	args := Joined(run.Args)
	for _, re := range s.compiled {
		if !re.MatchString(args) {
			return false
		}
	}
	return true
}
