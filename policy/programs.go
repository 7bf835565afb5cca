package policy

import (
	"path"
	"slices"

	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/source"
)

// describedDigest identifies the descriptions of programs and agents of a layer, "" if it
// has none.
func (n *layerState) describedDigest() string {
	if n == nil || n.active == nil || len(n.active.Programs)+len(n.active.Agents) == 0 {
		return ""
	}
	return n.digest
}

// withOrg returns the state with that of org, whose descriptions of programs and agents apply
// when a person's files are read.
func (n *layerState) withOrg(org *layerState) *layerState {
	next := *n
	next.org = org
	return &next
}

// tableOf returns the program table with org's descriptions.
func (s *Store) tableOf(org *layerState) *programs.Table {
	if org != nil && org.active != nil && org.active.Table != nil {
		return org.active.Table
	}
	return s.table
}

// tableFor returns the program table for the calls of one person. A person's
// descriptions of programs that nobody else describes count only while their
// allows do: not with only_org, and not while the file may be being written.
func (s *Store) tableFor(st *state, user *layerState) *programs.Table {
	table := s.tableOf(st.org)
	if user == nil || user.active == nil || user.active.Overlay == nil {
		return table
	}
	held := slices.ContainsFunc(user.quarantined, func(name string) bool { return path.Base(path.Dir(name)) == source.ProgramsDir })
	return table.With(user.active.Overlay, !st.switches.OnlyOrg && !held)
}

// Programs returns the programs that layers describe, from org to the users.
func (s *Store) Programs() []rules.ProgramInfo {
	st := s.state.Load()
	out := []rules.ProgramInfo{}
	if st.org.active != nil {
		out = append(out, st.org.active.Programs...)
	}
	for uid, n := range st.users {
		if n.active == nil {
			continue
		}
		for _, d := range n.active.Programs {
			d.UID = &uid
			out = append(out, d)
		}
	}
	return out
}
