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
	s.mu.Lock()
	defer s.mu.Unlock()
	how := loadOptions{deadline: time.Now().Add(loadTimeout), immediate: atOnce}
	old := s.state.Load()
	st := old.clone()
	switches, err := s.stableSwitches(ctx, old.switches)
	if (err == nil) != (old.settingsErr == nil) {
		st.settingsErrSince = s.opts.now()
	}
	if st.settingsErr = err; err == nil {
		st.switches = switches
	}
	errs := []error{err}
	st.base = s.refreshBase(ctx, old.base, st.switches)
	if len(old.org.dirs) > 0 {
		st.org = s.refresh(ctx, old.org, how)
	}
	errs = append(errs, st.base.err(), st.org.err())
	for uid, n := range old.users {
		if len(n.dirs) == 0 {
			n = s.userState(uid)
		}
		st.users[uid] = s.refresh(ctx, n.withOrg(st.org), how)
		errs = append(errs, st.users[uid].err())
	}
	for at, n := range old.projects {
		st.projects[at] = s.refresh(ctx, n.withOrg(st.org), how)
		errs = append(errs, st.projects[at].err())
	}
	s.publish(st)
	for at, snap := range st.snaps {
		if before := old.snaps[at]; before == nil || before.digest != snap.digest {
			changed = true
		}
	}
	return changed, errors.Join(errs...)
}

// stableSwitches reads the settings. If they have changed, it reads until they
// are the same twice in a row, since the file may be being written.
func (s *Store) stableSwitches(ctx context.Context, old Switches) (Switches, error) {
	now, err := s.readSwitches()
	for end := time.Now().Add(loadTimeout); err != nil || !reflect.DeepEqual(now, old); {
		if !wait(ctx, quietPeriod) || time.Now().After(end) {
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
