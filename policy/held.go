package policy

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
)

// This file keeps changed rules from coming into use by themselves, where the setting
// reload says so. What is in use then stays, except for what a list of rules only makes
// stricter: that is used at once. Rules of projects never wait: they allow nothing but what somebody
// trusts byte for byte.

// shared is the rules that hold in all projects, and their settings.
type shared struct {
	switches  Switches
	base, org *layerState
	users     map[uint32]*layerState
}

func (st *state) shared() shared {
	return shared{st.switches, st.base, st.org, st.users}
}

func (st *state) use(sh shared) {
	st.switches, st.base, st.org, st.users = sh.switches, sh.base, sh.org, maps.Clone(sh.users)
}

// piece is what comes into use as a whole: the settings with base, org, or the rules of
// one person.
type piece struct {
	layer decisions.Layer // Base is the settings
	uid   uint32          // of User
}

func (p piece) String() string {
	if p.layer == decisions.Base {
		return "settings"
	}
	return string(p.layer)
}

// change is rules that wait. It is immutable.
type change struct {
	rules    shared  // as they were read last
	pieces   []piece // of rules, that wait
	together bool    // the pieces cannot be used one by one
	from, to string  // digests of what is in use and of what waits
	unseen   string  // a setting that waits and changes what no replay shows, "" if none
	since    time.Time
	found    *Trial // nil before it
}

// Trial is what a replay of past decisions by rules that wait has found.
type Trial struct {
	At time.Time `json:"at"`
	// Decided were decided again, by the rules in use and by those that wait; Undecided could
	// not be. Loosened of them would only now be allowed, such as Example, by its id.
	Decided   int    `json:"decided"`
	Undecided int    `json:"undecided"`
	Loosened  int    `json:"loosened"`
	Example   string `json:"example,omitzero"`
	// Why is why the replay tells nothing, "" if it does.
	Why string `json:"why,omitzero"`
}

// safe reports whether the rules allow nothing that is asked or denied by those in use.
func (t *Trial) safe() bool { return t.Why == "" && t.Loosened == 0 }

// Waiting is changed rules that are not in use yet.
type Waiting struct {
	Mode  string    `json:"mode"`  // why they wait: settings.ReloadManual or ReloadReplaySafe
	Parts []string  `json:"parts"` // "settings", "org" and "user"
	Since time.Time `json:"since"`
	// Trial is nil where there is none, or it has not ended yet.
	Trial *Trial `json:"trial,omitzero"`
}

func (c *change) status(mode string) *Waiting {
	if c == nil {
		return nil
	}
	w := &Waiting{Mode: mode, Since: c.since, Trial: c.found}
	for _, p := range c.pieces {
		w.Parts = append(w.Parts, p.String())
	}
	slices.Sort(w.Parts)
	w.Parts = slices.Compact(w.Parts)
	return w
}

// defers reports whether changed rules wait.
func (w *Switches) defers() bool {
	return w.Reload == settings.ReloadManual || w.Reload == settings.ReloadReplaySafe
}

// Holds reports whether changed rules wait.
func (s *Store) Holds() bool { return s.state.Load().switches.defers() }

// refreshOver is refresh of a layer as it was read last. If its files are broken by now, the
// rules that stay are those in use, and not ones that waited.
func (s *Store) refreshOver(ctx context.Context, last, inForce *layerState, how loadOptions) *layerState {
	n := s.refresh(ctx, last, how)
	if n.state == StateDegraded && last.digest != inForce.digest {
		n = s.refresh(ctx, inForce, how)
	}
	return n
}

