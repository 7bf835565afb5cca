package targets

import (
	"strings"

	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/wordset"
)

// What make expands in a text.

var (
	makeReference = lazy.Regexp(`^(?:[A-Za-z_][A-Za-z0-9_.-]*|[@<^+?*%|][DF]?)(?::[A-Za-z0-9_.%/+-]*=[A-Za-z0-9_.%/+-]*)?$`)
	// makeShell are commands whose output depends on no file that anybody but git writes.
	makeShell = lazy.Regexp(`^shell (?:uname(?: -[a-z]+)?|nproc|pwd|date(?: -u)?(?: '?\+[A-Za-z0-9%:_-]+'?)?|git rev-parse(?: --short(?:=\d+)?)? HEAD)(?: 2>[ ]?/dev/null)?$`)
	textOnly  = wordset.Fields(`subst patsubst strip findstring filter filter-out sort word wordlist words firstword lastword dir notdir suffix basename addsuffix addprefix join if or and info warning error foreach abspath`)
)

// literal returns a text with its variables put in, false if one has no literal value.
func (m *makefile) literal(text string) (string, bool) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String(), !strings.ContainsAny(b.String(), "#\\")
		}
		if rest == "" || rest[0] != '(' && rest[0] != '{' {
			return "", false
		}
		end := strings.IndexAny(rest, ")}")
		if end < 0 {
			return "", false
		}
		name, suffixes, replaced := strings.Cut(rest[1:end], ":")
		value, ok := m.values[name]
		if !ok {
			return "", false
		}
		if replaced {
			from, to, ok := strings.Cut(suffixes, "=")
			from, to = strings.TrimPrefix(from, "%"), strings.TrimPrefix(to, "%")
			if !ok || strings.Contains(from+to, "%") {
				return "", false
			}
			words := strings.Fields(value)
			for i, w := range words {
				if stem, ok := strings.CutSuffix(w, from); ok {
					words[i] = stem + to
				}
			}
			value = strings.Join(words, " ")
		}
		b.WriteString(value)
		text = rest[end+1:]
	}
}

// checkText checks that a text that make expands has no function but those of text alone.
func (m *makefile) checkText(text string) {
	if !plainExpansions(text) {
		m.notPlain("it has a function that may read more: " + clipped(text))
	}
}

// plainExpansions reports whether all that make expands in a text are variables, and
// functions that know nothing but their arguments.
func plainExpansions(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		if i++; i == len(text) {
			return false
		}
		switch open := text[i]; open {
		case '(', '{':
			shut := byte(')')
			if open == '{' {
				shut = '}'
			}
			depth, from := 1, i+1
			for i++; i < len(text); i++ {
				if text[i] == open {
					depth++
				} else if text[i] == shut {
					if depth--; depth == 0 {
						break
					}
				}
			}
			if i == len(text) || !plainReference(text[from:i]) {
				return false
			}
		case ' ', '\t':
			return false
		}
	}
	return true
}

func plainReference(inner string) bool {
	if makeReference().MatchString(inner) || makeShell().MatchString(inner) {
		return true
	}
	name, arguments, ok := strings.Cut(inner, " ")
	return ok && textOnly.Has(name) && plainExpansions(arguments)
}
