package effects

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command after expansion.
type word struct {
	// text is the word's value, quoting removed; DynamicWord when it is not
	// known before the command runs.
	text string
	// shown is the word as it was typed, for dynamic ones.
	shown string
	// prefix is the literal text that a dynamic word begins with.
	prefix string
	// split is set when a dynamic word may become several words or none.
	split bool
	// glob is set when text is a pattern that the shell replaces by names.
	glob bool
	// tree is set when the word stands for every path below text (find's {}).
	tree bool
}

func (w *word) dynamic() bool { return w.text == DynamicWord }

// literalWord is a word whose value is known.
func literalWord(text string) word { return word{text: text} }

// show is the word as a person would type it.
func (w *word) show() string {
	switch {
	case w.dynamic(), w.tree:
		return w.shown
	case w.glob:
		return w.shown
	}
	return quoteWord(w.text)
}

// quoteWord quotes a word for a shell where it needs that.
func quoteWord(text string) string {
	if text == "" {
		return "''"
	}
	plain := true
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c >= 0x80:
		case strings.IndexByte("-_./=:,@%+", c) >= 0:
		case c == '^' || c == '{' || c == '}' || c == '~' && i > 0:
		default:
			plain = false
		}
	}
	if plain && !strings.Contains(text, "{") {
		return text
	}
	if plain && (text == "{}" || strings.Contains(text, "@{")) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// where says what a word is for, as expansions differ by place.
type where uint8

const (
	inCommand    where = iota // braces, tilde, globs and splitting
	inRedirect                // one word is expected
	inAssignment              // no braces, no globs, no splitting
)

// expand appends the words that a word of the text becomes, after adding the
// effects of its substitutions.
func (s *shell) expand(words []word, w *syntax.Word, at *scope, in input, place where) []word {
	if lit, ok := plainLiteral(w); ok {
		return append(words, word{text: lit})
	}
	s.substitutions(w, at, in)
	if unsafeExpansion(w) {
		s.unknown("an expansion that can run code or set a variable")
	}
	shown := s.source(w)
	if place == inAssignment || !hasBraces(w) {
		return append(words, s.value(w, shown, at))
	}
	before := len(words)
	if place == inRedirect || !flatBraces(w) {
		return append(words, word{text: DynamicWord, shown: shown, split: true})
	}
	syntax.SplitBraces(w)
	for part, err := range expand.BracesSeq(nil, w) {
		if err != nil || len(words) >= before+maxBraceWords {
			return append(words[:before], word{text: DynamicWord, shown: shown, split: true})
		}
		words = append(words, s.value(part, shown, at))
	}
	return words
}

// plainLiteral returns a word that no expansion touches.
func plainLiteral(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch part := w.Parts[0].(type) {
	case *syntax.Lit:
		if part.Value != "" && !strings.ContainsAny(part.Value, "\\{}*?[]~") {
			return part.Value, true
		}
	case *syntax.SglQuoted:
		if !part.Dollar {
			return part.Value, true
		}
	}
	return "", false
}

// hasBraces reports whether a brace expansion may be in the word.
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

// flatBraces reports whether the word's braces are balanced, not nested, few,
// and lists or sequences of a plain form, so that every shell reads them alike.
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

