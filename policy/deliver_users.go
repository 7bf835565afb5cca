package policy

import (
	"context"
	"maps"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/weight"
)

// openUsers notes which rules are delivered for the layers of people when the store is opened.
// Broken ones are missing, as in openOrg.
func (s *Store) openUsers(ctx context.Context, org *layerState) {
	if s.opts.DeliveredUsers == nil {
		return
	}
	s.deliveredUsers = *s.opts.DeliveredUsers
	if err := s.checkUsers(ctx, org, s.deliveredUsers.Files); err != nil {
		s.deliveredUsers = Delivered{Missing: "the bundle that was kept cannot be used: " + err.Error()}
	}
}

// checkUsers returns an error if rules could be those of nobody: they do not compile, or a test
// fails, without the files of anybody.
func (s *Store) checkUsers(ctx context.Context, org *layerState, files []source.File) error {
	if len(files) == 0 {
		return nil
	}
	if err := weight.CheckText(decisions.User, files); err != nil {
		return err
	}
	n := &layerState{layer: decisions.User, uid: nobody, delivered: files}
	built := s.build(ctx, n.withOrg(org), files, nil)
	s.compiling.Lock()
	s.weights.Drop(decisions.User, nobody)
	s.compiling.Unlock()
	return built.err()
}

// nobody is the uid of a layer that nobody has. The kernel uses it for no user.
const nobody = 1<<32 - 1

// DeliverUsers puts rules in use in the layer of each person, in the place of those that were
// delivered before. If they are good by themselves, they come into use for everybody whose own files
// they go with; where they do not, what was in use stays, and the status of that layer says why: a
// person's files must not keep rules from others. commit is as in [Store.Deliver].
func (s *Store) DeliverUsers(ctx context.Context, files []source.File, commit func() error) error {
	s.mu.Lock()
	st := s.state.Load()
	err := s.checkUsers(ctx, st.org, files)
	if err == nil && commit != nil {
		err = commit()
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.deliveredUsers = Delivered{Files: files}
	users, again := map[uint32]*layerState{}, st.held != nil
	for uid, n := range st.users {
		users[uid] = s.deliverTo(ctx, n.withOrg(st.org), files)
		again = again || n.state == StateDegraded
	}
	s.update(func(now *state) bool {
		now.held = nil
		maps.Copy(now.users, users)
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

// deliverTo returns a person's layer with rules that are delivered. Files of the person that have
// never been good are not left out: nothing but their denies would count then.
func (s *Store) deliverTo(ctx context.Context, n *layerState, files []source.File) *layerState {
	next := *n
	next.delivered, next.missing, next.lastDigest = files, "", ""
	if n.active == nil {
		return s.refresh(ctx, &next, loadOptions{})
	}
	next.state, next.problems = "", nil
	all := slices.Concat(s.localInUse(n), files)
	built := s.build(ctx, &next, all, nil)
	built.nonEmpty = source.NonEmpty(all) // what was delivered before was not removed by the person
	return built
}
