// Package fileevents watches folders for changes, with the system's events. It does not
// know what is in the folders.
package fileevents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"github.com/permd/permd/policy/diag"
)

// Watcher watches folders. One goroutine uses it at a time.
type Watcher struct {
	// Events and Errs are nil while the system reports no events. Both must be
	// read, or the watcher stops.
	Events <-chan fsnotify.Event
	Errs   <-chan error
	// Stat looks at a folder; os.Stat if nil.
	Stat func(dir string) (fs.FileInfo, error)

	notify  *fsnotify.Watcher // nil if the system reports no events
	watched map[string]*watch
}

// watch is a watched folder.
type watch struct {
	// byName is false if the system watches it under another of its names.
	// Removing it by its own name would remove that watch.
	byName bool
	info   fs.FileInfo // its identity: a link may have a new target
}

// Start subscribes to the system's events, if not subscribed.
func (w *Watcher) Start() error {
	if w.notify != nil {
		return nil
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching for changes: %s", limitOf(err))
	}
	w.notify, w.Events, w.Errs, w.watched = notify, notify.Events, notify.Errors, map[string]*watch{}
	return nil
}

// Started reports whether there is a subscription.
func (w *Watcher) Started() bool { return w.notify != nil }

// Stop cancels the subscription.
func (w *Watcher) Stop() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
	w.notify, w.Events, w.Errs, w.watched = nil, nil, nil, nil
}

// Watch watches these folders, in order of their names, and no others, and reports
// whether one is new, or was replaced under its old name. A folder that is not local is
// left out. The error says which changes are not seen.
//
// It hangs if a folder's file system does not answer, which local is to prevent.
func (w *Watcher) Watch(folders []string, local func(dir string) bool) (grew bool, err error) {
	if w.notify == nil {
		return false, nil
	}
	stat := w.Stat
	if stat == nil {
		stat = os.Stat
	}
	// One folder may have two names, and removing one of them removes both: so
	// watches that are no longer needed are removed first.
	for dir := range w.watched {
		if _, ok := slices.BinarySearch(folders, dir); !ok {
			_ = w.notify.Remove(dir)
			delete(w.watched, dir)
		}
	}
	listed := map[string]bool{}
	for _, dir := range w.notify.WatchList() {
		listed[dir] = true
	}
	for _, dir := range folders {
		if !local(dir) {
			continue // there are no events of it; polling finds its changes
		}
		// Before watching it: if it is replaced in between, it will look new
		// the next time, which only costs another reload.
		info, _ := stat(dir)
		switch aerr := w.notify.Add(dir); {
		case aerr == nil:
			known := w.watched[dir]
			grew = grew || known == nil || known.byName && !listed[dir] || !os.SameFile(known.info, info)
			if known == nil {
				known = &watch{byName: slices.Contains(w.notify.WatchList(), dir)}
				w.watched[dir] = known
			}
			known.info = info
			continue
		case !errors.Is(aerr, fs.ErrNotExist) && !errors.Is(aerr, syscall.ENOTDIR): // otherwise its parent reports when it appears
			err = fmt.Errorf("watching %s: %s", dir, limitOf(aerr))
		}
		if w.watched[dir] != nil {
			_ = w.notify.Remove(dir) // gone
			delete(w.watched, dir)
		}
	}
	return grew, err
}

// limitOf returns an error of the system with the name of the limit that was reached.
func limitOf(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return "too many watchers or open files (fs.inotify.max_user_instances)"
	case errors.Is(err, syscall.ENOSPC):
		return "too many watched folders (fs.inotify.max_user_watches)"
	}
	return diag.WithoutPath(err)
}