// split returns what comes into use at once of rules that were read, and what waits.
func (s *Store) split(ctx context.Context, old *state, read shared) (use shared, held *change) {
	inForce := old.shared()
	use = read
	c := &change{rules: read, since: s.opts.now()}
	use.switches, c.unseen = stricter(inForce.switches, read.switches)
	if !reflect.DeepEqual(use.switches, read.switches) {
		use.base = inForce.base
		c.pieces = append(c.pieces, piece{layer: decisions.Base})
	}
	if n, waits := s.keep(ctx, inForce.org, read.org); waits {
		use.org = n
		c.pieces = append(c.pieces, piece{layer: decisions.Org})
		// The rules of people are read by org's descriptions of programs and agents.
		c.together = n.describedDigest() != read.org.describedDigest()
	}
	use.users = make(map[uint32]*layerState, len(read.users))
	for uid, n := range read.users {
		before := inForce.users[uid].withOrg(use.org)
		if c.together {
			use.users[uid] = before.kept(n, s.opts.now())
			if before.digest != n.digest {
				c.pieces = append(c.pieces, piece{decisions.User, uid})
			}
			continue
		}
		kept, waits := s.keep(ctx, before, n.withOrg(use.org))
		if use.users[uid] = kept; waits {
			c.pieces = append(c.pieces, piece{decisions.User, uid})
		}
	}
	if len(c.pieces) == 0 {
		return use, nil
	}
	slices.SortFunc(c.pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), cmp.Compare(a.uid, b.uid))
	})
	c.from, c.to = use.digest(), read.digest()
	if h := old.held; h != nil {
		c.since = h.since
		if h.from == c.from && h.to == c.to && slices.Equal(h.pieces, c.pieces) && reflect.DeepEqual(h.rules.switches, read.switches) {
			return use, h // with its trial
		}
	}
	return use, c
}

// digest identifies the rules of all layers.
func (sh *shared) digest() string {
	pieces := []string{sh.base.digest, sh.org.digest}
	for _, uid := range slices.Sorted(maps.Keys(sh.users)) {
		pieces = append(append(pieces, sh.users[uid].digest), sh.users[uid].quarantined...)
	}
	return source.Digest(append(pieces, sh.org.quarantined...), nil)
}

// keep returns the layer that is used where the files say now, and whether that must wait. A layer
// that has never been good has nothing to keep.
func (s *Store) keep(ctx context.Context, before, now *layerState) (n *layerState, waits bool) {
	if before.active == nil || before.digest == now.digest {
		return now, false
	}
	mixed, all, some := onlyStricter(before.nonEmpty, now.nonEmpty)
	if all && now.state != StateDegraded {
		return now, false
	}
	n = before.kept(now, s.opts.now())
	if some {
		built := *n
		built.lastDigest = ""
		if b := s.build(ctx, &built, mixed, nil); b.state != StateDegraded {
			b.nonEmpty, b.lastDigest = mixed, before.lastDigest
			return b, true
		}
	}
	return n, true
}

// kept is a layer that stays in use while now waits. Files that now doubts are doubted in it, too.
func (n *layerState) kept(now *layerState, at time.Time) *layerState {
	k := *n
	k.folders, k.recheckAt, k.seen = now.folders, now.recheckAt, nil
	if now.quarantined != nil {
		k.quarantined = now.quarantined
	}
	return k.succeed(at)
}

// with returns rules with pieces of those that wait in their places.
func (c *change) with(sh shared, pieces []piece) shared {
	sh.users = maps.Clone(sh.users)
	for _, p := range pieces {
		switch p.layer {
		case decisions.Base:
			sh.switches, sh.base = c.rules.switches, c.rules.base
		case decisions.Org:
			sh.org = c.rules.org
		case decisions.User, decisions.Project:
			sh.users[p.uid] = c.rules.users[p.uid]
		}
	}
	for uid, n := range sh.users {
		sh.users[uid] = n.withOrg(sh.org)
	}
	return sh
}

