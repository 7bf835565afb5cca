package policy

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/lexpath"
)

const (
	// settle is how long Watch waits from the first event on, so that a change
	// of several files is read as one. Later events do not push it back: a file
	// that is written all the time must not put off reloading for ever.
	settle = 150 * time.Millisecond
	// pollEvery is how often Watch looks without being told: not all changes
	// are reported (network file systems, overflows, replaced folders).
	pollEvery = 20 * time.Second
	// maxRounds bounds how often in a row newly watched folders make Watch look
	// again for what may have changed before it watched.
	maxRounds = 3
)

// Watch brings the rules up to date whenever their files change, until ctx is
// done. Events are only a hint: what counts is what the files then hold. It
// must be called once at most; what is wrong is in Status.
func (s *Store) Watch(ctx context.Context) {
	w := &watcher{store: s, watched: map[string]*watch{}}
	w.begin()
	defer w.end()
	w.look(ctx)
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.events:
			switch {
			case !ok:
				w.end() // the next poll begins again
			case w.matters(e.Name):
				w.arm(time.Now().Add(settle))
			}
		case _, ok := <-w.errs:
			// An overflow most of the time: anything may have changed. Errors
			// must be drained, or the watcher stops.
			if !ok {
				w.end()
			} else {
				w.arm(time.Now().Add(settle))
			}
		case <-s.moved:
			if w.follow() {
				w.arm(time.Now().Add(settle))
			}
			w.remind()
		case <-poll.C:
			w.begin()
			w.look(ctx)
		case <-w.due:
			w.disarm()
			w.look(ctx)
		}
	}
}

// debounce turns many events into one.
type debounce struct {
	due <-chan time.Time // nil when nothing has happened
	at  time.Time
}

// arm says that something happened that is to be looked at then, or earlier if
// something else is.
func (d *debounce) arm(at time.Time) {
	if d.due == nil || at.Before(d.at) {
		d.due, d.at = time.After(time.Until(at)), at
	}
}

func (d *debounce) disarm() { d.due = nil }

type watcher struct {
	debounce
	store   *Store
	notify  *fsnotify.Watcher // nil when the system gives none
	events  <-chan fsnotify.Event
	errs    <-chan error
	watched map[string]*watch
	dirs    []string // folders of rules, watched or not
}

// watch is a folder that is watched.
type watch struct {
	// byName is false when the system watches it by another of its names. By
	// its own it would say that the folder has gone.
	byName bool
	info   fs.FileInfo // which one it is: a link may lead to another now
}

// begin asks the system for events, if it does not send any.
func (w *watcher) begin() {
	if w.notify != nil {
		return
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.store.setBlindTo("watching for changes: " + limitErr(err))
		return
	}
	w.notify, w.events, w.errs = notify, notify.Events, notify.Errors
}

// end gives the events back.
func (w *watcher) end() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
	w.notify, w.events, w.errs = nil, nil, nil
	clear(w.watched)
}

// look reloads, and again when there are folders that were not watched before:
// they may have changed in between.
func (w *watcher) look(ctx context.Context) {
	for range maxRounds {
		// What is wrong with a layer is in its status.
		_, _ = w.store.reload(ctx, false)
		if !w.follow() {
			break
		}
	}
	w.remind()
}

// remind arms for the layers that are to be looked at again without an event.
func (w *watcher) remind() {
	if at := w.store.again(); !at.IsZero() {
		if soon := time.Now().Add(settle); at.Before(soon) {
			at = soon
		}
		w.arm(at)
	}
}

