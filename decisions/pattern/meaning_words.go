package pattern

import (
	"regexp"
	"strings"
)

// maxBundle is the maximum number of letters in a word of bundled options;
// longer ones are names (-verbose).
const maxBundle = 3

// byWords returns the meaning of a line about a program with unknown options,
// nil if there is nothing to add to its words. Further options may be anywhere
// among the words of a run, each perhaps with a value; those of the line must
// be present, in any order, and so must its operands, in their order. A word
// right after an option may be its value, so its position means nothing.
func (r *Run) byWords(known bool) *Meaning {
	spoken := r.givenWords()
	if r.Rest && len(spoken) == 0 {
		return nil
	}
	s := &Meaning{Rest: r.Rest, Order: "(?s)^" + anyOption}
	valued := false // the word before is an option without a value
	for _, g := range spoken {
		word, literal := g.Literal()
		switch {
		case word == "--":
			valued = false
		case strings.HasPrefix(g.Prefix(), "-") && (!literal || len(word) > 1):
			name, value, attached := strings.Cut(word, "=")
			valued = !attached && literal
			switch {
			case !literal:
				s.Texts = append(s.Texts, `(?s)\x00`+g.Regexp(anyInWord)+wordEnd)
			case !known && bundle(name):
				for _, letter := range name[1:] {
					s.Texts = append(s.Texts, `(?s)\x00-(?:[^-\x00]`+anyInWord+")?"+regexp.QuoteMeta(string(letter)))
				}
			default:
				s.Texts = append(s.Texts, `(?s)\x00`+regexp.QuoteMeta(name)+"(?:="+anyInWord+")?"+wordEnd)
				if len(name) > len(s.Option) {
					s.Option = name
				}
			}
			if attached {
				s.value(value, Glob{value})
			}
		case valued:
			valued = false
			s.Order += `(?:\x00` + g.Regexp(anyInWord) + anyOption + ")?"
			s.value(word, g)
		default:
			s.Operands = append(s.Operands, g)
			s.Order += `\x00` + g.Regexp(anyInWord) + anyOption
		}
	}
	s.Order += r.orderEnd()
	return s.compile()
}

func (s *Meaning) value(literal string, g Glob) {
	s.Texts = append(s.Texts, valueText(g.Regexp(anyInWord)))
	if literal != "" {
		s.Values = append(s.Values, literal)
	}
}

// bundle reports whether an option may be several letters in one word.
func bundle(name string) bool {
	return !strings.HasPrefix(name, "--") && len(name)-1 <= maxBundle
}
