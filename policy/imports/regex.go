package imports

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// Regular expressions that tools match against the text of a command. A list
// can only express the first words of a command, so these are derived from the
// words that an expression spells out.

// maxSpelled bounds the word sequences derived from one expression.
const maxSpelled = 64

// spelling is a prefix of the texts that an expression matches.
type spelling struct {
	text  string
	end   bool // the text ends there
	bound bool // the word ends there
	open  bool // anything may follow
	bad   bool // something follows that the text does not show
}

// commandRegexp returns the match of commands by a regular expression. anchored
// says that the tool itself matches from the beginning; wide that it also
// matches the whole line. fold ignores case.
func commandRegexp(src string, fold, wide, anchored bool) match {
	re, dropped := withoutLookaround(src)
	full := re
	if anchored {
		full = "^(?:" + re + ")"
	}
	flags := "(?s)"
	if fold {
		flags = "(?is)"
	}
	// With operators in the text, the expression is about more than one
	// command.
	wide = wide || strings.ContainsAny(strings.NewReplacer(`\s`, "", `$`, "", `|`, "").Replace(re), ";&<>`") ||
		strings.Contains(re, `\|`) || strings.Contains(re, `\$`)
	m := runs(flags+full, wide, nil, false)
	if m.untranslatable != nil {
		return m
	}
	if dropped {
		m.untranslatable = &untranslatable{NoPattern, "the expression looks ahead or behind, which permd's cannot", "write an entry for each command that you mean"}
		return m
	}
	parsed, err := syntax.Parse(full, syntax.Perl)
	if err != nil {
		return unreadable(runArea, err)
	}
	if matchesAll(full) {
		all := wholeArea(runArea)
		return all
	}
	start, list := anchorOf(parsed)
	if !start {
		m.narrow = "the expression may match in the middle; only commands that begin with it are covered"
	}
	var lines []string
	for _, s := range list {
		text := strings.TrimSpace(s.text)
		if s.bad || text == "" || strings.ContainsAny(text, "|&;<>()$`\"'\\*") {
			m.untranslatable = &untranslatable{NotWords, "the expression does not spell out a program with its words", "write an entry for each command that you mean"}
			return m
		}
		if !s.end {
			if !s.bound && !strings.HasSuffix(s.text, " ") && m.narrow == "" {
				m.narrow = "the expression ends within a word; only the word itself is covered"
			}
			text += " *"
		}
		for strings.Contains(text, "  ") {
			text = strings.ReplaceAll(text, "  ", " ")
		}
		if !slices.Contains(lines, text) {
			lines = append(lines, text)
		}
	}
	withLines := runs(flags+full, wide, lines, false)
	withLines.narrow = m.narrow
	return withLines
}

// matchesAll reports whether an expression matches every text.
func matchesAll(re string) bool {
	switch strings.TrimRight(strings.TrimLeft(strings.NewReplacer("(?:", "", ")", "", "(", "").Replace(re), "^"), "$") {
	case "", ".*", ".+", `[\s\S]*`, `[\s\S]+`, ".*?":
		return true
	}
	return false
}

// anchorOf derives the spellings of an expression from its syntax tree, and
// whether it is anchored at the beginning.
func anchorOf(re *syntax.Regexp) (anchored bool, list []spelling) {
	w := &speller{}
	list = w.walk(re, []spelling{{}})
	return w.anchored > 0 && !w.inside, list
}

type speller struct {
	anchored int
	inside   bool // an anchor follows other text, or is only in some branches
}

