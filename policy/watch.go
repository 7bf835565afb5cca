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
	// debounceDelay is how long Watch waits after the first event, so that a
	// change of several files is read as one. Later events do not extend it: a
	// file that is written constantly must not postpone reloading for ever.
	debounceDelay = 150 * time.Millisecond
	// pollInterval is how often Watch reloads without an event: not all changes
	// are reported (network file systems, overflows, replaced folders).
	pollInterval = 20 * time.Second
	// maxRounds bounds how often in a row newly watched folders make Watch
	// reload for changes that came before the watch.
	maxRounds = 3
)

// Watch keeps the rules up to date as their files change, until ctx is done.
// Events are only a hint: only the contents of the files count. It must be
// called at most once; problems are in Status.
func (s *Store) Watch(ctx context.Context) {
	w := &watcher{store: s, watched: map[string]*watch{}}
	w.start()
	defer w.stop()
	w.reload(ctx)
	poll := time.NewTicker(s.pollInterval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.events:
			switch {
			case !ok:
				w.stop() // the next poll starts it again
			case w.relevant(e.Name):
				w.arm(time.Now().Add(debounceDelay))
			}
		case _, ok := <-w.errs:
			// Usually an overflow: anything may have changed. Errors must be
			// drained, or the watcher stops.
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

// debounce merges many events into one.
type debounce struct {
	due <-chan time.Time // nil if nothing is pending
	at  time.Time
}

// arm schedules a reload at a time, unless an earlier one is scheduled.
func (d *debounce) arm(at time.Time) {
	if d.due == nil || at.Before(d.at) {
		d.due, d.at = time.After(time.Until(at)), at
	}
}

func (d *debounce) disarm() { d.due = nil }

type watcher struct {
	debounce
	store   *Store
	notify  *fsnotify.Watcher // nil if the system reports no events
	events  <-chan fsnotify.Event
	errs    <-chan error
	watched map[string]*watch
	dirs    []string // folders of rules, watched or not
}

// watch is a watched folder.
type watch struct {
	// byName is false if the system watches it under another of its names.
	// Removing it by its own name would remove that watch.
	byName bool
	info   fs.FileInfo // its identity: a link may have a new target
}

// start subscribes to the system's events, if not subscribed.
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

// stop cancels the subscription.
func (w *watcher) stop() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
	w.notify, w.events, w.errs = nil, nil, nil
	clear(w.watched)
}

// reload reloads, and again if there are folders that were not watched before:
// they may have changed in between.
func (w *watcher) reload(ctx context.Context) {
	for range maxRounds {
		// Problems of a layer are in its status.
		_, _ = w.store.reload(ctx, false)
		if !w.updateWatches() {
			break
		}
	}
	w.scheduleRecheck()
}

// scheduleRecheck schedules a reload for layers that must be read again without
// an event.
func (w *watcher) scheduleRecheck() {
	if at := w.store.nextRecheck(); !at.IsZero() {
		if soon := time.Now().Add(debounceDelay); at.Before(soon) {
			at = soon
		}
		w.arm(at)
	}
}

// updateWatches watches the folders of all layers and reports whether one is
// new, or was replaced under its old name.
func (w *watcher) updateWatches() bool {
	var want []string
	w.dirs, want = w.store.folders()
	if w.notify == nil {
		return false
	}
	// One folder may have two names, and removing one of them removes both: so
	// watches that are no longer needed are removed first.
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
		// Before watching it: if it is replaced in between, it will look new
		// the next time, which only costs another reload.
		if !w.store.local(dir) {
			continue // there are no events of it; polling finds its changes
		}
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
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR): // otherwise its parent reports when it appears
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

// limitErr returns an error of the watcher with the name of the limit that was
// reached.
func limitErr(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return "too many watchers or open files (fs.inotify.max_user_instances)"
	case errors.Is(err, syscall.ENOSPC):
		return "too many watched folders (fs.inotify.max_user_watches)"
	}
	return diag.WithoutPath(err)
}

// relevant reports whether a name is in a folder of rules or on the path to
// one. Parents are watched for folders that come and go; other events in them,
// a home folder or a project's root, must not cause a reload.
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

// folders returns the folders that are searched for rules, and those to watch:
// the folders themselves, their subfolders, and their parents, since a replaced
// folder causes no event of its own.
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
		if !s.local(n.dirs[0]) {
			continue
		}
		first, levels := n.dirs[0], 2
		if n.layer == decisions.Project {
			levels = 1 // farther up, polling finds new folders
		}
		watch = append(watch, parents(first, levels)...)
		// Events use the names of a link's target.
		if real := resolvePath(first, maxLinks); real != first {
			dirs = append(dirs, real)
			watch = append(watch, parents(real, levels)...)
		}
	}
	slices.Sort(watch)
	return dirs, slices.Compact(watch)
}

// local reports whether a folder can be looked at without waiting for anybody.
func (s *Store) local(dir string) bool { return s.opts.Files == nil || s.opts.Files.Local(dir) }

// maxLinks bounds the length of a chain of dangling links.
const maxLinks = 8

// resolvePath returns a folder's path without links, even if it does not exist at
// the moment: then its link still gives the expected path.
func resolvePath(dir string, links int) string {
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
	return filepath.Join(resolvePath(filepath.Dir(dir), links), filepath.Base(dir))
}

// parents returns the parent folders of a folder that exist, up to a number of
// levels.
func parents(dir string, levels int) []string {
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

// nextRecheck returns when a layer must be read again without an event, zero if
// none must.
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
	s.update(func(st *state) bool {
		changed := st.watchError != text
		st.watchError = text
		return changed
	})
}
