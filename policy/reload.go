package policy

import (
	"context"
	"errors"
	"reflect"
	"time"
)

// Reload looks at all files now and reports whether other rules are in use
// afterwards. The error joins what is wrong with each layer that is broken;
// their last good rules stay in use. It waits up to two seconds for files that are
// being changed at this moment.
func (s *Store) Reload(ctx context.Context) (changed bool, err error) {
	return s.reload(ctx, true)
}

// reload is Reload, because a person wants it at once, or by itself.
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

// stableSwitches reads the settings, and when they are other ones than before,
// until they are the same twice in a row: the file may be just being written.
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
