package policy

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/trust"
)

// This file has the allows of a project count if its list, .permd/rules.yaml in its root, is byte
// for byte the one that the person trusts, or that org has approved. The bytes that are compared
// are those that are compiled. Lists in the folders above are of others, and never trusted with it.

// Approved is a list of rules that org trusts, for all people.
type Approved struct {
	Digest string // see trust.Digest
	Root   string // a folder: only of projects in it, "" for any
}

// grounds are why the allows of a project may count. They say nothing of its files.
type grounds struct {
	pin       *trust.Pin // in force, nil for none
	ended     bool       // there is one that has ended
	approved  []string   // digests of lists that org trusts in this project
	forbidden bool       // there is one, and org lets nobody trust a project
}

// grounds returns why the allows of a project may count at this moment.
func (s *Store) grounds(at layerKey, sw *Switches) (g grounds) {
	var pin *trust.Pin
	if s.opts.Trust != nil {
		pin = s.opts.Trust(at.uid, at.project)
	}
	switch {
	case pin == nil:
	case !pin.In(s.opts.now()):
		g.ended = true
	case cmp.Or(sw.ProjectTrust, settings.TrustUser) != settings.TrustUser:
		g.forbidden = true
	default:
		g.pin = pin
	}
	if sw.ProjectTrust == settings.TrustForbid {
		return g
	}
	for _, a := range sw.Approved {
		if a.Root == "" || lexpath.In(a.Root, at.project) {
			g.approved = append(g.approved, a.Digest)
		}
	}
	return g
}

func (g *grounds) same(other *grounds) bool {
	return g.pin == other.pin && g.ended == other.ended && g.forbidden == other.forbidden && slices.Equal(g.approved, other.approved)
}

// Trust is what somebody's trust in a project comes to.
type Trust struct {
	// By is whose trust lets the project's allows count: the layer user or org, "" if they do not.
	By    decisions.Layer `json:"by,omitzero"`
	Until time.Time       `json:"until,omitzero"` // of the person's trust
	// Problem is why the allows do not count although somebody trusts, or trusted, the project.
	Problem string `json:"problem,omitzero"`
	// Pinned is set if the denies and asks that were trusted apply besides those of the present list.
	Pinned bool `json:"pinned,omitzero"`
}

// What is wrong with the trust in a project.
const (
	trustChanged   = "its rules changed since you trusted them: permd trust"
	trustEnded     = "the time that you trusted it for is over: permd trust"
	trustForbidden = "the organisation lets nobody trust it (project_trust)"
	trustLink      = "its rules are a link, which is not trusted"
	trustOwner     = "its rules belong to another user, so they are not trusted"
)

// trustedRel is the name within its layer of a list that was trusted, if another is there now.
const trustedRel = "trusted/" + source.ListName

// assessment is what the grounds come to with the files that were read.
type assessment struct {
	Trust
	file   string      // the list whose allows count, "" for none
	pinned source.File // the list that was trusted, if another is there now
}

// assess compares the files of a project with the grounds.
func (n *layerState) assess(files []source.File) (j assessment) {
	if n.layer != decisions.Project {
		return j
	}
	var own *source.File
	for i := range files {
		if f := &files[i]; f.Dir == n.dirs[0] && f.Rel == source.ListName {
			own = f
		}
	}
	g := &n.grounds
	switch {
	case own == nil:
	case g.pin != nil && bytes.Equal(own.Data, g.pin.Text):
		j.By, j.Until = decisions.User, g.pin.Until
	case slices.Contains(g.approved, trust.Digest(own.Data)):
		j.By = decisions.Org
	}
	switch {
	case j.By != "" && own.Link:
		j.By, j.Problem = "", trustLink
	case j.By != "" && own.Owner != 0 && own.Owner != n.uid:
		j.By, j.Problem = "", trustOwner
	case j.By != "":
		j.file = own.Name
	case g.pin != nil:
		j.Problem = trustChanged
	case g.ended:
		j.Problem = trustEnded
	case g.forbidden:
		j.Problem = trustForbidden
	}
	if g.pin != nil && (own == nil || !bytes.Equal(own.Data, g.pin.Text)) {
		j.Pinned = true
		name := filepath.Join(n.dirs[0], source.ListName) + " (as trusted)"
		j.pinned = source.File{Name: name, Rel: trustedRel, Data: g.pin.Text}
	}
	return j
}

