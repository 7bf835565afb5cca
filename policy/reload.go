package policy

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"time"
)

// Reload reads all files now and reports whether the rules in use have changed.
// The error joins the problems of each broken layer; their last good rules stay
// in use. It waits up to two seconds for files that are being changed. What waits
// comes into use as well.
func (s *Store) Reload(ctx context.Context) (changed bool, err error) {
	return s.ReloadIf(ctx, "")
}

// ReloadIf is Reload, if the rules outside of projects have a digest then; "" for any.
func (s *Store) ReloadIf(ctx context.Context, digest string) (changed bool, err error) {
	return s.reload(ctx, loadOptions{immediate: true, digest: digest})
}

// reload implements Reload.
func (s *Store) reload(ctx context.Context, how loadOptions) (changed bool, err error) {
	how.deadline = time.Now().Add(s.delays.load)
	old := s.state.Load()
	errs := s.loadShared(ctx, how)
	if slices.Contains(errs, errOtherRules) {
		return false, errors.Join(errs...)
	}
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

// errOtherRules is the error of ReloadIf if the rules have another digest.
var errOtherRules = errors.New("the files are not the ones that were replayed: they have changed meanwhile, or an earlier file still counts; nothing was reloaded")

// loadShared loads settings and the rules that hold in all projects, and puts them in
// place.
func (s *Store) loadShared(ctx context.Context, how loadOptions) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.state.Load()
	inForce := old.shared()
	last := inForce // as it was read last
	if old.held != nil {
		last = old.held.rules
	}
	switches, err := s.stableSwitches(ctx, last.switches)
	read := shared{switches: inForce.switches, org: last.org, users: make(map[uint32]*layerState, len(last.users))}
	if err == nil {
		read.switches = switches
	}
	if read.base = s.refreshBase(ctx, last.base, read.switches); read.base.state == StateDegraded {
		read.base = s.refreshBase(ctx, inForce.base, read.switches)
	}
	errs := []error{err, read.base.err()}
	if len(last.org.dirs) > 0 {
		read.org = s.refreshOver(ctx, last.org, inForce.org, how)
	}
	errs = append(errs, read.org.err())
	for uid, n := range inForce.users {
		from := cmp.Or(last.users[uid], n)
		if len(n.dirs) == 0 {
			n = s.userState(uid)
			from = n
		}
		read.users[uid] = s.refreshOver(ctx, from.withOrg(read.org), n.withOrg(read.org), how)
		errs = append(errs, read.users[uid].err())
	}
	if digest := s.digestOf(old, &read); digest != "" && how.digest != "" && digest != how.digest {
		return append(errs, errOtherRules)
	}
	use, held := read, (*change)(nil)
	if !how.immediate && inForce.switches.defers() {
		use, held = s.split(ctx, old, read)
	}
	s.update(func(st *state) bool {
		if (err == nil) != (st.settingsErr == nil) {
			st.settingsErrSince = s.opts.now()
		}
		st.settingsErr, st.held = err, held
		st.use(use)
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