// value evaluates a word as far as it is known.
func (s *shell) value(w *syntax.Word, shown string, at *scope) word {
	out := word{shown: shown}
	var text strings.Builder
	dynamic := false
	stop := func(split bool) {
		if !dynamic {
			out.prefix = text.String()
		}
		dynamic = true
		out.split = out.split || split
	}
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			value := part.Value
			if i == 0 && strings.HasPrefix(value, "~") {
				rest, ok := s.tilde(value, len(w.Parts) == 1, &text)
				if !ok {
					stop(false)
				}
				value = rest
			}
			if strings.Contains(value, "=~") || strings.Contains(value, ":~") {
				// bash expands a tilde there in words that look like assignments.
				stop(false)
			}
			if strings.ContainsAny(value, "*?[") && hasGlob(value, len(w.Parts) > 1) {
				out.glob = true
			}
			unescape(&text, value)
		case *syntax.SglQuoted:
			if !part.Dollar {
				text.WriteString(part.Value)
			} else if value, ok := ansiC(part.Value); ok {
				text.WriteString(value)
			} else {
				stop(false)
			}
		case *syntax.DblQuoted:
			if part.Dollar {
				stop(false)
			}
			for _, inner := range part.Parts {
				switch inner := inner.(type) {
				case *syntax.Lit:
					unescapeQuoted(&text, inner.Value, "$`\"\\")
				case *syntax.ParamExp:
					if value, ok := s.variable(inner, at); ok {
						text.WriteString(value)
					} else {
						// "$@" and "${a[@]}" become any number of words.
						stop(manyWords(inner))
					}
				case *syntax.CmdSubst:
					if value, ok := s.printed(inner, at); ok {
						text.WriteString(value)
					} else {
						stop(false)
					}
				default:
					stop(false)
				}
			}
		case *syntax.ParamExp:
			value, ok := s.variable(part, at)
			if ok && !s.assigned["IFS"] && !strings.ContainsAny(value, " \t\n*?[\\") && value != "" {
				text.WriteString(value)
			} else {
				stop(true)
			}
		case *syntax.ArithmExp:
			// A number: one word, unless IFS has digits in it.
			stop(s.assigned["IFS"])
		case *syntax.ExtGlob:
			// In zsh *(e:'…':) runs code.
			stop(true)
		case *syntax.ProcSubst:
			stop(false)
		default:
			stop(true)
		}
	}
	out.text = text.String()
	if dynamic || strings.ContainsRune(out.text, 0) {
		out.text = DynamicWord
		if out.glob {
			out.split = true
		}
	}
	return out
}

// tilde expands a leading ~ and returns what follows it.
func (s *shell) tilde(value string, whole bool, text *strings.Builder) (string, bool) {
	home := s.b.c.User.Home
	if home == "" || s.assigned["HOME"] {
		return value, false
	}
	switch {
	case strings.HasPrefix(value, "~/"), value == "~" && whole:
		text.WriteString(home)
		return value[1:], true
	}
	return value, false
}

// hasGlob reports whether an unquoted literal has a pattern character that no
// backslash takes the meaning of. In a word of several parts the end of a
// bracket may be in another one.
func hasGlob(value string, parts bool) bool {
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '[':
			if parts || strings.IndexByte(value[i:], ']') > 0 {
				return true
			}
		}
	}
	return false
}

// unescape removes the backslashes of an unquoted literal.
func unescape(text *strings.Builder, value string) {
	if strings.IndexByte(value, '\\') < 0 {
		text.WriteString(value)
		return
	}
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			i++
			if value[i] == '\n' {
				continue
			}
		}
		text.WriteByte(value[i])
	}
}

// unescapeQuoted removes the backslashes of a literal in double quotes or a
// here-document: only those before one of the special characters.
func unescapeQuoted(text *strings.Builder, value, special string) {
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			next := value[i+1]
			if next == '\n' {
				i++
				continue
			}
			if strings.IndexByte(special, next) >= 0 {
				i++
			}
		}
		text.WriteByte(value[i])
	}
}

// knownVariables are those whose value in the person's shell is known.
var knownVariables = map[string]bool{
	"HOME": true, "USER": true, "LOGNAME": true, "TMPDIR": true,
	"XDG_CONFIG_HOME": true, "XDG_DATA_HOME": true, "XDG_STATE_HOME": true,
	"XDG_CACHE_HOME": true, "XDG_RUNTIME_DIR": true,
}

// variable is the value of a plain parameter expansion, when it is known.
func (s *shell) variable(p *syntax.ParamExp, at *scope) (string, bool) {
	if p.Param == nil || !plainParam(p) || s.assigned[p.Param.Value] {
		return "", false
	}
	switch name := p.Param.Value; {
	case name == "PWD":
		return at.cwd, at.cwd != ""
	case name == "HOME":
		return s.b.c.User.Home, s.b.c.User.Home != ""
	case knownVariables[name]:
		value := s.b.c.User.Env[name]
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

// manyWords reports whether an expansion in double quotes may become several
// words or none.
func manyWords(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Names != 0 || p.Param.Value == "@" || p.Excl {
		return true
	}
	if w, ok := p.Index.(*syntax.Word); ok && w.Lit() == "@" {
		return true
	}
	// A default word may itself hold "$@".
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

// plainVariable reports whether a variable's name is of the kind that scripts
// use for their own loops and that no program reads from its environment.
func plainVariable(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	// zsh ties path, cdpath and the like to PATH and its kin.
	return name != "" && !strings.HasSuffix(name, "path") && name != "argv" && name != "prompt"
}
