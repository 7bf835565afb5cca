package policy

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/weight"
)

// shadowGrowth is how much the heap may grow while shadow rules are evaluated, in
// bytes: less than while others are, so that rules in use are not cancelled for what these
// take.
const shadowGrowth = 12 << 20

// Shadow names rules to try: what they would decide can be compared with what the rules in
// use decide. They decide nothing.
type Shadow struct {
	Dir   string          // their folder, "" for none
	Layer decisions.Layer // whose place they would take: Org or User
}

// same reports whether settings mean the same for rules in use.
func (w Switches) same(other Switches) bool {
	w.Shadow, other.Shadow = Shadow{}, Shadow{}
	w.Notify, other.Notify = "", ""
	w.Reload, other.Reload = "", ""
	return reflect.DeepEqual(w, other)
}

// loadShadow reads the rules to try and puts them in place. It holds up no other rules.
// immediate says that a person requested it.
func (s *Store) loadShadow(ctx context.Context, immediate bool) {
	s.trying.Lock()
	defer s.trying.Unlock()
	s.dueToTry.Store(false)
	st := s.state.Load()
	want, dirs := st.switches.Shadow, []string{st.switches.Shadow.Dir}
	tried := s.candidate
	if tried != nil {
		want, dirs = Shadow{Layer: decisions.Org}, st.org.dirs
	}
	if want.Dir == "" && tried == nil {
		if st.shadow != nil {
			s.update(func(now *state) bool { now.shadow = nil; return true })
		}
		return
	}
	n := st.shadow
	if n == nil || n.layer != want.Layer || n.candidate != tried || !slices.Equal(n.dirs, dirs) {
		n = &layerState{layer: want.Layer, uid: s.opts.UID, dirs: dirs, shadow: true, candidate: tried}
		if tried != nil {
			n.delivered = tried.files
		}
	}
	if n.layer == decisions.User {
		n = n.withOrg(st.org)
	}
	n = s.refresh(ctx, n, loadOptions{deadline: time.Now().Add(s.delays.load), immediate: immediate})
	if tried == nil && len(n.folders) == 0 && n.state != StateDegraded {
		var ps diag.List
		ps.FileErrorf(want.Dir, "make it, or change shadow in permd.toml", "there is no such folder")
		n.active, n.digest, n.lastDigest = nil, "", ""
		n.degrade(ps, s.opts.now())
		if was := st.shadow; was != nil && was.state == StateDegraded {
			n.since = was.since
		}
	}
	s.update(func(now *state) bool {
		if tried == nil && now.switches.Shadow != want {
			return false // it has changed meanwhile, and is read once more
		}
		now.shadow = n
		return true
	})
}

// candidate is a bundle whose rules are only tried.
type candidate struct {
	revision string
	files    []source.File
}

// DeliverShadow has rules tried in the place of those of org that are delivered; the files of org's
// folder count besides, as they do for those. No files end that. As long as there are some, the
// folder that the settings name is not tried. The rules go through all that rules in use go
// through; after an error what was tried before still is. commit is as in [Store.Deliver].
func (s *Store) DeliverShadow(ctx context.Context, revision string, files []source.File, commit func() error) error {
	s.trying.Lock()
	if len(files) == 0 {
		had := s.candidate != nil
		s.candidate = nil
		s.trying.Unlock()
		if had {
			s.loadShadow(ctx, true)
		}
		return nil
	}
	defer s.trying.Unlock()
	st := s.state.Load()
	to := &candidate{revision, files}
	n := &layerState{layer: decisions.Org, uid: s.opts.UID, dirs: st.org.dirs, shadow: true, candidate: to, delivered: files}
	all := append(s.localInUse(st.org), files...)
	err := weight.CheckText(decisions.Org, all)
	if err == nil {
		n = s.build(ctx, n, all, nil)
		err = n.err()
	}
	if err == nil && commit != nil {
		err = commit()
	}
	if err != nil {
		return err
	}
	n.nonEmpty = source.NonEmpty(all)
	s.candidate = to
	s.update(func(now *state) bool { now.shadow = n; return true })
	return nil
}

// loadShadowLater is loadShadow without waiting for it.
func (s *Store) loadShadowLater(ctx context.Context) {
	if s.dueToTry.Swap(true) {
		return
	}
	go s.loadShadow(ctx, false)
}

// shadowsOf returns the rules to try for each snapshot of a state; old is the state before it.
// Programs and agents that they describe do not count: effects are those of the rules in use.
func (s *Store) shadowsOf(st, old *state) map[*rules.Snapshot]*rules.Snapshot {
	if st.shadow == nil || st.shadow.active == nil {
		return nil
	}
	out := make(map[*rules.Snapshot]*rules.Snapshot, len(st.snaps))
	for at, used := range st.everySnapshot() {
		if former := shadowOf(old, used); former != nil && old.switches.same(st.switches) && old.shadow.sameRules(st.shadow) {
			out[used] = former
			continue
		}
		org, user := st.org, st.users[at.uid]
		if st.shadow.layer == decisions.Org {
			org = st.shadow
		} else {
			user = st.shadow
		}
		is := rules.Basis{
			OnlyOrg: st.switches.OnlyOrg, DenyOnFailure: st.switches.DenyOnFailure, Trusted: used.Trusted(),
			Table: used.Table(), Profiles: used.Profiles(), Limiter: &s.shadowLimits,
			Restrictions: st.restrictions(),
		}
		combine(&is, []string{used.Digest(), "shadow"}, org, user, st.projects[at], st.base)
		for i, l := range is.Layers {
			if l != st.shadow.active { // nothing that is tried may turn off a layer in use
				is.Layers[i] = l.Apart()
			}
		}
		out[used] = rules.NewSnapshot(is)
	}
	return out
}

func shadowOf(st *state, used *rules.Snapshot) *rules.Snapshot {
	if st == nil {
		return nil
	}
	return st.shadows[used]
}

// sameRules reports whether two states of a layer have the same rules in use.
func (n *layerState) sameRules(other *layerState) bool {
	return n != nil && n.active == other.active && reflect.DeepEqual(n.quarantined, other.quarantined)
}

// Shadow returns the rules to try in place of a snapshot, nil if there are none. It is not
// current if other rules have come into use since.
func (s *Store) Shadow(of decisions.Snapshot) (snap decisions.Snapshot, current bool) {
	st := s.state.Load()
	used, ok := of.(*rules.Snapshot)
	if !ok || st.shadows == nil {
		return nil, true
	}
	if tried := st.shadows[used]; tried != nil {
		return tried, true
	}
	return nil, false
}

// Trying reports whether there are rules to try.
func (s *Store) Trying() bool { return s.state.Load().shadows != nil }

// ShadowDir returns the folder of shadow rules that the settings name, "" for none.
func (s *Store) ShadowDir() string { return s.state.Load().switches.Shadow.Dir }

// ShadowStatus returns the condition of the rules to try, nil if there are none or they have not
// been read.
func (s *Store) ShadowStatus() *LayerStatus { return s.state.Load().shadowStatus() }

func (st *state) shadowStatus() *LayerStatus {
	if st.shadow == nil {
		return nil
	}
	out := st.shadow.status()
	return &out
}
