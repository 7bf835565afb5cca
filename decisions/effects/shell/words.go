package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/runs"
	"github.com/permd/permd/internal/chars"
)

// wordContext is the context of a word, on which expansions depend.
type wordContext uint8

const (
	inCommand    wordContext = iota // braces, tilde, globs and splitting
	inRedirect                      // one word is expected
	inAssignment                    // no braces, no globs, no splitting
)

// expand appends the expansion of a word, after adding the effects of its
// substitutions.
func (s *walker) expand(words []effects.Word, w *syntax.Word, at *scope, in runs.Input, place wordContext) []effects.Word {
	if lit, ok := plainLiteral(w); ok {
		return append(words, effects.Word{Text: lit})
	}
	return s.expandParts(words, w, at, in, place)
}

// expandParts is expand for the words, about one in three, that contain something to
// expand.
func (s *walker) expandParts(words []effects.Word, w *syntax.Word, at *scope, in runs.Input, place wordContext) []effects.Word {
	s.substitutions(w, at, in)
	if s.unsafeExpansion(w, at) {
		s.unknown("an expansion that can run code or set a variable")
		s.setAny()
	}
	if place == inCommand && len(words) == 0 {
		if split := s.splitName(w, at); len(split) > 0 {
			return append(words, split...)
		}
	}
	if place == inCommand && len(words) > 0 {
		if name, ok := s.nameOf(w, at); ok {
			return append(words, name)
		}
	}
	shown := s.source(w)
	if place == inAssignment || !hasBraces(w) {
		return append(words, s.value(w, shown, at))
	}
	before := len(words)
	if place == inRedirect || s.b.Braces >= maxAllBraces/maxBraceWords*braceLimit(s.b) || !flatBraces(w) {
		s.boundHit = s.boundHit || s.b.Braces >= maxAllBraces/maxBraceWords*braceLimit(s.b)
		return append(words, effects.Word{Text: effects.DynamicWord, Shown: shown, Split: true})
	}
	w = &syntax.Word{Parts: slices.Clone(w.Parts)} // the body of a loop is walked again
	syntax.SplitBraces(w)
	for part, err := range expand.BracesSeq(nil, w) {
		if err != nil || len(words) >= before+braceLimit(s.b) {
			s.boundHit = true
			return append(words[:before], effects.Word{Text: effects.DynamicWord, Shown: shown, Split: true})
		}
		words = append(words, s.value(part, shown, at))
	}
	s.b.Braces += len(words) - before
	return words
}

// plainLiteral returns the text of a word without expansions.
func plainLiteral(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch part := w.Parts[0].(type) {
	case *syntax.Lit:
		if part.Value != "" && part.Value[0] != '=' && !strings.ContainsAny(part.Value, "\\{}*?[]~") {
			return part.Value, true
		}
	case *syntax.SglQuoted:
		if !part.Dollar {
			return part.Value, true
		}
	}
	return "", false
}

// hasBraces reports whether the word may contain a brace expansion.
func hasBraces(w *syntax.Word) bool {
	open, separates := false, false
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			open = open || strings.Contains(lit.Value, "{")
			separates = separates || strings.Contains(lit.Value, ",") || strings.Contains(lit.Value, "..")
		}
	}
	return open && separates
}

// flatBraces reports whether the word's braces are balanced, not nested, few, and plain
// lists or sequences, so that every shell reads them alike.
func flatBraces(w *syntax.Word) bool {
	groups, inside := 0, false
	comma, dots := false, false
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			if inside {
				return false
			}
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			switch c := lit.Value[i]; {
			case c == '\\':
				return false
			case c == '{':
				if groups++; inside || groups > 4 {
					return false
				}
				inside, comma, dots = true, false, false
			case c == '}':
				if !inside || comma == dots {
					return false
				}
				inside = false
			case c == ',':
				comma = true
			case c == '.' && strings.HasPrefix(lit.Value[i:], ".."):
				dots = true
			}
		}
	}
	return !inside
}

