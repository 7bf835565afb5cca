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
	"github.com/permd/permd/policy/diag"
)

const (
	// debounceDelay is how long Watch waits from the first event on, so that a change
	// of several files is read as one. Later events do not push it back: a file
	// that is written all the time must not put off reloading for ever.
	debounceDelay = 150 * time.Millisecond
	// pollInterval is how often Watch looks without being told: not all changes
	// are reported (network file systems, overflows, replaced folders).
	pollInterval = 20 * time.Second
	// maxRounds bounds how often in a row newly watched folders make Watch look
	// again for what may have changed before it watched.
	maxRounds = 3
)

// Watch brings the rules up to date whenever their files change, until ctx is
// done. Events are only a hint: what counts is what the files then hold. It
// must be called once at most; what is wrong is in Status.
func (s *Store) Watch(ctx context.Context) {
	w := &watcher{store: s, watched: map[string]*watch{}}
	w.start()
	defer w.stop()
	w.reload(ctx)
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.events:
			switch {
			case !ok:
				w.stop() // the next poll begins again
			case w.relevant(e.Name):
				w.arm(time.Now().Add(debounceDelay))
			}
		case _, ok := <-w.errs:
			// An overflow most of the time: anything may have changed. Errors
			// must be drained, or the watcher stops.
			if !ok {
				w.stop()
			} else {
				w.arm(time.Now().Add(debounceDelay))
			}
		case <-s.foldersChanged:
			if w.updateWatches() {
				w.arm(time.Now().Add(debounceDelay))
			}
			w.scheduleRecheck()
		case <-poll.C:
			w.start()
			w.reload(ctx)
		case <-w.due:
			w.disarm()
			w.reload(ctx)
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

// start asks the system for events, if it does not send any.
func (w *watcher) start() {
	if w.notify != nil {
		return
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.store.setWatchError("watching for changes: " + limitErr(err))
		return
	}
	w.notify, w.events, w.errs = notify, notify.Events, notify.Errors
}

// stop gives the events back.
func (w *watcher) stop() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
	w.notify, w.events, w.errs = nil, nil, nil
	clear(w.watched)
}

// reload reloads, and again when there are folders that were not watched before:
// they may have changed in between.
func (w *watcher) reload(ctx context.Context) {
	for range maxRounds {
		// What is wrong with a layer is in its status.
		_, _ = w.store.reload(ctx, false)
		if !w.updateWatches() {
			break
		}
	}
	w.scheduleRecheck()
}

// scheduleRecheck arms for the layers that are to be looked at again without an event.
func (w *watcher) scheduleRecheck() {
	if at := w.store.nextRecheck(); !at.IsZero() {
		if soon := time.Now().Add(debounceDelay); at.Before(soon) {
			at = soon
		}
		w.arm(at)
	}
}

// updateWatches watches the folders of all layers and reports whether one is new, also
// if it is another one under an old name.
func (w *watcher) updateWatches() bool {
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
	w.store.setWatchError(trouble)
	return grew
}

// limitErr is an error of the watcher, with the name of the limit that was reached.
func limitErr(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return "too many watchers or open files (fs.inotify.max_user_instances)"
	case errors.Is(err, syscall.ENOSPC):
		return "too many watched folders (fs.inotify.max_user_watches)"
	}
	return diag.WithoutPath(err)
}

// relevant reports whether a name lies in a folder of rules or on the way to
// one. Parents are watched for folders that come and go; whatever else happens
// in them, a home or a project's root, must not cost a reload.
func (w *watcher) relevant(name string) bool {
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
	slots := []*layerState{st.org}
	for _, n := range st.users {
		slots = append(slots, n)
	}
	for _, n := range st.projects {
		slots = append(slots, n)
	}
	for _, n := range slots {
		dirs = append(dirs, n.dirs...)
		watch = append(append(watch, n.dirs...), n.folders...)
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

// nextRecheck returns when a layer is to be looked at without an event, zero if none
// is.
func (s *Store) nextRecheck() time.Time {
	st := s.state.Load()
	var first time.Time
	note := func(n *layerState) {
		if !n.recheckAt.IsZero() && (first.IsZero() || n.recheckAt.Before(first)) {
			first = n.recheckAt
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

func (s *Store) setWatchError(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.state.Load(); st.watchError != text {
		st = st.clone()
		st.watchError = text
		s.publish(st)
	}
}
