package rules

import (
	"fmt"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/policy/list"
)

// listEntry is an entry of a list with its place.
type listEntry struct {
	list.Entry
	ref decisions.RuleRef
}

// listEntries returns the entries of a unit's lists. A list that cannot be read
// has none; compiling reports why.
func listEntries(u Unit) []listEntry {
	var out []listEntry
	for _, f := range u.Files {
		if !f.IsList() {
			continue
		}
		entries, err := list.Parse(f.Name, f.Data)
		if err != nil {
			continue
		}
		list.Resolve(entries, u.Table)
		for _, e := range entries {
			if u.ListsOnly && e.Set == decisions.SetAllow && (!u.trusts(f.Name) || !e.ProjectMayAllow()) {
				continue
			}
			out = append(out, listEntry{e, decisions.RuleRef{
				Layer: u.Layer, At: fmt.Sprintf("%s:%d", f.Name, e.Line),
				ID: fmt.Sprintf("%s/%s:%d", u.Layer, lexpath.Shorten(string(u.Layer), f.Rel), e.Line),
			}})
		}
	}
	return out
}

// ListsDeny reports whether the layer's lists deny anything.
func (l *Layer) ListsDeny() bool {
	return slices.ContainsFunc(l.lists, func(e listEntry) bool { return e.Set == decisions.SetDeny })
}

// DeniesAllOf returns the entry of the layer's lists that denies everything that an allow
// of the line matches, and its place; "" if there is none.
func (l *Layer) DeniesAllOf(p *pattern.Pattern) (line, at string) {
	for i := range l.lists {
		if e := &l.lists[i]; e.Set == decisions.SetDeny && e.Pattern.Covers(p, false) {
			return e.Pattern.String(), e.ref.At
		}
	}
	return "", ""
}
