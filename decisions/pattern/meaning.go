package pattern

import (
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
)

// Meaning is the meaning of a run line, independent of the order and the
// spelling of its options: "rm -rf *" and "rm --recursive --force *" are the
// same. Only deny and ask lines are compared by it: they also touch a run with
// additional options.
type Meaning struct {
	// Subcommand is a prefix of that of the run.
	Subcommand string
	// Flags are a subset of those of the run.
	Flags []string
	// Operands are those of the line, in order. A run may have more only with
	// Rest.
	Operands []Glob
	Rest     bool
	// Certain is set if Operands can be compared with Run.Operands. If the run
	// has none, or this is not set, Order is compared.
	Certain bool
	// Order is a regular expression (RE2) that JoinWords(args) must match: the
	// operands in order, with any options, each perhaps with a value, between
	// them; "" matches anything.
	Order string
	// Texts are further expressions, all of which must match: for values of
	// options and, unless Certain, for options.
	Texts []string
	// Values are values of options without a *: each is a word of every run
	// that the line touches, or the end of one that begins with a dash.
	Values []string
	// Option is one of the options, unless Certain: every run that the line
	// touches has it as a word, or followed by = and more. "" if none must be a
	// separate word.
	Option string

	order *regexp.Regexp
	texts []*regexp.Regexp
}

// JoinWords returns a run's words as one text, for Meaning.Texts: each is preceded
// by a NUL, which no word contains.
func JoinWords(args []string) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteByte(0)
		b.WriteString(strings.ReplaceAll(a, "\x00", "\x01"))
	}
	return b.String()
}

const (
	anyInWord = `[^\x00]*`
	// anyOption matches an option and perhaps its value.
	anyOption = `(?:\x00-` + anyInWord + `(?:\x00` + anyInWord + `)?)*?`
	subword   = `\x00(?:[^-\x00]` + anyInWord + `)?` + anyOption
	wordEnd   = `(?:\x00|$)`
)

// Resolved returns the pattern with the meaning of its words, as far as the
// table describes the program, and with the other spellings of the same run.
// Words that the table does not describe are compared literally; see byWords.
func (p *Pattern) Resolved(t *programs.Table) *Pattern {
	if p.Run == nil {
		return p
	}
	run := *p.Run
	run.understand(t)
	if t != nil && !run.ByPath() {
		run.Same = p.Run.spellings(t)
		for _, same := range run.Same {
			same.understand(t)
		}
	}
	return &Pattern{Kind: p.Kind, Run: &run}
}

func (r *Run) understand(t *programs.Table) {
	if t != nil && !r.ByPath() {
		r.Meaning = r.meaningOf(t)
	}
	if r.Meaning == nil {
		r.Meaning = r.byWords(t != nil && t.Knows(r.Program))
	}
}

// spellings returns lines about the same runs in other words.
func (r *Run) spellings(t *programs.Table) []*Run {
	spoken := r.givenWords()
	words := make([]string, len(spoken))
	for i, w := range spoken {
		var literal bool
		if words[i], literal = w.Literal(); !literal {
			words[i] = placeholder
		}
	}
	var found []*Run
	for _, line := range t.Spellings(r.Program, words, r.Rest, func(at int, text string) bool { return spoken[at].Match(text) }) {
		same := &Run{Program: r.Program, Rest: r.Rest}
		for _, w := range line {
			switch {
			case w.At < 0:
				same.Words = append(same.Words, Glob{w.Text})
			case w.At < len(r.Words):
				same.Words = append(same.Words, spoken[w.At])
			default:
				same.Named = append(same.Named, words[w.At])
			}
		}
		found = append(found, same)
	}
	return found
}

// placeholder replaces a word with a * when the table parses a line.
const placeholder = "*"

func (r *Run) meaningOf(t *programs.Table) *Meaning {
	spoken := r.givenWords()
	words := make([]string, len(spoken))
	for i, w := range spoken {
		lit, ok := w.Literal()
		if !ok {
			if strings.HasPrefix(w.Prefix(), "-") {
				return nil // the option's value is not fixed
			}
			lit = placeholder // an operand, if any
		}
		words[i] = lit
	}
	l, ok := t.Line(r.Program, words)
	if !ok || slices.Contains(l.Values, placeholder) {
		return nil
	}
	if len(l.Flags) == 0 && l.Subcommand == "" && r.Rest && len(l.Operands) == 0 {
		return nil // it covers all runs of the program
	}
	s := &Meaning{Subcommand: l.Subcommand, Flags: l.Flags, Rest: r.Rest, Values: l.Values, Certain: true}
	for _, i := range l.Operands {
		s.Operands = append(s.Operands, spoken[i])
	}
	if len(l.Operands) > 0 || !r.Rest {
		s.Order = "(?s)^" + anyOption + strings.Repeat("(?:"+subword+")", l.Subwords)
		for _, g := range s.Operands {
			s.Order += `\x00` + g.Regexp(anyInWord) + anyOption
		}
		s.Order += r.orderEnd()
	}
	for _, v := range l.Values {
		s.Texts = append(s.Texts, valueText(regexp.QuoteMeta(v)))
	}
	return s.compile()
}

func (r *Run) orderEnd() string {
	if r.Rest {
		return wordEnd
	}
	return "$"
}

// valueText matches a value as a separate word, or at the end of its option's.
func valueText(value string) string {
	return `(?s)\x00(?:-` + anyInWord + ")?" + value + wordEnd
}

func (s *Meaning) compile() *Meaning {
	var err error
	if s.Order != "" {
		if s.order, err = regexp.Compile(s.Order); err != nil {
			return nil
		}
	}
	for _, text := range s.Texts {
		re, err := regexp.Compile(text)
		if err != nil {
			return nil
		}
		s.texts = append(s.texts, re)
	}
	return s
}

// touches reports whether a run of the program may be covered by the line.
func (s *Meaning) touches(run *effects.Run) bool {
	if s.Subcommand != "" && run.Subcommand != s.Subcommand && !strings.HasPrefix(run.Subcommand, s.Subcommand+" ") {
		return false
	}
	for _, f := range s.Flags {
		if !slices.Contains(run.Flags, f) {
			return false
		}
	}
	args := ""
	if s.order != nil || len(s.texts) > 0 {
		args = JoinWords(run.Args)
	}
	for _, re := range s.texts {
		if !re.MatchString(args) {
			return false
		}
	}
	switch {
	case s.order == nil, s.Certain && run.Operands != nil && (s.Rest || run.Subcommand == s.Subcommand) && s.operandsAre(run.Operands):
		return true
	case s.Certain && !s.Rest && run.Operands != nil && len(run.Flags) != len(s.Flags):
		return false
	}
	return s.order.MatchString(args)
}

func (s *Meaning) operandsAre(operands []string) bool {
	if len(operands) < len(s.Operands) || !s.Rest && len(operands) != len(s.Operands) {
		return false
	}
	for i, g := range s.Operands {
		if !g.Match(operands[i]) {
			return false
		}
	}
	return true
}
