package policy

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/policy/fileevents"
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
	// lookPatience is how long Watch waits for the file systems of the folders to
	// watch. They are local, unless somebody swaps a folder just now.
	lookPatience = 2 * time.Second
	// maxStuckLooks bounds the threads that hang in such a look. Above it, changes are
	// found by polling.
	maxStuckLooks = 2

	lookStuck = "the file system of a folder does not answer"
)

// Watch keeps the rules up to date as their files change, until ctx is done.
// Events are only a hint: only the contents of the files count. It must be
// called at most once; problems are in Status.
func (s *Store) Watch(ctx context.Context) {
	w := &watcher{store: s, files: &fileevents.Watcher{Stat: s.opts.watchStat}}
	w.start()
	defer w.stop()
	w.reload(ctx)
	poll := time.NewTicker(s.delays.poll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.files.Events:
			switch {
			case !ok:
				w.stop() // the next poll starts it again
			case w.relevant(e.Name):
				w.arm(time.Now().Add(debounceDelay))
			}
		case _, ok := <-w.files.Errs:
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
	store *Store
	files *fileevents.Watcher
	dirs  []string     // folders of rules, watched or not
	stuck atomic.Int32 // looks for folders that nobody waits for any more
}

// start subscribes to the system's events, if not subscribed.
func (w *watcher) start() {
	if err := w.files.Start(); err != nil {
		w.store.setWatchError(err.Error())
	}
}

// stop cancels the subscription.
func (w *watcher) stop() { w.files.Stop() }

// reload reloads, and again if there are folders that were not watched before:
// they may have changed in between.
func (w *watcher) reload(ctx context.Context) {
	for range maxRounds {
		// Problems of a layer are in its status.
		_, _ = w.store.reload(ctx, loadOptions{})
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
//
// A folder may be swapped for a link to a file system that does not answer after it was
// found to be local. Then the subscription is given up with the thread that hangs,
// and the next poll makes another one.
func (w *watcher) updateWatches() bool {
	if w.stuck.Load() >= maxStuckLooks {
		w.store.setWatchError(lookStuck)
		return false
	}
	type outcome struct {
		dirs []string
		grew bool
		err  error
	}
	files, done := w.files, make(chan outcome, 1)
	go func() {
		dirs, folders := w.store.folders()
		grew, err := files.Watch(folders, w.store.local)
		done <- outcome{dirs, grew, err}
	}()
	select {
	case o := <-done:
		w.dirs = o.dirs
		switch {
		case o.err != nil:
			w.store.setWatchError(o.err.Error())
		case files.Started(): // otherwise start has said why
			w.store.setWatchError("")
		}
		return o.grew
	case <-time.After(w.store.delays.folders):
	}
	w.stuck.Add(1)
	w.files = &fileevents.Watcher{Stat: files.Stat}
	w.store.setWatchError(lookStuck)
	go func() {
		<-done
		files.Stop()
		w.stuck.Add(-1)
	}()
	return false
}

// relevant reports whether a name is in a folder of rules, on the path to one, or
// that of the settings next to it. Parents are watched for folders that come and go; other events in them,
// a home folder or a project's root, must not cause a reload.
func (w *watcher) relevant(name string) bool {
	if strings.HasPrefix(filepath.Base(name), "..") {
		return true // a ConfigMap is swapped by renaming ..data
	}
	for _, dir := range w.dirs {
		if lexpath.In(dir, name) || lexpath.In(name, dir) {
			return true
		}
		if next, ok := lexpath.RelBelow(filepath.Dir(dir), name); ok && next == w.store.opts.SettingsName {
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
	if st.shadow != nil {
		slots = append(slots, st.shadow)
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
		watch = append(watch, fileevents.Parents(first, levels)...)
		// Events use the names of a link's target.
		if real := fileevents.Real(first); real != first {
			dirs = append(dirs, real)
			watch = append(watch, fileevents.Parents(real, levels)...)
		}
	}
	slices.Sort(watch)
	return dirs, slices.Compact(watch)
}

// local reports whether a folder can be looked at without waiting for anybody.
func (s *Store) local(dir string) bool { return s.opts.Files == nil || s.opts.Files.Local(dir) }

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
	if st.shadow != nil {
		note(st.shadow)
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