func (w *speller) walk(re *syntax.Regexp, in []spelling) []spelling {
	if len(in) > maxSpelled {
		return []spelling{{bad: true}}
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return in
	case syntax.OpLiteral:
		return each(in, func(s spelling) spelling { s.text += string(re.Rune); s.bound = false; return s })
	case syntax.OpCharClass:
		if isSpace(re) {
			return each(in, func(s spelling) spelling { s.text += " "; s.bound = false; return s })
		}
		var texts []string
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if texts = append(texts, string(r)); len(texts) > 4 {
					return bad(in)
				}
			}
		}
		var out []spelling
		for _, t := range texts {
			out = append(out, each(in, func(s spelling) spelling { s.text += t; s.bound = false; return s })...)
		}
		return out
	case syntax.OpCapture:
		return w.walk(re.Sub[0], in)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			in = w.walk(sub, in)
		}
		return in
	case syntax.OpAlternate:
		var out []spelling
		before, all := w.anchored, true
		for _, sub := range re.Sub {
			at := w.anchored
			out = append(out, w.walk(sub, slices.Clone(in))...)
			all = all && w.anchored > at
		}
		if w.anchored > before && !all {
			w.inside = true
		}
		return out
	case syntax.OpQuest:
		return append(slices.Clone(in), w.walk(re.Sub[0], slices.Clone(in))...)
	case syntax.OpPlus, syntax.OpStar:
		sub := re.Sub[0]
		switch {
		case isSpace(sub) && re.Op == syntax.OpPlus:
			return w.walk(sub, in)
		case isSpace(sub):
			return append(slices.Clone(in), w.walk(sub, slices.Clone(in))...)
		case sub.Op == syntax.OpAnyChar || sub.Op == syntax.OpAnyCharNotNL:
			return each(in, func(s spelling) spelling { s.open = true; return s })
		}
		return bad(in)
	case syntax.OpBeginText, syntax.OpBeginLine:
		for _, s := range in {
			w.inside = w.inside || s.text != ""
		}
		w.anchored++
		return in
	case syntax.OpEndText, syntax.OpEndLine:
		out := slices.Clone(in)
		for i := range out {
			if !out[i].open {
				out[i].end = true
			}
		}
		return out
	case syntax.OpWordBoundary:
		out := slices.Clone(in)
		for i := range out {
			// Only a boundary after a letter ends the word; other characters
			// that may follow (a dash, a dot) cannot be covered by a list.
			out[i].bound = true
		}
		return out
	}
	return bad(in)
}

// each continues the spellings; those with an open part before cannot be
// continued.
func each(in []spelling, f func(spelling) spelling) []spelling {
	out := make([]spelling, len(in))
	for i, s := range in {
		out[i] = f(s)
		out[i].bad = s.bad || s.open || s.end
	}
	return out
}

func bad(in []spelling) []spelling {
	out := slices.Clone(in)
	for i := range out {
		out[i].bad = true
	}
	return out
}

func isSpace(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral {
		return string(re.Rune) == " "
	}
	if re.Op != syntax.OpCharClass {
		return false
	}
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if r > ' ' {
				return false
			}
		}
	}
	return true
}

// withoutLookaround removes assertions that RE2 does not support from an
// expression. The rest matches at least as much. Back references become any
// text.
func withoutLookaround(src string) (string, bool) {
	var b strings.Builder
	dropped := false
	for i := 0; i < len(src); i++ {
		switch {
		case src[i] == '\\' && i+1 < len(src):
			switch {
			case src[i+1] >= '1' && src[i+1] <= '9':
				b.WriteString(`[\s\S]*`)
				dropped = true
			case src[i+1] == '/': // JavaScript escapes it
				b.WriteByte('/')
			default:
				b.WriteString(src[i : i+2])
			}
			i++
		case src[i] == '[':
			end := classEnd(src, i)
			b.WriteString(src[i:end])
			i = end - 1
		case hasAny(src[i:], "(?=", "(?!", "(?<=", "(?<!"):
			end := groupEnd(src, i)
			if end < 0 {
				return src, dropped
			}
			dropped = true
			b.WriteString("(?:)")
			i = end - 1
		default:
			b.WriteByte(src[i])
		}
	}
	return b.String(), dropped
}

func hasAny(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

func classEnd(src string, i int) int {
	j := i + 1
	if j < len(src) && src[j] == '^' {
		j++
	}
	for first := j; j < len(src); j++ {
		if src[j] == '\\' {
			j++
		} else if src[j] == ']' && j > first {
			return j + 1
		}
	}
	return len(src)
}

func groupEnd(src string, i int) int {
	depth := 0
	for ; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '[':
			i = classEnd(src, i) - 1
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
