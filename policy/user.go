package policy

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/diag"
)

// userState returns the layer of a person before its files are read.
func (s *Store) userState(uid uint32) *layerState {
	n := &layerState{layer: decisions.User, uid: uid, used: new(atomic.Int64), delivered: s.deliveredUsers.Files, missing: s.deliveredUsers.Missing}
	if s.opts.UserDir == nil {
		return n
	}
	dir, err := s.opts.UserDir(uid)
	switch {
	case err != nil:
		var ps diag.List
		ps.Errorf(diag.Place{}, "", "finding the folder of rules of uid %d: %v", uid, err)
		n.degrade(ps, s.opts.now())
	case dir != "":
		n.dirs = []string{dir}
	}
	return n
}

// prepareUser loads the rules of a person.
func (s *Store) prepareUser(ctx context.Context, uid uint32) error {
	if st := s.state.Load(); s.current(st.users[uid], st) {
		return nil
	} else if n := st.users[uid]; n != nil && n.active != nil && st.switches.defers() {
		return n.err() // what has changed may have to wait, which Watch sees to
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state.Load()
	user := st.users[uid]
	if user == nil || len(user.dirs) == 0 {
		user = s.userState(uid)
	}
	next := s.refresh(ctx, user.withOrg(st.org), loadOptions{deadline: time.Now().Add(s.delays.load)})
	s.update(func(now *state) bool { now.users[uid] = next; return true })
	return next.err()
}
