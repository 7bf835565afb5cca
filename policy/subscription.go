package policy

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"github.com/permd/permd/policy/diag"
)

// subscription is a subscription to the system's events of folders. One goroutine uses
// it at a time.
type subscription struct {
	notify  *fsnotify.Watcher // nil if the system reports no events
	events  <-chan fsnotify.Event
	errs    <-chan error
	watched map[string]*watch
	stat    func(dir string) (fs.FileInfo, error)
}

// watch is a watched folder.
type watch struct {
	// byName is false if the system watches it under another of its names.
	// Removing it by its own name would remove that watch.
	byName bool
	info   fs.FileInfo // its identity: a link may have a new target
}

// watchesUpdate is what has become of the watches.
type watchesUpdate struct {
	dirs    []string // folders of rules, watched or not
	grew    bool     // one is new, or was replaced under its old name
	trouble string   // why changes may not be seen, "" if they are
}

// start subscribes, if not subscribed.
func (w *subscription) start() error {
	if w.notify != nil {
		return nil
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	w.notify, w.events, w.errs, w.watched = notify, notify.Events, notify.Errors, map[string]*watch{}
	return nil
}

// stop cancels the subscription.
func (w *subscription) stop() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
	w.notify, w.events, w.errs, w.watched = nil, nil, nil, nil
}

// update watches the folders of all layers.
func (w *subscription) update(s *Store) (u watchesUpdate) {
	var want []string
	u.dirs, want = s.folders()
	if w.notify == nil {
		return u
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
	for _, dir := range want {
		if !s.local(dir) {
			continue // there are no events of it; polling finds its changes
		}
		// Before watching it: if it is replaced in between, it will look new
		// the next time, which only costs another reload.
		info, _ := w.stat(dir)
		switch err := w.notify.Add(dir); {
		case err == nil:
			known := w.watched[dir]
			u.grew = u.grew || known == nil || known.byName && !listed[dir] || !os.SameFile(known.info, info)
			if known == nil {
				known = &watch{byName: slices.Contains(w.notify.WatchList(), dir)}
				w.watched[dir] = known
			}
			known.info = info
			continue
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR): // otherwise its parent reports when it appears
			u.trouble = "watching " + dir + ": " + limitErr(err)
		}
		if w.watched[dir] != nil {
			_ = w.notify.Remove(dir) // gone
			delete(w.watched, dir)
		}
	}
	return u
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