// value evaluates a word as far as its value is known.
func (s *walker) value(w *syntax.Word, shown string, at *scope) effects.Word {
	v := wordValue{out: effects.Word{Shown: shown}}
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			s.literal(&v, part.Value, i == 0, len(w.Parts) == 1, at)
		case *syntax.SglQuoted:
			if !part.Dollar {
				v.text.WriteString(part.Value)
			} else if value, ok := ansiC(part.Value); ok {
				v.text.WriteString(value)
			} else {
				v.stop(false)
			}
		case *syntax.DblQuoted:
			s.quoted(&v, part, at)
		case *syntax.ParamExp:
			value, ok := s.variable(part, at)
			s.unquoted(&v, value, ok && !hasZshModifier(w.Parts, i))
		case *syntax.CmdSubst:
			value, ok := s.catHereDocument(part, at)
			s.unquoted(&v, value, ok)
		case *syntax.ArithmExp:
			// A number: one word, unless IFS contains digits.
			if n, ok := s.calculate(part, at); ok && !s.maySet("IFS") {
				v.text.WriteString(n)
			} else {
				v.stop(s.maySet("IFS"))
			}
		case *syntax.ExtGlob:
			// In zsh *(e:'…':) runs code.
			v.stop(true)
		case *syntax.ProcSubst:
			if v.stop(false); len(w.Parts) == 1 && part.Op == syntax.CmdIn {
				v.out.Pipe, v.out.Prefix = true, "/"
			}
		default:
			v.stop(true)
		}
	}
	out := v.out
	out.Text = v.text.String()
	if v.dynamic || strings.ContainsRune(out.Text, 0) {
		out.Text = effects.DynamicWord
		out.Guess = s.guess(w, at)
		if out.Glob {
			out.Split = true
		}
	}
	return out
}

// wordValue is a partly evaluated word. It contains no scope, so that scopes need not be
// allocated.
type wordValue struct {
	out     effects.Word
	text    strings.Builder
	dynamic bool // its text is not known
}

// stop records that the rest of the word is not known, and whether it may be split.
func (v *wordValue) stop(split bool) {
	if !v.dynamic {
		v.out.Prefix = v.text.String()
	}
	v.dynamic = true
	v.out.Split = v.out.Split || split
}

// literal adds unquoted text. first is set if it begins the word, all if it is the whole.
func (s *walker) literal(v *wordValue, value string, first, all bool, at *scope) {
	if first && strings.HasPrefix(value, "~") {
		rest, ok := s.tilde(value, all, &v.text)
		if !ok {
			v.stop(false)
		}
		value = rest
	}
	if first && len(value) > 1 && value[0] == '=' && (chars.IsLetter(value[1]) || value[1] == '.' || value[1] == '_') {
		v.stop(false) // zsh inserts the path of a program
	}
	if strings.Contains(value, "=~") || strings.Contains(value, ":~") {
		// There bash expands a tilde in words that look like assignments.
		v.stop(false)
	}
	if strings.ContainsAny(value, "*?[") && hasGlob(value, !all) {
		v.out.Glob, v.out.Dir = true, at.cwd()
	}
	unescape(&v.text, value)
}

// quoted adds the text in double quotes.
func (s *walker) quoted(v *wordValue, q *syntax.DblQuoted, at *scope) {
	if q.Dollar {
		v.stop(false)
	}
	for i, part := range q.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			unescapeQuoted(&v.text, part.Value, "$`\"\\")
		case *syntax.ParamExp:
			if value, ok := s.variable(part, at); ok && !hasZshModifier(q.Parts, i) {
				v.text.WriteString(value)
			} else {
				// "$@" and "${a[@]}" expand to any number of words.
				v.stop(manyWords(part))
			}
		case *syntax.CmdSubst:
			if value, ok := s.catHereDocument(part, at); ok {
				v.text.WriteString(value)
			} else {
				v.stop(false)
			}
		case *syntax.ArithmExp:
			if n, ok := s.calculate(part, at); ok {
				v.text.WriteString(n)
			} else {
				v.stop(false)
			}
		default:
			v.stop(false)
		}
	}
}

