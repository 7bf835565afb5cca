package targets

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// check checks what can only be told of the whole: that each goal has a rule, and that no
// file lies where make would make a makefile or a target from it.
func (m *makefile) check(goals []string) {
	if m.rd.why != "" {
		return
	}
	if m.oneShell && len(m.goals) > 0 {
		m.notPlain("a recipe that is one shell runs make")
	}
	if len(goals) == 0 {
		goals = []string{m.goal}
	}
	for _, goal := range slices.Concat(goals, m.goals) {
		if m.rules[goal] == nil {
			m.rd.fail("the makefile has no target " + clipped(goal))
			return
		}
	}
	made := slices.Clone(m.names)
	for _, name := range m.names {
		for target := range m.rules {
			if path.Clean(InFolder(m.rd.cwd(), target)) == path.Clean(InFolder(m.rd.cwd(), name)) {
				m.notPlain("it makes itself anew")
			}
		}
		if slices.ContainsFunc(m.patterns, func(p string) bool { return path.Ext(p) == path.Ext(name) }) {
			m.notPlain("a pattern may make it anew")
		}
	}
	for name, r := range m.rules {
		if !r.hasRecipe && !slices.Contains(m.phonies, name) {
			made = append(made, name)
		}
	}
	for _, name := range m.prerequisites {
		if m.rules[name] == nil && !slices.Contains(m.phonies, name) {
			made = append(made, name)
		}
	}
	slices.Sort(made)
	folders := map[string][]string{}
	for _, name := range slices.Compact(made) {
		file := InFolder(m.rd.cwd(), name)
		dir := path.Dir(file)
		names, ok := folders[dir]
		if !ok {
			names = m.rd.names(dir)
			folders[dir] = names
		}
		if from := sourceOf(path.Base(file), names); from != "" {
			m.rd.fail("make may make " + clipped(name) + " from " + clipped(from))
			return
		}
	}
}

// sourceOf returns the name of a file from which make may make another one by its built-in
// rules, "" if there is none: those add a suffix, or look into RCS and SCCS.
func sourceOf(name string, names []string) string {
	name = lexpath.Fold(name)
	for _, other := range names {
		f := lexpath.Fold(other)
		if strings.HasPrefix(f, name+".") || strings.HasPrefix(f, name+",") || strings.HasPrefix(f, "s."+name) || f == "rcs" || f == "sccs" {
			return other
		}
	}
	return ""
}
