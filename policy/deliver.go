package policy

import (
	"context"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/weight"
)

// Delivered are rules that no folder has: those of a bundle. They are part of the layer as the
// files of its folder are, which stay in use besides.
type Delivered struct {
	Files []source.File
	// Missing is why there are none although there should be, "" if there are. Then every call
	// asks that the other files of the layer do not deny, as with rules that have never been good.
	Missing string
}

// openOrg loads the rules of org when the store is opened. Broken files are an error. Rules that
// were delivered and are broken are not: the next that are delivered may be good, and until then
// they are missing.
func (s *Store) openOrg(ctx context.Context, how loadOptions) (*layerState, error) {
	n := &layerState{layer: decisions.Org}
	if s.opts.OrgDir != "" {
		n.dirs = []string{s.opts.OrgDir}
	}
	if d := s.opts.Delivered; d != nil {
		n.delivered, n.missing = d.Files, d.Missing
	}
	org := s.refresh(ctx, n, how)
	if err := org.err(); err != nil && len(n.delivered) > 0 {
		n.delivered, n.missing = nil, "the bundle that was kept cannot be used: "+err.Error()
		org = s.refresh(ctx, n, how)
	}
	if org.missing != "" && org.active != nil {
		return org, nil
	}
	return org, org.err()
}

// Deliver puts rules of org in use, in the place of those that were delivered before. They go
// through all that files go through: if they do not compile, or a test fails, an error says so and
// nothing changes. commit, if not nil, is called before they are in use; if it fails, they are not.
// The files of org's folder, and those of people, count as they are in use, so that nothing else
// comes into use with a bundle.
func (s *Store) Deliver(ctx context.Context, files []source.File, commit func() error) error {
	s.mu.Lock()
	st := s.state.Load()
	next := *st.org
	next.delivered, next.missing, next.lastDigest, next.state, next.problems = files, "", "", "", nil
	all := slices.Concat(s.localInUse(st.org), files)
	built, err := &next, weight.CheckText(decisions.Org, all)
	if err == nil {
		built = s.build(ctx, &next, all, nil)
		err = built.err()
	}
	if err == nil && commit != nil {
		err = commit()
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	built.nonEmpty = source.NonEmpty(all)
	users := map[uint32]*layerState{}
	for uid, n := range st.users {
		users[uid] = s.underOrg(ctx, n, built, built.describedDigest() != st.org.describedDigest())
	}
	again := st.held != nil || st.org.state == StateDegraded
	s.update(func(now *state) bool {
		now.org, now.held = built, nil
		for uid, n := range users {
			now.users[uid] = n
		}
		return true
	})
	s.mu.Unlock()
	if again { // what waits, or is broken, is that still
		_, _ = s.reload(ctx, loadOptions{}) // problems are in the status
		return nil
	}
	s.loadProjectsLater(ctx)
	s.loadShadowLater(ctx)
	return nil
}

// Withhold has every call ask that the files of a layer, that of org or those of people, do not deny,
// since rules that should be delivered are not there. What was delivered before stays in use; then
// it does nothing.
func (s *Store) Withhold(ctx context.Context, layer decisions.Layer, why string) {
	s.mu.Lock()
	withhold := func(n *layerState) *layerState {
		next := *n
		next.missing = why
		return next.degrade(missingProblem(why), s.opts.now())
	}
	st := s.state.Load()
	switch {
	case layer == decisions.Org && st.org.delivered == nil && st.org.missing != why:
		s.update(func(now *state) bool { now.org, now.held = withhold(now.org), nil; return true })
	case layer == decisions.User && s.deliveredUsers.Files == nil && s.deliveredUsers.Missing != why:
		s.deliveredUsers.Missing = why
		s.update(func(now *state) bool {
			for uid, n := range now.users {
				now.users[uid] = withhold(n)
			}
			now.held = nil
			return true
		})
	default:
		st = nil
	}
	s.mu.Unlock()
	if st != nil && st.held != nil { // what waits does that still
		_, _ = s.reload(ctx, loadOptions{}) // problems are in the status
	}
}

// localInUse returns the files of a layer's folder that are in use: with its tests, unless it has
// changed meanwhile.
func (s *Store) localInUse(n *layerState) []source.File {
	files := n.nonEmpty
	if r := s.readOnce(n); !r.problems.Failed() && r.digest == n.digest {
		files = r.files
	}
	return slices.DeleteFunc(slices.Clone(files), func(f source.File) bool { return !slices.Contains(n.dirs, f.Dir) })
}

// underOrg returns a person's layer with other rules of org above it, whose descriptions of
// programs and agents may be others.
func (s *Store) underOrg(ctx context.Context, n, org *layerState, described bool) *layerState {
	n = n.withOrg(org)
	if !described || n.active == nil {
		return n
	}
	n.lastDigest = ""
	b := s.build(ctx, n, n.nonEmpty, nil)
	b.lastDigest = "" // read again, with the tests
	return b
}

// missingProblem says that rules should have been delivered.
func missingProblem(why string) diag.List {
	var ps diag.List
	ps.Errorf(diag.Place{}, "permd status shows where the bundle should come from", "%s", why)
	return ps
}

// hasLocal reports whether files of its folder are in use, and not only delivered ones.
func (n *layerState) hasLocal() bool {
	return slices.ContainsFunc(n.nonEmpty, func(f source.File) bool { return slices.Contains(n.dirs, f.Dir) })
}

// Missing returns why rules of org or of people that should have been delivered are not in use, ""
// if they are.
func (s *Store) Missing(layer decisions.Layer) string {
	if layer != decisions.User {
		return s.state.Load().org.missing
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deliveredUsers.Missing
}