// trustKey is what the rules of the layer depend on besides its files.
func (n *layerState) trustKey(files []source.File) (key []string) {
	j := n.assess(files)
	if j.file != "" {
		key = append(key, "trusted")
	}
	if j.Pinned {
		key = append(key, "pinned", n.grounds.pin.Digest)
	}
	return key
}

// withGrounds returns the state with other grounds, as its files are to be read.
func (n *layerState) withGrounds(g *grounds) *layerState {
	c := *n
	c.grounds = *g
	return &c
}

// trusts reports whether the allows of a project count: its files are those that were assessed, they
// compile, and the grounds are still those of then.
func (s *Store) trusts(st *state, n *layerState) bool {
	if n == nil || n.layer != decisions.Project || n.state != StateOK || n.assessed.By == "" {
		return false
	}
	now := s.grounds(layerKey{n.uid, n.project}, &st.switches)
	return now.same(&n.grounds)
}

// lapse is what takes the place of a snapshot of a project once the person's trust has ended.
type lapse struct {
	pin  *trust.Pin
	snap *rules.Snapshot
}

// withoutTrust returns what a snapshot is made of, but that the project's allows do not count.
func withoutTrust(is rules.Basis) rules.Basis {
	is.Trusted, is.TrustProblem, is.Digest = false, trustEnded, source.Digest([]string{is.Digest, "trust has ended"}, nil)
	return is
}

// Retrust has a change of what a person trusts take effect: allows that do not count any more stop at
// once, and the others count when it returns without an error.
func (s *Store) Retrust(ctx context.Context, uid uint32, project string) error {
	at := s.at(uid, project)
	if s.update(func(now *state) bool { return now.projects[at] != nil }) {
		return s.loadProject(ctx, at, loadOptions{deadline: time.Now().Add(s.delays.load)}, false)
	}
	return nil
}

// status is what is shown of the trust in a project, nil if there is nothing to show.
func (j *assessment) status(state State) *Trust {
	t := j.Trust
	if state != StateOK && t.By != "" {
		t = Trust{Problem: "its rules are not the ones in its files"}
	}
	if t == (Trust{}) {
		return nil
	}
	return &t
}

// everySnapshot yields the snapshots in use, also those that will be when a trust ends.
func (st *state) everySnapshot() iter.Seq2[layerKey, *rules.Snapshot] {
	return func(yield func(layerKey, *rules.Snapshot) bool) {
		for at, snap := range st.snaps {
			if !yield(at, snap) {
				return
			}
		}
		for at, l := range st.lapsed {
			if !yield(at, l.snap) {
				return
			}
		}
	}
}

// tightenTrust takes what only becomes stricter of the trust in projects from settings that were read,
// and returns which setting wants more trust than that, "" if none does.
func (w *Switches) tightenTrust(read *Switches) (looser string) {
	order := []string{settings.TrustUser, settings.TrustApproved, settings.TrustForbid}
	rank := func(w *Switches) int { return slices.Index(order, cmp.Or(w.ProjectTrust, settings.TrustUser)) }
	if rank(read) > rank(w) {
		w.ProjectTrust = read.ProjectTrust
	} else if rank(read) < rank(w) {
		looser = "project_trust"
	}
	var both []Approved
	for _, a := range read.Approved {
		if slices.Contains(w.Approved, a) {
			both = append(both, a)
		} else {
			looser = "trusted"
		}
	}
	w.Approved = both
	return looser
}

// ProjectTrust returns whose trust in a project counts, one of the settings of settings.TrustUser
// and its like, and the lists that org has approved.
func (s *Store) ProjectTrust() (counts string, approved []Approved) {
	w := &s.state.Load().switches
	return cmp.Or(w.ProjectTrust, settings.TrustUser), w.Approved
}
