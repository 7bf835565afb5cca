package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/policy/diag"
)

// Status describes the rules in use and the condition of each layer.
type Status struct {
	Layers []LayerStatus `json:"layers"`
	// Settings is why the settings could not be read, in which case the former
	// ones are in use; "" if they could.
	Settings string `json:"settings,omitzero"`
	// SettingsSince is when reading them first failed, zero if it did not.
	SettingsSince time.Time `json:"settingsSince,omitzero"`
	// Watching is why changes are only found by polling every 20 seconds; "" if
	// the system reports them.
	Watching string `json:"watching,omitzero"`
	// Restrictions describes the restrictions set by the organisation, a sentence for each
	// setting.
	Restrictions []string `json:"restrictions,omitzero"`
	// Waiting is changed rules that are not in use yet, nil if there are none.
	Waiting *Waiting `json:"waiting,omitzero"`
}

// LayerStatus is the condition of one layer.
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
	// Programs is the number of programs that the layer describes.
	Programs int `json:"programs,omitzero"`
	// Agents is the number of agents that the layer describes.
	Agents int `json:"agents,omitzero"`
	// Digest identifies the rules in use, "" if the layer has never been good.
	Digest   string         `json:"digest,omitzero"`
	Error    string         `json:"error,omitzero"`    // the first problem, with its position
	Removed  bool           `json:"-"`                 // that is only that a file was removed or emptied
	Problems []diag.Problem `json:"problems,omitzero"` // all of them
	Warnings []diag.Problem `json:"warnings,omitzero"` // about the rules in use
	Since    time.Time      `json:"since"`             // when it entered this state
	// Bundle is the revision of the bundle that is tried, "" if rules of a folder are.
	Bundle string `json:"bundle,omitzero"`
	// Trust is what somebody's trust in the project comes to, nil if nobody trusts it.
	Trust *Trust `json:"trust,omitzero"`
}

// Degraded reports whether a layer is not in the state its files describe.
func (s Status) Degraded() bool {
	return s.Settings != "" || slices.ContainsFunc(s.Layers, func(l LayerStatus) bool { return l.State == StateDegraded })
}

// maxSummaryReason bounds the reason in a summary, in bytes: a service manager shows
// it in one line.
const maxSummaryReason = 240

// Summary describes in one line which rules are in use and, if they are not
// those in the files, since when, where and why.
func (s Status) Summary() string {
	serving, more := s.rulesInUse(), 0
	var worst *LayerStatus // the first broken one; layers without any rules first
	for i := range s.Layers {
		l := &s.Layers[i]
		if l.State != StateDegraded {
			continue
		}
		more++
		if worst == nil || l.Digest == "" && worst.Digest != "" {
			worst = l
		}
	}
	why, since, instead := s.Settings, s.SettingsSince, "with the former settings"
	switch {
	case worst == nil && why == "":
		return serving
	case worst == nil:
	case worst.Digest != "":
		why, since, instead = worst.Error, worst.Since, "the last that were good"
	case worst.Project != "":
		why, since, instead = worst.Error, worst.Since, "and every call in "+worst.Project+" asks"
	default:
		why, since, instead = worst.Error, worst.Since, "and every call asks"
	}
	if len(why) > maxSummaryReason {
		why = strings.ToValidUTF8(why[:maxSummaryReason], "") + "…"
	}
	if more > 1 {
		why += fmt.Sprintf(" (and %s more)", countNoun(more-1, "layer"))
	}
	return fmt.Sprintf("degraded since %s: %s; %s, %s", since.Local().Format(time.DateTime), why, serving, instead)
}

// rulesInUse describes how many rules are in use, and of which layers.
func (s Status) rulesInUse() string {
	total := 0
	var parts []string
	for _, layer := range decisions.Layers {
		n := 0
		for i := range s.Layers {
			if s.Layers[i].Layer == layer {
				n += s.Layers[i].Rules()
			}
		}
		if total += n; n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s", n, layer))
		}
	}
	if total == 0 {
		return "serving no rules"
	}
	return fmt.Sprintf("serving %s: %s", countNoun(total, "rule"), strings.Join(parts, ", "))
}

func countNoun(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Rules returns the number of rules in use.
func (l LayerStatus) Rules() int { return l.Allow + l.Deny + l.Ask }

// Status returns the condition of the layers, from org to base.
func (s *Store) Status() Status { return s.state.Load().status() }

func (st *state) status() Status {
	out := Status{Watching: st.watchError, Waiting: st.held.status(st.switches.Reload)}
	out.Restrictions = st.restricts()
	if st.settingsErr != nil {
		out.Settings, out.SettingsSince = st.settingsErr.Error(), st.settingsErrSince
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

func (n *layerState) status() LayerStatus {
	out := LayerStatus{
		Layer: n.layer, Project: n.project, Paths: n.dirs, State: n.state,
		Files: n.files, Digest: n.digest, Since: n.since, Trust: n.assessed.status(n.state),
	}
	if n.candidate != nil {
		out.Bundle = n.candidate.revision
	}
	if n.layer == decisions.User || n.layer == decisions.Project {
		uid := n.uid
		out.UID = &uid
	}
	if err := n.err(); err != nil {
		out.Error, out.Problems, out.Removed = err.Error(), n.problems.Errors(), n.quarantined != nil && n.problems[0].File == n.quarantined[0]
	}
	if n.missing != "" {
		out.Digest = "" // every call asks
	}
	if n.active != nil {
		if err := n.active.Err(); err != nil {
			out.State, out.Digest, out.Error = StateDegraded, "", err.Error()
		}
		out.Warnings, out.Programs, out.Agents = n.active.Warnings, len(n.active.Programs), len(n.active.Agents)
		for _, r := range n.active.List() {
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

// DenialsOfOrg returns a function for the rules in force that returns the entry of org's lists
// which denies everything that an allow of a line matches, and its place; "" if there is none. It
// is nil if those lists deny nothing.
func (s *Store) DenialsOfOrg() func(*pattern.Pattern) (line, at string) {
	st := s.state.Load()
	if st == nil || st.org == nil || st.org.active == nil || !st.org.active.ListsDeny() {
		return nil
	}
	return st.org.active.DeniesAllOf
}
