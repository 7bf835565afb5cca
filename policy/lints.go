package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
)

// SeverityNote is the severity of what is worth knowing and may well be meant.
const SeverityNote Severity = "note"

// linter looks for rules that do something else than they seem to. What it
// finds never keeps a layer from being used; what must is found by compiling.
type linter struct {
	layer    decisions.Layer
	table    *programs.Table // nil: what needs it is not checked
	profiles *tools.Profiles // the same
	found    problems
}

// lint checks a layer that compiles.
func (f Folder) lint(u unit, c *compiled) problems {
	l := &linter{layer: u.layer, table: u.table, profiles: f.Profiles}
	switch {
	case c.table != nil:
		l.table = c.table
	case c.opinions != nil:
		l.table = u.table.With(c.opinions, true)
	}
	l.project(u)
	l.entries(c.lists)
	l.rules(c)
	return l.found
}

func (l *linter) warn(at listed, hint, format string, args ...any) {
	l.at(at, SeverityWarning, hint, format, args...)
}

func (l *linter) note(at listed, hint, format string, args ...any) {
	l.at(at, SeverityNote, hint, format, args...)
}

func (l *linter) at(at listed, sev Severity, hint, format string, args ...any) {
	file := strings.TrimSuffix(at.ref.At, fmt.Sprintf(":%d", at.line))
	l.found.add(&ast.Location{File: file, Row: at.line}, sev, hint,
		"%s %s %q %s", at.set, at.kind, at.pattern.String(), fmt.Sprintf(format, args...))
}

// project says what of a project's folder counts.
func (l *linter) project(u unit) {
	if u.layer != decisions.Project {
		return
	}
	for _, f := range u.files {
		if f.isList() {
			entries, err := parseList(f.name, f.data)
			i := slices.IndexFunc(entries, func(e entry) bool { return e.set == decisions.SetAllow })
			if err == nil && i >= 0 {
				l.found.add(&ast.Location{File: f.name, Row: entries[i].line}, SeverityWarning,
					"write them into your own rules, ~/.config/permd/policy.d/rules.yaml",
					"allow entries of a project count for nothing while nobody trusts it; this is the first of them")
			}
			continue
		}
		if f.isTest() || f.isPrograms() {
			continue // for those who change the list
		}
		l.found.add(&ast.Location{File: f.name, Row: 1}, SeverityNote, "write ask and deny entries into "+listName,
			"the Rego of a project is not read while nobody trusts it")
	}
}

// quoted is a list of names in a message.
func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, ", ")
}

// like returns the names that differ from one by a single slip of the fingers.
func like(name string, names []string) []string {
	if len(name) < 3 {
		return nil // of so few letters everything is alike
	}
	var out []string
	for _, n := range names {
		// The first letter is hardly ever the wrong one, and many programs are
		// called like another one with a letter before it.
		if n != name && n[0] == name[0] && slip(name, n) {
			out = append(out, n)
		}
	}
	return out
}

// slip reports whether two words differ by one letter more, less or other, or by
// two that changed places.
func slip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) {
		return false
	}
	return a[i+1:] == b[i+1:] ||
		i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
