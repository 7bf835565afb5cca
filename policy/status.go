package policy

import (
	"cmp"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
)

// Status says which rules are in use and how each layer is.
type Status struct {
	Layers []LayerStatus `json:"layers"`
	// Settings is why the settings could not be read; the former ones are in
	// use. "" when they could.
	Settings string `json:"settings,omitzero"`
	// Watching is why changes are only found by looking every 20 seconds; ""
	// when the system reports them.
	Watching string `json:"watching,omitzero"`
}

// LayerStatus is how one layer is.
type LayerStatus struct {
	Layer   decisions.Layer `json:"layer"`
	UID     *uint32         `json:"uid,omitzero"`     // of user and project layers
	Project string          `json:"project,omitzero"` // root, of project layers
	Paths   []string        `json:"paths,omitzero"`
	State   State           `json:"state"`
	// The numbers of rules in use.
	Allow int `json:"allow"`
	Deny  int `json:"deny"`
	Ask   int `json:"ask"`
	Files int `json:"files"`
	// Digest is of the rules in use, "" when the layer has never been good.
	Digest   string    `json:"digest,omitzero"`
	Error    string    `json:"error,omitzero"`    // the first problem, with its place
	Problems []Problem `json:"problems,omitzero"` // all of them
	Warnings []Problem `json:"warnings,omitzero"` // of the rules in use
	Since    time.Time `json:"since"`             // when it came into this state
}

// Degraded reports whether a layer is not what its files say.
func (s Status) Degraded() bool {
	return s.Settings != "" || slices.ContainsFunc(s.Layers, func(l LayerStatus) bool { return l.State == StateDegraded })
}

// Rules is the number of rules in use.
func (l LayerStatus) Rules() int { return l.Allow + l.Deny + l.Ask }

// Status returns how the layers are, from org to base.
func (s *Store) Status() Status { return s.state.Load().status() }

func (st *state) status() Status {
	out := Status{Watching: st.blindTo}
	if st.trouble != nil {
		out.Settings = st.trouble.Error()
	}
	out.Layers = append(out.Layers, st.org.status())
	for _, n := range st.users {
		out.Layers = append(out.Layers, n.status())
	}
	for _, n := range st.projects {
		out.Layers = append(out.Layers, n.status())
	}
	out.Layers = append(out.Layers, st.base.status())
	slices.SortStableFunc(out.Layers, func(a, b LayerStatus) int {
		return cmp.Or(
			cmp.Compare(slices.Index(decisions.Layers, a.Layer), slices.Index(decisions.Layers, b.Layer)),
			cmp.Compare(deref(a.UID), deref(b.UID)), cmp.Compare(a.Project, b.Project))
	})
	return out
}

func deref(p *uint32) uint32 {
	if p == nil {
		return 0
	}
	return *p
}

func (n *slot) status() LayerStatus {
	out := LayerStatus{
		Layer: n.layer, Project: n.project, Paths: n.dirs, State: n.state,
		Files: n.files, Digest: n.digest, Since: n.since,
	}
	if n.layer == decisions.User || n.layer == decisions.Project {
		uid := n.uid
		out.UID = &uid
	}
	if err := n.err(); err != nil {
		out.Error, out.Problems = err.Error(), n.failed.errs()
	}
	if n.active != nil {
		out.Warnings = n.active.warnings
		for _, r := range n.active.list() {
			switch r.Set {
			case decisions.SetAllow:
				out.Allow++
			case decisions.SetDeny:
				out.Deny++
			case decisions.SetAsk:
				out.Ask++
			}
		}
	}
	return out
}
