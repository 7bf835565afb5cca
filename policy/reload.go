package policy

import (
	"context"
	"errors"
	"reflect"
	"time"
)

// Reload reads all files now and reports whether the rules in use have changed.
// The error joins the problems of each broken layer; their last good rules stay
// in use. It waits up to two seconds for files that are being changed.
func (s *Store) Reload(ctx context.Context) (changed bool, err error) {
	return s.reload(ctx, true)
}

// reload implements Reload; immediate says that a person requested it.
func (s *Store) reload(ctx context.Context, atOnce bool) (changed bool, err error) {
	how := loadOptions{deadline: time.Now().Add(s.delays.load), immediate: atOnce}
	old := s.state.Load()
	errs := s.loadShared(ctx, how)
	if how.immediate {
		how.deadline = time.Now().Add(s.delays.load)
		errs = append(errs, s.loadProjects(ctx, how))
		s.loadShadow(ctx, how.immediate)
	} else {
		s.loadShadowLater(ctx)
		s.loadProjectsLater(ctx)
	}
	st := s.state.Load()
	for at, snap := range st.snaps {
		if before := old.snaps[at]; before == nil || before.Digest() != snap.Digest() {
			changed = true
		}
	}
	return changed, errors.Join(errs...)
}

// loadShared loads settings and the rules that hold in all projects, and puts them in
// place.
func (s *Store) loadShared(ctx context.Context, how loadOptions) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.state.Load()
	switches, err := s.stableSwitches(ctx, old.switches)
	sw := old.switches
	if err == nil {
		sw = switches
	}
	errs := []error{err}
	base, org := s.refreshBase(ctx, old.base, sw), old.org
	if len(org.dirs) > 0 {
		org = s.refresh(ctx, org, how)
	}
	errs = append(errs, base.err(), org.err())
	users := make(map[uint32]*layerState, len(old.users))
	for uid, n := range old.users {
		if len(n.dirs) == 0 {
			n = s.userState(uid)
		}
		users[uid] = s.refresh(ctx, n.withOrg(org), how)
		errs = append(errs, users[uid].err())
	}
	s.update(func(st *state) bool {
		if (err == nil) != (st.settingsErr == nil) {
			st.settingsErrSince = s.opts.now()
		}
		st.settingsErr, st.switches, st.base, st.org, st.users = err, sw, base, org, users
		return true
	})
	return errs
}

// stableSwitches reads the settings. If they have changed, it reads until they
// are the same twice in a row, since the file may be being written.
func (s *Store) stableSwitches(ctx context.Context, old Switches) (Switches, error) {
	now, err := s.readSwitches()
	for end := time.Now().Add(s.delays.load); err != nil || !reflect.DeepEqual(now, old); {
		if !wait(ctx, s.delays.quiet) || time.Now().After(end) {
			return old, errors.New("the settings keep changing")
		}
		again, errAgain := s.readSwitches()
		if (err == nil) == (errAgain == nil) && reflect.DeepEqual(now, again) {
			return again, errAgain
		}
		now, err = again, errAgain
	}
	return now, err
}
