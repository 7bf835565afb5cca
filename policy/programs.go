package policy

import (
	"fmt"
	"path"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/source"
)

// ProgramInfo is a program that a layer describes.
type ProgramInfo struct {
	Program string          `json:"program"`
	Layer   decisions.Layer `json:"layer"`
	// Extends is set if permd, or org, already describes the program.
	Extends bool    `json:"extends"`
	At      string  `json:"at"` // file:line
	UID     *uint32 `json:"uid,omitzero"`
}

// programs reads the program descriptions of a layer, and builds the table used
// for the layer's lists.
func (u *unit) programs(out *compiledLayer, ps *diag.List) {
	files := map[string][]byte{}
	for _, f := range u.files {
		if f.IsPrograms() {
			files[f.Name] = f.Data
		}
	}
	if len(files) == 0 || u.table == nil {
		return
	}
	var described []programs.LayerProgram
	var errs []*programs.TableError
	switch u.layer {
	case decisions.Org:
		if out.table, described, errs = u.table.Extended(files); errs == nil {
			u.table = out.table
		}
	case decisions.User:
		if out.overlay, errs = u.table.ParseOverlay(files); errs == nil {
			described = out.overlay.List()
			u.table = u.table.With(out.overlay, true)
		}
	case decisions.Project, decisions.Base:
		for _, f := range u.files {
			if f.IsPrograms() {
				*ps = append(*ps, diag.Problem{
					File: f.Name, Severity: diag.SeverityWarning, Text: fmt.Sprintf("is ignored: only org and user say what programs do, not the %s", u.layer),
					Hint: "put it into ~/.config/permd/policy.d/" + source.ProgramsDir,
				})
			}
		}
	}
	for _, e := range errs {
		ps.Append(diag.Problem{File: e.File, Line: e.Line, Severity: diag.SeverityError, Text: e.Text, Hint: e.Fix})
	}
	for _, d := range described {
		out.programs = append(out.programs, ProgramInfo{Program: d.Program, Layer: u.layer, Extends: d.Extends, At: d.At})
	}
}

// programsDigest identifies the program descriptions of a layer, "" if it has
// none.
func (n *layerState) programsDigest() string {
	if n == nil || n.active == nil || len(n.active.programs) == 0 {
		return ""
	}
	return n.digest
}

// withOrg returns the state with that of org, whose program descriptions apply
// when a person's files are read.
func (n *layerState) withOrg(org *layerState) *layerState {
	next := *n
	next.org = org
	return &next
}

// tableOf returns the program table with org's descriptions.
func (s *Store) tableOf(org *layerState) *programs.Table {
	if org != nil && org.active != nil && org.active.table != nil {
		return org.active.table
	}
	return s.table
}

// tableFor returns the program table for the calls of one person. A person's
// descriptions of programs that nobody else describes count only while their
// allows do: not with only_org, and not while the file may be being written.
func (s *Store) tableFor(st *state, user *layerState) *programs.Table {
	table := s.tableOf(st.org)
	if user == nil || user.active == nil || user.active.overlay == nil {
		return table
	}
	held := slices.ContainsFunc(user.quarantined, func(name string) bool { return path.Base(path.Dir(name)) == source.ProgramsDir })
	return table.With(user.active.overlay, !st.switches.OnlyOrg && !held)
}

// Programs returns the programs that layers describe, from org to the users.
func (s *Store) Programs() []ProgramInfo {
	st := s.state.Load()
	out := []ProgramInfo{}
	if st.org.active != nil {
		out = append(out, st.org.active.programs...)
	}
	for uid, n := range st.users {
		if n.active == nil {
			continue
		}
		for _, d := range n.active.programs {
			d.UID = &uid
			out = append(out, d)
		}
	}
	return out
}
