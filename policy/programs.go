package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
)

// programsDir is the name of folders, among the rules of a layer, of files that
// say what the words of programs do. Org and user add to the program table by it; a
// project never does.
const programsDir = "programs"

// isPrograms reports whether a file describes programs. A list of rules keeps its
// name wherever it lies.
func (s source) isPrograms() bool { return isPrograms(s.rel) }

func isPrograms(rel string) bool {
	return path.Base(path.Dir(rel)) == programsDir && path.Ext(rel) == ".yaml" && path.Base(rel) != listName
}

// strayPrograms says what to do with a file that is nearly one that describes
// programs, "" if it is not.
func strayPrograms(rel string) (hint string) {
	dir, name := path.Split(rel)
	switch {
	case !slices.Contains(strings.Split(dir, "/"), programsDir) || isPrograms(rel) || name == listName:
	case path.Ext(name) == ".yml":
		return "name it " + strings.TrimSuffix(name, ".yml") + ".yaml"
	case path.Ext(name) == ".yaml":
		return "put it into the folder " + programsDir + " itself"
	}
	return ""
}

// ProgramInfo is a program that a layer says something about.
type ProgramInfo struct {
	Program string          `json:"program"`
	Layer   decisions.Layer `json:"layer"`
	// Extends is set when permd, or org, knows the program already.
	Extends bool    `json:"extends"`
	At      string  `json:"at"` // file:line
	UID     *uint32 `json:"uid,omitzero"`
}

// programs reads the files of a layer that describe programs, and makes the
// table that the layer's lists are understood with.
func (u *unit) programs(out *compiled, ps *problems) {
	files := map[string][]byte{}
	for _, f := range u.files {
		if f.isPrograms() {
			files[f.name] = f.data
		}
	}
	if len(files) == 0 || u.table == nil {
		return
	}
	var described []programs.Described
	var errs []*programs.TableError
	switch u.layer {
	case decisions.Org:
		if out.table, described, errs = u.table.Extended(files); errs == nil {
			u.table = out.table
		}
	case decisions.User:
		if out.opinions, errs = u.table.Opinions(files); errs == nil {
			described = out.opinions.List()
			u.table = u.table.With(out.opinions, true)
		}
	case decisions.Project, decisions.Base:
		for _, f := range u.files {
			if f.isPrograms() {
				*ps = append(*ps, Problem{
					File: f.name, Severity: SeverityWarning, Text: fmt.Sprintf("is ignored: only org and user say what programs do, not the %s", u.layer),
					Hint: "put it into ~/.config/permd/policy.d/" + programsDir,
				})
			}
		}
	}
	for _, e := range errs {
		*ps = append(*ps, Problem{File: e.File, Line: e.Line, Severity: SeverityError, Text: shortened(e.Text), Hint: e.Fix})
	}
	for _, d := range described {
		out.described = append(out.described, ProgramInfo{Program: d.Program, Layer: u.layer, Extends: d.Extends, At: d.At})
	}
}

// programsDigest identifies what a layer says of programs, "" if it says nothing.
func (n *slot) programsDigest() string {
	if n == nil || n.active == nil || len(n.active.described) == 0 {
		return ""
	}
	return n.digest
}

// over returns the slot with the layer that it lies on: what org says of programs
// is what a person's files are read against.
func (n *slot) over(org *slot) *slot {
	next := *n
	next.under = org
	return &next
}

// tableOf is the program table with what org says of it.
func (s *Store) tableOf(org *slot) *programs.Table {
	if org != nil && org.active != nil && org.active.table != nil {
		return org.active.table
	}
	return s.table
}

// tableFor is the program table for the calls of one person. What a person says
// of programs that nobody else describes counts as far as an allow of theirs: not
// where only org's count, and not while the file is perhaps being written.
func (s *Store) tableFor(st *state, user *slot) *programs.Table {
	table := s.tableOf(st.org)
	if user == nil || user.active == nil || user.active.opinions == nil {
		return table
	}
	held := slices.ContainsFunc(user.held, func(name string) bool { return path.Base(path.Dir(name)) == programsDir })
	return table.With(user.active.opinions, !st.switches.OnlyOrg && !held)
}

// Programs returns the programs that layers say something about, from org to the
// users.
func (s *Store) Programs() []ProgramInfo {
	st := s.state.Load()
	out := []ProgramInfo{}
	if st.org.active != nil {
		out = append(out, st.org.active.described...)
	}
	for uid, n := range st.users {
		if n.active == nil {
			continue
		}
		for _, d := range n.active.described {
			d.UID = &uid
			out = append(out, d)
		}
	}
	return out
}

// asSeenBy is the input as a layer may see it. A person's word about a program
// that nobody else describes is not for the rules of org: to them its run is that
// of a program that permd does not know.
func asSeenBy(layer decisions.Layer, in *decisions.Input) *decisions.Input {
	if layer != decisions.Org {
		return in
	}
	all := sharedOf(in).plain(in.All)
	if all == nil {
		return in
	}
	seen := *in
	seen.All = all
	if i := slices.IndexFunc(in.All, func(e effects.Effect) bool { return e.Run != nil && e.Run == in.Effect.Run }); i >= 0 {
		seen.Effect = &all[i]
	}
	return &seen
}

// plain are the effects of a call without a person's word about programs, nil
// when there is none.
func (t *shared) plain(all []effects.Effect) []effects.Effect {
	if t.looked {
		return t.unvouched
	}
	t.looked = true
	for i := range all {
		r := all[i].Run
		if r == nil || r.Unvouched == nil {
			continue
		}
		if t.unvouched == nil {
			t.unvouched = slices.Clone(all)
		}
		t.unvouched[i].Run = r.Unvouched
	}
	return t.unvouched
}