// TryHeld has past decisions replayed by rules that wait for it, and puts those in place that
// allow nothing more. trial is called with the rules in use and others, and must return when ctx is
// done. OnChange says when there may be others to try.
func (s *Store) TryHeld(ctx context.Context, trial func(ctx context.Context, before, after decisions.Policy) Trial) {
	for ctx.Err() == nil {
		st := s.state.Load()
		c := st.held
		if c == nil || c.found != nil || st.switches.Reload != settings.ReloadReplaySafe {
			return
		}
		safe, found := s.try(ctx, st, trial)
		switch {
		case ctx.Err() != nil:
		case safe != nil:
			s.admit(ctx, c, safe)
		default:
			s.update(func(now *state) bool {
				if now.held != c { // its files have changed meanwhile
					return false
				}
				after := *c
				after.found = found
				now.held = &after
				return true
			})
		}
	}
}

// try returns which pieces of the rules that wait allow nothing more: all, or else the first that
// does not by itself, so that nobody's rules wait for another's. If there are none, found says why.
func (s *Store) try(ctx context.Context, st *state, trial func(ctx context.Context, before, after decisions.Policy) Trial) (safe []piece, found *Trial) {
	c := st.held
	tries := [][]piece{c.pieces}
	for _, p := range c.pieces {
		if len(c.pieces) > 1 && !c.together {
			tries = append(tries, []piece{p})
		}
	}
	before := s.asideOf(st, st.shared())
	for _, pieces := range tries {
		t := Trial{At: s.opts.now()}
		if c.unseen != "" && slices.Contains(pieces, piece{layer: decisions.Base}) {
			t.Why = c.unseen + " in permd.toml has changed, and no replay shows what that changes"
		} else {
			t = trial(ctx, before, s.asideOf(st, c.with(st.shared(), pieces)))
		}
		switch {
		case ctx.Err() != nil || t.safe():
			return pieces, nil
		case found == nil:
			found = &t
		}
	}
	return nil, found
}

// admit puts pieces of rules that wait in place, unless others do by now.
func (s *Store) admit(ctx context.Context, c *change, pieces []piece) {
	s.mu.Lock()
	admitted := s.update(func(now *state) bool {
		if now.held != c {
			return false
		}
		now.use(c.with(now.shared(), pieces))
		now.held = nil
		if len(pieces) < len(c.pieces) {
			less := *c
			less.pieces = slices.DeleteFunc(slices.Clone(c.pieces), func(p piece) bool { return slices.Contains(pieces, p) })
			in := now.shared()
			less.from = in.digest()
			now.held = &less
		}
		return true
	})
	s.mu.Unlock()
	if admitted {
		s.loadProjectsLater(ctx)
		s.loadShadowLater(ctx)
	}
}

// aside is rules for evaluations in the background, which hold up no others.
type aside struct {
	store *Store
	snaps map[layerKey]*rules.Snapshot
}

// Snapshot implements [decisions.Policy]. A project whose rules are not loaded has none.
func (a aside) Snapshot(uid uint32, project string) (decisions.Snapshot, error) {
	at := a.store.at(uid, project)
	for _, key := range []layerKey{at, {uid: at.uid}} {
		if snap := a.snaps[key]; snap != nil {
			return snap, nil
		}
	}
	return nil, errNotReady
}

// asideOf returns the rules of a state with others in the place of those that hold in all projects.
func (s *Store) asideOf(st *state, sh shared) decisions.Policy {
	st = st.clone()
	st.use(sh)
	a := aside{s, map[layerKey]*rules.Snapshot{}}
	add := func(at layerKey, project *layerState) {
		is := s.basis(st, at.uid, project, s.trusts(st, project))
		is.Limiter = &s.shadowLimits
		for i, l := range is.Layers {
			is.Layers[i] = l.Apart()
		}
		snap := rules.NewSnapshot(is)
		snap.Keep(nil, nil)
		a.snaps[at] = snap
	}
	for uid := range st.users {
		add(layerKey{uid: uid}, nil)
	}
	for at, n := range st.projects {
		add(at, n)
	}
	return a
}

// digestOf is the digest of rules outside of projects, as that of a snapshot.
func (s *Store) digestOf(st *state, sh *shared) string {
	st = st.clone()
	st.use(*sh)
	uid := s.opts.UID
	if st.users[uid] == nil {
		return ""
	}
	return s.basis(st, uid, nil, false).Digest
}
