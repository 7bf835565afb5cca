package programs

import (
	"slices"
	"strings"
)

// spelling is a pair of equivalent words of a program: "npm test" and "npm run
// test".
type spelling struct{ from, to sequence }

// sequence is a sub-command and the operands after it.
type sequence struct {
	words    []string // as written
	sub      string
	operands []string
}

// maxSpellings is how many other spellings of a line are tried.
const maxSpellings = 64

// same parses lines such as "docker|podman container run = run". If the left side
// is a nested sub-command, it is read like the right side, so that a run has the
// same effects either way.
func (p *tableParser) same(lines []textNode) error {
	for _, line := range lines {
		left, right, ok := strings.Cut(line.text, "=")
		words := strings.Fields(left)
		if !ok || len(words) < 2 {
			return line.errorf("%q: expected PROGRAM WORDS = WORDS", line.text)
		}
		for name := range strings.SplitSeq(words[0], "|") {
			prog := p.table.programs[name]
			if prog == nil {
				return line.errorf("%q: there is no program %q", line.text, name)
			}
			long, short := words[1:], strings.Fields(right)
			if parent := prog.Subs[long[0]]; len(long) == 2 && len(short) == 1 && parent != nil && parent.Subs != nil {
				target := prog.Subs[short[0]]
				if target == nil {
					return line.errorf("%q: there is no sub-command %q", line.text, short[0])
				}
				parent.Subs[long[1]] = target
			}
			a, b := p.table.sequence(name, long), p.table.sequence(name, short)
			if a == nil || b == nil {
				return line.errorf("%q: the program table does not have these words", line.text)
			}
			if p.table.same == nil {
				p.table.same = map[string][]spelling{}
			}
			p.table.same[name] = append(p.table.same[name], spelling{*a, *b}, spelling{*b, *a})
		}
	}
	return nil
}

// runs parses lines such as "npm install-test = install, test".
func (p *tableParser) runs(lines []textNode) error {
	for _, line := range lines {
		left, right, ok := strings.Cut(line.text, "=")
		words := strings.Fields(left)
		if !ok || len(words) < 2 || strings.TrimSpace(right) == "" {
			return line.errorf("%q: expected PROGRAM WORDS = WORDS, WORDS", line.text)
		}
		for name := range strings.SplitSeq(words[0], "|") {
			s := p.table.sequence(name, words[1:])
			if s == nil || len(s.operands) > 0 {
				return line.errorf("%q: the program table has no such sub-command", line.text)
			}
			for part := range strings.SplitSeq(right, ",") {
				run := strings.Fields(part)
				if p.table.sequence(name, run) == nil {
					return line.errorf("%q: the program table does not have these words", line.text)
				}
				if p.table.runs == nil {
					p.table.runs = map[[2]string][][]string{}
				}
				key := [2]string{name, s.sub}
				p.table.runs[key] = append(p.table.runs[key], run)
			}
		}
	}
	return nil
}

// OtherRuns returns the words of the other runs of a program that one of its sub-commands does
// as well.
func (t *Table) OtherRuns(program, sub string) [][]string { return t.runs[[2]string{program, sub}] }

func (t *Table) sequence(program string, words []string) *sequence {
	l, ok := t.Line(program, words)
	if !ok || len(l.Flags) > 0 {
		return nil
	}
	s := &sequence{words: words, sub: l.Subcommand}
	for _, i := range l.Operands {
		s.operands = append(s.operands, words[i])
	}
	return s
}

// all returns the words of the sub-command and the operands.
func (s *sequence) all() []string { return append(strings.Fields(s.sub), s.operands...) }

// LineWord is a word of a line in another spelling.
type LineWord struct {
	At   int    // its index in the line, -1 for a new word
	Text string // of a new word
}

// Spellings returns the equivalent spellings of a line. is reports whether the word
// at an index may be that text. rest is set if the line also matches runs with
// further words.
func (t *Table) Spellings(program string, words []string, rest bool, is func(at int, text string) bool) [][]LineWord {
	if len(t.same[program]) == 0 {
		return nil
	}
	first := make([]LineWord, len(words))
	for i := range words {
		first[i] = LineWord{At: i, Text: words[i]}
	}
	found := [][]LineWord{first}
	for i := 0; i < len(found); i++ {
		for _, s := range t.same[program] {
			other := t.respell(program, found[i], &s, rest, is)
			if other != nil && len(found) <= maxSpellings && !slices.ContainsFunc(found, func(f []LineWord) bool { return slices.Equal(f, other) }) {
				found = append(found, other)
			}
		}
	}
	return found[1:]
}

// respell returns a line with one side of a spelling replaced by the other, nil if
// the line does not have it.
func (t *Table) respell(program string, line []LineWord, s *spelling, rest bool, is func(at int, text string) bool) []LineWord {
	words := make([]string, len(line))
	for i, w := range line {
		words[i] = w.Text
	}
	l, ok := t.Line(program, words)
	if !ok {
		return nil
	}
	has := func(i int, text string) bool {
		if line[i].At < 0 {
			return line[i].Text == text
		}
		return is(line[i].At, text)
	}
	operands := l.Operands
	gone := slices.Clone(l.SubAt)
	switch {
	case l.Subcommand == s.from.sub && len(operands) >= len(s.from.operands):
		for i, text := range s.from.operands {
			if !has(operands[i], text) {
				return nil
			}
		}
		gone = append(gone, operands[:len(s.from.operands)]...)
		if len(operands) == len(s.from.operands) && (len(s.from.words) == 0 || len(s.to.words) == 0) {
			return nil // the next words name the script
		}
	case rest && len(gone) > 0:
		// The line matches whatever begins with these words.
		all := s.from.all()
		own := strings.Fields(l.Subcommand)
		if len(own)+len(operands) >= len(all) || len(s.to.words) == 0 || !slices.Equal(own, all[:len(own)]) {
			return nil
		}
		for i, at := range operands {
			if !has(at, all[len(own)+i]) {
				return nil
			}
		}
		gone = append(gone, operands...)
	default:
		return nil
	}
	at := len(line)
	if len(operands) > 0 {
		at = operands[0]
	}
	if len(gone) > 0 {
		at = slices.Min(gone)
	}
	var out []LineWord
	for i := range len(line) + 1 {
		if i == at {
			for _, text := range s.to.words {
				out = append(out, LineWord{At: -1, Text: text})
			}
		}
		if i < len(line) && !slices.Contains(gone, i) {
			out = append(out, line[i])
		}
	}
	words = words[:0]
	for _, w := range out {
		words = append(words, w.Text)
	}
	if again, ok := t.Line(program, words); !ok || again.Subcommand != s.to.sub {
		return nil // to this program they mean something else
	}
	return out
}
