package toolschema

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// patterns compiles the regular expressions of one schema. Those of JSON Schema
// are ECMAScript's; permd matches with RE2, in linear time. A pattern that is none
// in RE2, or that would mean something else there, cannot be checked.
type patterns struct {
	size   int
	failed error // the first
}

// program is a pattern with its size.
type program struct {
	*regexp.Regexp
	size int
}

func (p *patterns) compile(s string) (jsonschema.Regexp, error) {
	re, err := compilePattern(s)
	if err == nil {
		if p.size += re.size; p.size > maxPrograms {
			err = unchecked("its patterns are too large")
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
	foreign := unchecked("it has a pattern that RE2 does not have")
	switch {
	case len(s) > maxPattern:
		return nil, unchecked("it has a pattern that is longer than %d bytes", maxPattern)
	case !common(s):
		return nil, foreign
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, foreign
	}
	size := sizeOf(tree)
	if size > maxProgram {
		return nil, unchecked("it has a pattern that is too large")
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, foreign
	}
	return &program{re, size}, nil
}

// sizeOf is about how many instructions a pattern becomes: what is repeated is
// there as often as it may be.
func sizeOf(re *syntax.Regexp) int {
	n := 2
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 16
	}
	for _, sub := range re.Sub {
		n += sizeOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return min(n, maxProgram+1)
}

// common reports whether a pattern is written with what ECMAScript and RE2 have in
// common, as far as RE2 would take it for something else instead of refusing it.
func common(s string) bool {
	const escapes = "dDwWsSbBnrtfvxpP" // letters that mean the same in both
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
				return false // a class by name
			}
			class = c != ']'
		case c == '[':
			class = true
			if strings.HasPrefix(rest, "]") || strings.HasPrefix(rest, "^]") {
				return false // it is empty, or everything
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
