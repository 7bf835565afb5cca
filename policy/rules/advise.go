package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/list"
	"github.com/permd/permd/policy/source"
)

// adviser finds rules that do something other than they seem to. Its findings
// never keep a layer from being used; errors that must are found by compiling.
type adviser struct {
	table    *programs.Table // nil: checks that need it are skipped
	profiles *tools.Profiles // nil: checks that need them are skipped
	found    diag.List
}

// Advise checks a layer that compiles.
func Advise(u Unit, c *Layer, profiles *tools.Profiles) diag.List {
	l := &adviser{table: c.TableOver(u.Table), profiles: profiles}
	l.adviseProject(u)
	l.adviseEntries(c.lists)
	l.adviseRules(c)
	return l.found
}

func (l *adviser) warn(at listEntry, hint, format string, args ...any) {
	l.at(at, diag.SeverityWarning, hint, format, args...)
}

func (l *adviser) note(at listEntry, hint, format string, args ...any) {
	l.at(at, diag.SeverityNote, hint, format, args...)
}

func (l *adviser) at(at listEntry, sev diag.Severity, hint, format string, args ...any) {
	file := strings.TrimSuffix(at.ref.At, fmt.Sprintf(":%d", at.Line))
	l.found.Add(diag.Place{File: file, Line: at.Line}, sev, hint,
		"%s %s %q %s", at.Set, at.Kind, at.Pattern.String(), fmt.Sprintf(format, args...))
}

// adviseProject reports the parts of a project's folder that take effect.
func (l *adviser) adviseProject(u Unit) {
	if u.Layer != decisions.Project {
		return
	}
	for _, f := range u.Files {
		if f.IsList() && f.Rel != source.ListName {
			l.found.Add(diag.Place{File: f.Name, Line: 1}, diag.SeverityWarning, "write its entries into "+source.ListName+" of the folder itself",
				"is not read: of a project permd reads only .permd/"+source.ListName)
			continue
		}
		if f.IsList() {
			entries, err := list.Parse(f.Name, f.Data)
			i := slices.IndexFunc(entries, func(e list.Entry) bool { return e.Set == decisions.SetAllow })
			if err == nil && i >= 0 {
				l.found.Add(diag.Place{File: f.Name, Line: entries[i].Line}, diag.SeverityWarning,
					"permd trust shows and trusts them; or write them into your own rules, ~/.config/permd/policy.d/rules.yaml",
					"allow entries of a project count only for those who trust it; this is the first of them")
			}
			continue
		}
		if f.IsTest() || f.IsCalls() || f.IsPrograms() || f.IsProfiles() {
			continue // for those who write the list
		}
		l.found.Add(diag.Place{File: f.Name, Line: 1}, diag.SeverityNote, "write ask and deny entries into "+source.ListName,
			"the Rego of a project is not read")
	}
}

// quoteNames is a list of names in a message.
func quoteNames(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, ", ")
}

// similarNames returns the names that differ from name by a single typing
// error.
func similarNames(name string, names []string) []string {
	if len(name) < 3 {
		return nil // nearly all names this short are similar
	}
	var out []string
	for _, n := range names {
		// The first letter is rarely mistyped, and many program names are
		// another name with a letter in front.
		if n != name && n[0] == name[0] && isTypo(name, n) {
			out = append(out, n)
		}
	}
	return out
}

// isTypo reports whether two words differ by one inserted, missing or changed
// letter, or by two letters swapped.
func isTypo(a, b string) bool {
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
