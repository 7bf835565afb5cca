package imports

import (
	"errors"
	"regexp"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/lexpath"
)

// Ways to write a path in a rule of a tool.

// paths returns the match of files of these kinds by list lines, with regular
// expressions for what a list cannot express.
func paths(a area, kinds []effects.Kind, lines []string, tests []pathTest, exact bool) match {
	m := match{area: a, exact: exact}
	for _, l := range lines {
		for _, k := range kinds {
			m.lines = append(m.lines, line{k, l})
		}
	}
	var compiled []*regexp.Regexp
	for _, p := range tests {
		re, err := regexp.Compile(p.re)
		if err != nil {
			return unreadable(a, err)
		}
		compiled = append(compiled, re)
		for _, k := range kinds {
			m.bodies = append(m.bodies, body(kindIs(k), regoText(p.re, "input.effect."+p.field)))
		}
	}
	m.decides = func(i *Item) bool {
		if i.area != a && (a != editArea || i.area != deleteArea) {
			return false
		}
		for n, p := range tests {
			if s, ok := p.of(i); ok && compiled[n].MatchString(s) {
				return true
			}
		}
		return false
	}
	return m
}

// pathTest tests one form of a path.
type pathTest struct {
	field string // path, project_path, home_path or given
	re    string
}

func (p pathTest) of(i *Item) (string, bool) {
	var root string
	switch p.field {
	case "project_path":
		root = i.project
	case "home_path":
		root = i.home
	default:
		return i.path, true
	}
	return lexpath.RelBelow(root, i.path)
}

// pathGlob makes lines and tests of a glob relative to a base: "/", "~/" or
// "./". In it ** matches any number of folders; star is what one * matches.
func pathGlob(base pattern.Base, glob, star string) (lines []string, tests []pathTest, err error) {
	field := map[pattern.Base]string{pattern.Root: "path", pattern.Home: "home_path", pattern.Project: "project_path"}[base]
	re := "(?s)^" + pathRegexp(glob, star) + "$"
	if base == pattern.Root {
		re = "(?s)^/" + pathRegexp(glob, star) + "$"
	}
	tests = []pathTest{{field, re}}
	text := string(base) + glob
	if strings.ContainsAny(glob, "?[]{}\\") {
		return nil, tests, errors.New("a list has no ?, […] or {…}")
	}
	if _, err := pattern.Parse(effects.KindRead, text); err != nil {
		if e, ok := errors.AsType[*pattern.Error](err); ok {
			return nil, tests, errors.New(e.Reason)
		}
		return nil, tests, err
	}
	return []string{text}, tests, nil
}

// pathRegexp returns a regular expression for a glob of paths. A character
// class that cannot be read matches any character.
func pathRegexp(glob, star string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case strings.HasPrefix(glob[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(glob[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString(star)
		case c == '?':
			b.WriteString("[^/]")
		case c == '[':
			end := strings.IndexByte(glob[i+1:], ']')
			if end <= 0 {
				b.WriteString("[^/]")
				continue
			}
			b.WriteString(class(glob[i+1 : i+1+end]))
			i += end + 1
		case c == '{' && strings.Contains(glob[i:], "}"):
			depth++
			b.WriteString("(?:")
		case c == '}' && depth > 0:
			depth--
			b.WriteString(")")
		case c == ',' && depth > 0:
			b.WriteString("|")
		case c == '\\' && i+1 < len(glob):
			i++
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		case c >= 0x80:
			b.WriteByte(c)
		default:
			b.WriteString(regexp.QuoteMeta(string(rune(c))))
		}
	}
	b.WriteString(strings.Repeat(")", depth))
	return b.String()
}

func class(set string) string {
	if rest, ok := strings.CutPrefix(set, "!"); ok {
		set = "^/" + rest
	}
	re := "[" + strings.ReplaceAll(strings.ReplaceAll(set, `\`, `\\`), "[", `\[`) + "]"
	if _, err := regexp.Compile(re); err != nil {
		return "[^/]"
	}
	return re
}
