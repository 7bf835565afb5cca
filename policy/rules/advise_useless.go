package rules

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/diag"
)

// What can never match, or never counts under the rules of org.

// unmatchedPrefixes finds tests of the beginning of a path that no path passes.
func (l *adviser) unmatchedPrefixes(b ast.Body) {
	for _, e := range b {
		if e.Negated || !e.IsCall() || len(e.Operands()) < 2 {
			continue
		}
		var field string
		var words []string
		switch e.Operator().String() {
		case "startswith":
			field, words = effectField(e.Operand(0)), literals(e.Operand(1))
		case "glob.match":
			if len(e.Operands()) < 3 {
				continue
			}
			field, words = effectField(e.Operand(2)), literals(e.Operand(0))
			if slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w[:min(1, len(w))], "*{[?") }) {
				continue
			}
		default:
			continue
		}
		for _, w := range words {
			if why, hint := wrongBeginning(field, w); why != "" {
				l.found.Add(locationPlace(e.Location), diag.SeverityWarning, hint, "input.effect.%s never begins with %q: %s", field, w, why)
			}
		}
	}
}

// wrongBeginning says why no path in the field begins with the word, "" if one may.
func wrongBeginning(field, w string) (why, hint string) {
	switch field {
	case "path", "cwd", "executable":
		inHome, home := strings.CutPrefix(w, "~/")
		switch {
		case w == "" || strings.HasPrefix(w, "/"):
		case home:
			return "it is an absolute path", "test input.effect.home_path, without the ~/: " + quoteNames([]string{inHome})
		default:
			return "it is an absolute path", "test input.effect.project_path or input.effect.home_path"
		}
	case "project_path", "home_path":
		if strings.HasPrefix(w, "/") || strings.HasPrefix(w, "./") || strings.HasPrefix(w, "~") {
			return "it has no folder in front of it", "write it as docs/ or .aws/"
		}
	}
	return "", ""
}

// shortInArgs finds denies and asks that look for one spelling of an option among the
// words of a run, of which other spellings are missed.
func (l *adviser) shortInArgs(set decisions.Set, b ast.Body, programs, subcommands [][]string) {
	if set == decisions.SetAllow {
		return
	}
	sub := ""
	if len(subcommands) == 1 && len(subcommands[0]) == 1 {
		sub = subcommands[0][0]
	}
	for _, e := range b {
		for _, option := range argsWanted(e) {
			if len(option) < 2 || option[0] != '-' {
				continue
			}
			name := ""
			if len(programs) == 1 && len(programs[0]) == 1 {
				name, _ = l.table.Flag(programs[0][0], sub, option)
			}
			switch {
			case name != "":
				l.found.Add(locationPlace(e.Location), diag.SeverityWarning, "test "+quoteNames([]string{name})+" in input.effect.flags",
					"misses other spellings of %s: input.effect.args are the words as they are written", option)
			case len(programs) == 0 && option[1] != '-':
				l.found.Add(locationPlace(e.Location), diag.SeverityNote, "name the program, and test input.effect.flags, which has options by their long names",
					"misses other spellings of %s: input.effect.args are the words as they are written", option)
			}
		}
	}
}

// argsWanted returns the words that an expression looks for among the words of a run, by
// "-f" in input.effect.args or by comparing an element of it.
func argsWanted(e *ast.Expr) []string {
	if e.Negated || !e.IsCall() || len(e.Operands()) < 2 {
		return nil
	}
	a, b := e.Operand(0), e.Operand(1)
	switch e.Operator().String() {
	case "internal.member_2":
		if effectField(b) == "args" {
			return literals(a)
		}
	case "eq", "equal":
		if isArgsElement(b) {
			a, b = b, a
		}
		if isArgsElement(a) {
			return literals(b)
		}
	}
	return nil
}

// isArgsElement reports whether a term is one of input.effect.args.
func isArgsElement(t *ast.Term) bool {
	ref, ok := t.Value.(ast.Ref)
	return ok && len(ref) == 4 && effectField(ast.NewTerm(ref[:3])) == "args"
}

// AdviseUnder compares the list entries of a layer with those of org above it.
func AdviseUnder(org *Unit, c *Layer) diag.List {
	l := &adviser{}
	above := listEntries(*org)
	for _, e := range c.lists {
		if e.Set == decisions.SetDeny {
			continue
		}
		i := slices.IndexFunc(above, func(o listEntry) bool { return o.Kind == e.Kind && stricter(o.Set, e.Set) && within(o, e) })
		if i >= 0 {
			o := above[i]
			l.warn(e, "leave it out, or ask the administrators", "never counts: org's %s %q (%s) matches all of it", o.Set, o.Pattern.String(), o.ref.At)
			continue
		}
		i = slices.IndexFunc(above, func(o listEntry) bool {
			return o.Kind == e.Kind && o.Set == decisions.SetDeny && stricter(o.Set, e.Set) && overlaps(e, o)
		})
		if i >= 0 {
			o := above[i]
			l.note(e, "that part stays denied", "is wider than org allows: org's deny %q (%s) matches a part of it", o.Pattern.String(), o.ref.At)
		}
	}
	return l.found
}

// overlaps reports whether a line of org certainly matches a part of what an entry
// matches: the entry would match all of it if both were denies.
func overlaps(e, org listEntry) bool {
	wide := e
	wide.Set = org.Set
	return within(wide, org)
}