// follow watches the folders of all layers and reports whether one is new, also
// if it is another one under an old name.
func (w *watcher) follow() bool {
	var want []string
	w.dirs, want = w.store.folders()
	if w.notify == nil {
		return false
	}
	// One folder may have two names, and to drop the one drops the other: so
	// what is of no interest any more goes first.
	for dir := range w.watched {
		if _, ok := slices.BinarySearch(want, dir); !ok {
			_ = w.notify.Remove(dir)
			delete(w.watched, dir)
		}
	}
	listed := map[string]bool{}
	for _, dir := range w.notify.WatchList() {
		listed[dir] = true
	}
	grew, trouble := false, ""
	for _, dir := range want {
		// Before it is watched: if it is replaced in between, it will look new
		// the next time, which costs a look more, and not the other way round.
		info, _ := os.Stat(dir)
		switch err := w.notify.Add(dir); {
		case err == nil:
			known := w.watched[dir]
			grew = grew || known == nil || known.byName && !listed[dir] || !os.SameFile(known.info, info)
			if known == nil {
				known = &watch{byName: slices.Contains(w.notify.WatchList(), dir)}
				w.watched[dir] = known
			}
			known.info = info
			continue
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR): // else its parent tells when it comes
			trouble = "watching " + dir + ": " + limitErr(err)
		}
		if w.watched[dir] != nil {
			_ = w.notify.Remove(dir) // gone
			delete(w.watched, dir)
		}
	}
	w.store.setBlindTo(trouble)
	return grew
}

// limitErr is an error of the watcher, with the name of the limit behind it.
func limitErr(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return "too many watchers or open files (fs.inotify.max_user_instances)"
	case errors.Is(err, syscall.ENOSPC):
		return "too many watched folders (fs.inotify.max_user_watches)"
	}
	return plainErr(err)
}

// matters reports whether a name lies in a folder of rules or on the way to
// one. Parents are watched for folders that come and go; whatever else happens
// in them, a home or a project's root, must not cost a reload.
func (w *watcher) matters(name string) bool {
	if strings.HasPrefix(filepath.Base(name), "..") {
		return true // a ConfigMap is swapped by renaming ..data
	}
	for _, dir := range w.dirs {
		if lexpath.In(dir, name) || lexpath.In(name, dir) {
			return true
		}
	}
	return false
}

// folders returns the folders that rules are looked for in, and those to watch:
// they themselves, what is in them, and what they are in, since a folder that is
// replaced does not say so itself.
func (s *Store) folders() (dirs, watch []string) {
	st := s.state.Load()
	slots := []*slot{st.org}
	for _, n := range st.users {
		slots = append(slots, n)
	}
	for _, n := range st.projects {
		slots = append(slots, n)
	}
	for _, n := range slots {
		dirs = append(dirs, n.dirs...)
		watch = append(append(watch, n.dirs...), n.watch...)
		if len(n.dirs) == 0 {
			continue
		}
		first, levels := n.dirs[0], 2
		if n.layer == decisions.Project {
			levels = 1 // farther up, the poll finds new folders
		}
		watch = append(watch, above(first, levels)...)
		// Where a link leads, the names of events are other ones.
		if real := resolved(first, maxLinks); real != first {
			dirs = append(dirs, real)
			watch = append(watch, above(real, levels)...)
		}
	}
	slices.Sort(watch)
	return dirs, slices.Compact(watch)
}

// maxLinks bounds how many links that lead nowhere are followed one after the
// other.
const maxLinks = 8

// resolved is a folder's path without links, also when it is not there at the
// moment: then its link still says where it is expected.
func resolved(dir string, links int) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	up := filepath.Dir(dir)
	if up == dir || links == 0 {
		return dir
	}
	if to, err := os.Readlink(dir); err == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Join(up, to)
		}
		dir, links = to, links-1
	}
	return filepath.Join(resolved(filepath.Dir(dir), links), filepath.Base(dir))
}

// above returns the folders above one, up to so many that exist.
func above(dir string, levels int) []string {
	var out []string
	for levels > 0 && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		out = append(out, dir)
		if _, err := os.Stat(dir); err == nil {
			levels--
		}
	}
	return out
}

// again returns when a layer is to be looked at without an event, zero if none
// is.
func (s *Store) again() time.Time {
	st := s.state.Load()
	var first time.Time
	note := func(n *slot) {
		if !n.again.IsZero() && (first.IsZero() || n.again.Before(first)) {
			first = n.again
		}
	}
	note(st.org)
	for _, n := range st.users {
		note(n)
	}
	for _, n := range st.projects {
		note(n)
	}
	return first
}

func (s *Store) setBlindTo(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.state.Load(); st.blindTo != text {
		st = st.clone()
		st.blindTo = text
		s.publish(st)
	}
}
