package list

import (
	"fmt"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// pathField returns the member of the effect that a path line is compared with
// and the prefix of its text.
func pathField(p *pattern.Path) (ref, start string) {
	switch p.Base {
	case pattern.Home:
		return "input.effect.home_path", ""
	case pattern.Project:
		return "input.effect.project_path", ""
	case pattern.Root:
	}
	return "input.effect.path", "/"
}

// allowPath writes the rules of an allowing path entry. A recursive effect is
// covered only by a line that ends with **; a delete may name the folder.
func (g *generator) allowPath(kind effects.Kind, p *pattern.Path) {
	b := body{kindIs(kind)}
	if !p.Deep() && (kind != effects.KindDelete || !p.Literal()) {
		b = b.with("input.effect.recursive == false")
	}
	head := g.head
	if p.Literal() {
		head = g.exact
	}
	for _, test := range pathIs(p) {
		g.ruleAs(head, b.with(test...))
	}
}

// touchPath writes the rules of a denying or asking path entry: for the paths
// it names, and for recursive effects on anything above them.
func (g *generator) touchPath(kind effects.Kind, p *pattern.Path) {
	b := body{kindIs(kind)}
	for _, test := range pathIs(p) {
		g.rule(b.with(test...))
	}
	b = b.with("input.effect.recursive == true")
	for _, above := range pathsAbove(p) {
		for _, test := range pathIs(above) {
			g.rule(b.with(test...))
		}
	}
	root := ""
	switch p.Base {
	case pattern.Root:
		g.rule(b.with(is("input.effect.path", "/")))
		return
	case pattern.Home:
		root = "input.user.home"
	case pattern.Project:
		root = "input.project.root"
	}
	g.rule(b.with(
		root+` != ""`,
		fmt.Sprintf(`startswith(concat("", [%s, "/"]), concat("", [trim_suffix(input.effect.path, "/"), "/"]))`, root),
	))
}

// pathsAbove returns lines for the folders that may contain a path the line
// names: each prefix of the line up to its first **, and everything below from
// there on.
func pathsAbove(p *pattern.Path) []*pattern.Path {
	var above []*pattern.Path
	for i, part := range p.Parts {
		last := i == len(p.Parts)-1
		if part == nil {
			if !last {
				above = append(above, &pattern.Path{Base: p.Base, Parts: p.Parts[:i+1]})
			}
			break
		}
		if !last {
			above = append(above, &pattern.Path{Base: p.Base, Parts: p.Parts[:i+1]})
		}
	}
	return above
}

// pathIs returns tests, one of which is true if a path is named by a line.
func pathIs(p *pattern.Path) []body {
	ref, start := pathField(p)
	literal := make([]string, 0, len(p.Parts))
	for _, part := range p.Parts {
		lit, ok := part.Literal()
		if !ok {
			break
		}
		literal = append(literal, lit)
	}
	prefix := start + strings.Join(literal, "/")
	switch {
	case len(literal) == len(p.Parts):
		return []body{{is(ref, prefix)}}
	case len(literal) == len(p.Parts)-1 && p.Deep() && len(literal) == 0:
		return []body{{fmt.Sprintf("startswith(%s, %q)", ref, start)}}
	case len(literal) == len(p.Parts)-1 && p.Deep():
		return []body{{is(ref, prefix)}, {begins(ref, prefix+"/")}}
	}
	// The folder itself is "." or "" and has no components.
	b := body{ref + ` != "."`}
	if guard := guardOf(p, prefix, len(literal)); guard != "" {
		b = body{begins(ref, guard), b[0]}
	}
	return []body{b.with(matches(ref, start+pathRegexp(p.Parts)))}
}

// guardOf returns the text that each path named by the line begins with, as far
// as it is certain: the literal components and the beginning of the next one.
func guardOf(p *pattern.Path, prefix string, n int) string {
	next := p.Parts[n]
	if n > 0 && (next != nil || n < len(p.Parts)-1) {
		prefix += "/"
	}
	if next != nil {
		prefix += next.Prefix()
	}
	return prefix
}

// pathRegexp returns a regular expression for the components of a line.
func pathRegexp(parts []pattern.Glob) string {
	var re strings.Builder
	for i, part := range parts {
		last := i == len(parts)-1
		switch {
		case part == nil && last && i == 0:
			re.WriteString(".*")
		case part == nil && last:
			re.WriteString("(?:/.*)?")
		case part == nil:
			re.WriteString("(?:[^/]+/)*")
		default:
			if len(part) == 2 && part[0] == "" && part[1] == "" {
				re.WriteString("[^/]+")
			} else {
				re.WriteString(part.Regexp("[^/]*"))
			}
			if next := i + 1; !last && (parts[next] != nil || next != len(parts)-1) {
				re.WriteString("/")
			}
		}
	}
	return re.String()
}
