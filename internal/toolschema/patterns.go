package toolschema

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// patterns compiles the regular expressions of a schema. JSON Schema uses ECMAScript's;
// permd uses RE2, which matches in linear time. A pattern that RE2 rejects or interprets
// differently cannot be checked.
type patterns struct {
	size   int
	failed error // the first error
}

// program is a compiled pattern with its size.
type program struct {
	*regexp.Regexp
	size int
}

func (p *patterns) compile(s string) (jsonschema.Regexp, error) {
	re, err := compilePattern(s)
	if err == nil {
		if p.size += re.size; p.size > maxPrograms {
			err = uncheckedf("its patterns are too large")
		}
	}
	if err != nil {
		if p.failed == nil {
			p.failed = err
		}
		return nil, err
	}
	return re, nil
}

func compilePattern(s string) (*program, error) {
	foreign := uncheckedf("it has a pattern that RE2 does not have")
	switch {
	case len(s) > maxPattern:
		return nil, uncheckedf("it has a pattern that is longer than %d bytes", maxPattern)
	case !portable(s):
		return nil, foreign
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, foreign
	}
	size := instructionCount(tree)
	if size > maxProgram {
		return nil, uncheckedf("it has a pattern that is too large")
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, foreign
	}
	return &program{re, size}, nil
}

// instructionCount approximates the number of instructions that a pattern compiles to. A
// repeated part counts once for each repetition.
func instructionCount(re *syntax.Regexp) int {
	n := 2
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 16
	}
	for _, sub := range re.Sub {
		n += instructionCount(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return min(n, maxProgram+1)
}

// portable reports whether a pattern avoids the syntax that RE2 accepts with another
// meaning than in ECMAScript.
func portable(s string) bool {
	const escapes = "dDwWsSbBnrtfvxpP" // letters whose escapes mean the same in both
	class := false
	for i := 0; i < len(s); i++ {
		rest := s[i+1:]
		switch c := s[i]; {
		case c == '\\':
			if rest == "" {
				return false
			}
			e := rest[0]
			letter := e >= '0' && e <= '9' || e >= 'a' && e <= 'z' || e >= 'A' && e <= 'Z'
			if letter && !strings.ContainsRune(escapes, rune(e)) ||
				e == 'x' && strings.HasPrefix(rest, "x{") ||
				(e == 'p' || e == 'P') && !strings.HasPrefix(rest[1:], "{") {
				return false
			}
			i++
		case class:
			if c == '[' && rest != "" && rest[0] == ':' {
				return false // a named class
			}
			class = c != ']'
		case c == '[':
			class = true
			if strings.HasPrefix(rest, "]") || strings.HasPrefix(rest, "^]") {
				return false // an empty class: nothing in one, everything in the other
			}
		case c == '(' && strings.HasPrefix(rest, "?"):
			named := len(rest) > 2 && rest[1] == '<' && rest[2] != '=' && rest[2] != '!'
			if !named && !strings.HasPrefix(rest, "?:") {
				return false
			}
		}
	}
	return true
}
