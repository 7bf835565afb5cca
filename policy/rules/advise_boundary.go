package rules

import (
	"regexp/syntax"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/diag"
)

// boundaries finds tests in allow rules that others can satisfy by choosing a
// name: endswith(host, "example.com") is true of evilexample.com. A deny or an
// ask that matches too much is no danger.
func (l *adviser) boundaries(c *Layer) {
	b := &boundary{adviser: l, compiled: c, seen: map[*ast.Rule]bool{}}
	for _, r := range c.compiler.GetRulesExact(firedRef(c.Name)) {
		n, ok := numberOf(r)
		if ok && n < len(c.rules) && c.rules[n].set == decisions.SetAllow && !isListed(c.rules[n].ast) {
			b.rule(r)
		}
	}
}

type boundary struct {
	adviser  *adviser
	compiled *Layer
	seen     map[*ast.Rule]bool
}

// rule checks a rule and the helpers that it uses.
func (b *boundary) rule(r *ast.Rule) {
	if b.seen[r] {
		return
	}
	b.seen[r] = true
	for _, e := range inlineVariables(r.Body) {
		if e.Negated {
			continue // under negation the danger is reversed
		}
		eachCall(&ast.Rule{Head: &ast.Head{}, Body: ast.Body{e}}, func(loc *ast.Location, op string, args []*ast.Term) { b.call(loc, op, args) })
		ast.WalkRefs(e, func(ref ast.Ref) bool {
			if ref[0].Equal(ast.DefaultRootDocument) {
				for _, helper := range b.compiled.compiler.GetRules(ref.GroundPrefix()) {
					b.rule(helper)
				}
			}
			return false
		})
	}
}

// kindOfField classifies the fields whose beginning or end somebody else
// chooses.
func kindOfField(field string) string {
	switch field {
	case "host", "url":
		return field
	case "path", "given", "project_path", "home_path", "cwd", "executable":
		return "path"
	}
	return ""
}

func (b *boundary) call(loc *ast.Location, op string, args []*ast.Term) {
	if len(args) < 2 {
		return
	}
	word := func(t *ast.Term) string {
		s, _ := t.Value.(ast.String)
		return string(s)
	}
	switch op {
	case "endswith", "startswith", "contains":
		name, text := effectField(args[0]), word(args[1])
		if name != "" && text != "" {
			b.affix(loc, op, name, text)
		}
	case "regex.match":
		name, text := effectField(args[1]), word(args[0])
		if kindOfField(name) != "" && text != "" && !isAnchored(text, kindOfField(name) == "host") {
			b.warn(loc, `begin it with ^ and end it with $`, "the pattern %q matches in the middle of input.effect.%s too", text, name)
		}
	case "glob.match":
		name, text := effectField(args[len(args)-1]), word(args[0])
		if rest, ok := strings.CutPrefix(text, "*"); ok && name == "host" && rest != "" && !strings.HasPrefix(rest, ".") {
			b.warn(loc, "write *."+strings.TrimLeft(rest, "*"), "the pattern %q matches hosts of others that end alike", text)
		} else if name == "host" && strings.HasSuffix(text, "*") {
			b.warn(loc, "name the domain to its end", "the pattern %q matches hosts of others that begin alike", text)
		}
	}
}

func (b *boundary) affix(loc *ast.Location, op, name, text string) {
	switch kind := kindOfField(name); {
	case kind == "host" && op == "endswith" && !strings.HasPrefix(text, "."):
		b.warn(loc, "write "+quoteNames([]string{"." + text})+", and a rule for the host itself",
			"input.effect.host that ends with %q may be a host of somebody else", text)
	case kind == "host" && op != "endswith":
		b.warn(loc, "compare the whole host, or its end from a dot on",
			"input.effect.host that %s %q may be a host of somebody else", wordsOfBoundary(op), text)
	case kind == "url" && op == "startswith" && strings.Count(text, "/") < 3:
		b.warn(loc, "test input.effect.host and input.effect.scheme, or end the text with /",
			"input.effect.url that begins with %q may be of a host of somebody else", text)
	case kind == "url" && op != "startswith":
		b.warn(loc, "test input.effect.host", "input.effect.url that %s %q may be of a host of somebody else", wordsOfBoundary(op), text)
	case kind == "path" && op == "startswith" && !strings.HasSuffix(text, "/"):
		if why, _ := wrongBeginning(name, text); why != "" {
			return // it matches nothing at all
		}
		b.warn(loc, "end it with /", "input.effect.%s that begins with %q may be outside of the folder: %sx", name, text, text)
	}
}

func wordsOfBoundary(op string) string {
	if op == "contains" {
		return "contains"
	}
	return strings.TrimSuffix(op, "swith") + "s with"
}

func (b *boundary) warn(loc *ast.Location, hint, format string, args ...any) {
	b.adviser.found.Add(locationPlace(loc), diag.SeverityWarning, hint, format, args...)
}

// isAnchored reports whether a regular expression is anchored at the end of the
// text and, where others choose the beginning too, at the start of a whole
// name.
func isAnchored(pattern string, host bool) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return true // OPA reports the error
	}
	re = re.Simplify()
	starts, ends := edge(re, true), edge(re, false)
	if host {
		// A pattern that begins with a dot may begin anywhere.
		return ends && (starts || strings.HasPrefix(pattern, `\.`) || strings.HasPrefix(pattern, `[.]`) || strings.HasPrefix(pattern, `(^|\.)`))
	}
	return starts
}

// edge reports whether every alternative of a pattern begins, or ends, with an
// anchor.
func edge(re *syntax.Regexp, first bool) bool {
	want := []syntax.Op{syntax.OpBeginText, syntax.OpBeginLine}
	if !first {
		want = []syntax.Op{syntax.OpEndText, syntax.OpEndLine}
	}
	switch re.Op {
	case want[0], want[1]:
		return true
	case syntax.OpCapture:
		return edge(re.Sub[0], first)
	case syntax.OpConcat:
		i := len(re.Sub) - 1
		if first {
			i = 0
		}
		return edge(re.Sub[i], first)
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if !edge(sub, first) {
				return false
			}
		}
		return true
	}
	return false
}
