package policy

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/permd/permd/decisions"
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
	w := &watcher{store: s, watched: map[string]bool{}}
	var errs chan error
	var events chan fsnotify.Event
	if notify, err := fsnotify.NewWatcher(); err != nil {
		s.setBlindTo("watching for changes: " + err.Error())
	} else {
		defer func() { _ = notify.Close() }()
		w.notify, events, errs = notify, notify.Events, notify.Errors
	}
	w.look(ctx)
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	var d debounce
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if w.matters(e.Name) {
				d.arm()
			}
		case _, ok := <-errs:
			// An overflow most of the time: anything may have changed. Errors
			// must be drained, or the watcher stops.
			if !ok {
				errs = nil
			} else {
				d.arm()
			}
		case <-s.moved:
			if w.follow() {
				d.arm()
			}
		case <-poll.C:
			w.look(ctx)
		case <-d.due:
			d.due = nil
			w.look(ctx)
		}
	}
}

// debounce turns many events into one.
type debounce struct {
	due <-chan time.Time // nil when nothing has happened
}

// arm says that something happened.
func (d *debounce) arm() {
	if d.due == nil {
		d.due = time.After(settle)
	}
}

type watcher struct {
	store   *Store
	notify  *fsnotify.Watcher
	watched map[string]bool
	dirs    []string // folders of rules, watched or not
}

// look reloads, and again when there are folders that were not watched before:
// they may have changed in between.
func (w *watcher) look(ctx context.Context) {
	for range maxRounds {
		// What is wrong with a layer is in its status.
		_, _ = w.store.Reload(ctx)
		if !w.follow() {
			return
		}
	}
}

// follow watches the folders of all layers and reports whether one is new.
// Folders that were replaced are watched again under their old names.
func (w *watcher) follow() bool {
	var want []string
	w.dirs, want = w.store.folders()
	if w.notify == nil {
		return false
	}
	grew, trouble := false, ""
	now := make(map[string]bool, len(want))
	for _, dir := range want {
		if now[dir] {
			continue
		}
		if err := w.notify.Add(dir); err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // else its parent tells when it comes
				trouble = "watching " + dir + ": " + plainErr(err)
			}
			continue
		}
		now[dir] = true
		grew = grew || !w.watched[dir]
	}
	for dir := range w.watched {
		if !now[dir] {
			_ = w.notify.Remove(dir) // gone, or of no interest any more
		}
	}
	w.watched = now
	w.store.setBlindTo(trouble)
	return grew
}

// matters reports whether a name lies in a folder of rules or on the way to
// one. Parents are watched for folders that come and go; whatever else happens
// in them, a home or a project's root, must not cost a reload.
func (w *watcher) matters(name string) bool {
	if strings.HasPrefix(filepath.Base(name), "..") {
		return true // a ConfigMap is swapped by renaming ..data
	}
	for _, dir := range w.dirs {
		if inside(dir, name) || inside(name, dir) {
			return true
		}
	}
	return false
}

// inside reports whether name is dir or lies below it.
func inside(dir, name string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// folders returns the folders that rules are looked for in, and those to watch:
// they themselves, what is in them, and their nearest parents that may exist.
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
		watch = append(watch, n.watch...)
		for i, dir := range n.dirs {
			watch = append(watch, dir)
			if n.layer != decisions.Project {
				watch = append(watch, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir)))
			} else if i == 0 {
				watch = append(watch, filepath.Dir(dir)) // farther up, the poll finds new folders
			}
		}
	}
	return dirs, watch
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