// unquoted adds the value of an unquoted expansion, if it is known and one word.
func (s *walker) unquoted(v *wordValue, value string, known bool) {
	if known && !s.maySet("IFS") && !strings.ContainsAny(value, " \t\n*?[\\") && value != "" {
		v.text.WriteString(value)
	} else {
		v.stop(true)
	}
}

// hasZshModifier reports whether zsh takes what follows an expansion without braces for a
// modifier ($f:h, $f:s/a/b/) or a subscript ($f[2,-1]).
func hasZshModifier(parts []syntax.WordPart, i int) bool {
	p, ok := parts[i].(*syntax.ParamExp)
	if !ok || !p.Short || i+1 >= len(parts) {
		return false
	}
	lit, ok := parts[i+1].(*syntax.Lit)
	if !ok || lit.Value == "" {
		return false
	}
	return lit.Value[0] == '[' || len(lit.Value) > 1 && lit.Value[0] == ':' && (chars.IsLetter(lit.Value[1]) || lit.Value[1] == '&')
}

// knownVariables are those whose value in the person's shell is known.
var knownVariables = map[string]bool{
	"HOME": true, "USER": true, "LOGNAME": true, "TMPDIR": true,
	"XDG_CONFIG_HOME": true, "XDG_DATA_HOME": true, "XDG_STATE_HOME": true,
	"XDG_CACHE_HOME": true, "XDG_RUNTIME_DIR": true,
}

// variable returns the value of a plain parameter expansion, if it is known.
func (s *walker) variable(p *syntax.ParamExp, at *scope) (string, bool) {
	if p.Param == nil || !plainParam(p) {
		return "", false
	}
	if value, ok := at.valueOf(p.Param.Value); ok && !s.anyAssigned {
		return value, true
	}
	if s.maySet(p.Param.Value) {
		return "", false
	}
	switch name := p.Param.Value; {
	case name == "PWD":
		cwd := at.cwd()
		return cwd, cwd != ""
	case name == "HOME":
		return s.b.Call.User.Home, s.b.Call.User.Home != ""
	case knownVariables[name]:
		value := s.b.Call.User.Env[name]
		return value, value != ""
	}
	return "", false
}

// plainParam reports whether an expansion is $name or ${name}.
func plainParam(p *syntax.ParamExp) bool {
	return p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet &&
		p.Split == syntax.OptUnset && p.GlobSubst == syntax.OptUnset && p.RcExpand == syntax.OptUnset &&
		p.NestedParam == nil && p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil &&
		p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// manyWords reports whether an expansion in double quotes may become several words or
// none.
func manyWords(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Names != 0 || p.Param.Value == "@" || p.Excl {
		return true
	}
	if w, ok := p.Index.(*syntax.Word); ok && w.Lit() == "@" {
		return true
	}
	// A default word may itself contain "$@".
	return p.Exp != nil && p.Exp.Word != nil && len(p.Exp.Word.Parts) > 0 && !onlyLiterals(p.Exp.Word)
}

func onlyLiterals(w *syntax.Word) bool {
	for _, part := range w.Parts {
		if _, ok := part.(*syntax.Lit); !ok {
			return false
		}
	}
	return true
}

// plainVariable reports whether a variable's name is of a kind that scripts use for
// themselves and that no program reads from its environment.
func plainVariable(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	// Many programs read http_proxy and similar, npm everything that begins with npm_.
	return ordinaryVariable(name) && !strings.HasSuffix(name, "_proxy") && !strings.HasPrefix(name, "npm_") &&
		!strings.HasPrefix(name, "pnpm_") && !strings.HasPrefix(name, "yarn_") && !strings.HasPrefix(name, "rvm_")
}
