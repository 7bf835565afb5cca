package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fsnotify/fsnotify"

	"github.com/permd/permd/policy/policytest"
)

// many is more than the events that the kernel keeps for a watcher (16384), and
// more than the files that permd reads from a folder.
const many = 40_000

// flood makes or removes that many files.
func flood(t *testing.T, dir, suffix string, remove bool) {
	t.Helper()
	var all sync.WaitGroup
	for part := range 4 {
		all.Go(func() {
			for i := part; i < many; i += 4 {
				name := filepath.Join(dir, fmt.Sprintf("f%05d%s", i, suffix))
				var err error
				if remove {
					err = os.Remove(name)
				} else {
					err = os.Link(filepath.Join(dir, ".seed"), name) // quicker than a new file
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// overflows checks that the events overflow for a watcher that does not read them
// while f runs, like the daemon's while it reads and compiles.
func overflows(t *testing.T, dir string, do func()) {
	t.Helper()
	w, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Add(dir); err != nil {
		t.Fatal(err)
	}
	do()
	for {
		select {
		case <-w.Events:
		case err := <-w.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				t.Errorf("the control watcher: %v", err)
			}
			return
		}
	}
}

// TestFlood: 40,000 files at once cause more events than the kernel keeps. Later
// changes are not lost, and too many files are a clear error that
// disappears with them.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it writes thousands of files")
	}
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "old"), ".seed": "# nothing\n"})
	s := w.watched(t)
	change := func(name, reason string) {
		t.Helper()
		policytest.Write(t, w.user, map[string]string{name: rulesFor("user", "deny", "rm", reason)})
		serves(t, s, name, reason)
	}
	change("a.rego", "watched")
	// While the lock is held, Watch waits for it before its next check and reads no
	// events.
	stuck := func(do func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		policytest.Write(t, w.user, map[string]string{"wake.txt": "up"})
		overflows(t, w.user, do)
	}
	denies(t, s, func() {
		stuck(func() {
			flood(t, w.user, ".txt", false)
			policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "among many")})
		})
		serves(t, s, "among many", "among many")
		change("a.rego", "after many")

		stuck(func() {
			for i := range many { // the same files, as rules now
				from := filepath.Join(w.user, fmt.Sprintf("f%05d", i))
				if err := os.Rename(from+".txt", from+".rego"); err != nil {
					t.Fatal(err)
				}
			}
		})
		tooMany := w.user + ": holds more than 4096 files that permd reads (rules, tests, lists, programs and profiles)"
		soon(t, "too many files", func() bool { return strings.HasSuffix(userLayer(s).Error, tooMany) })
		if l := userLayer(s); l.State != StateDegraded || len(l.Problems) != 1 || l.Deny != 1 {
			t.Errorf("status %+v", l)
		}
		if got := s.Status().Summary(); !strings.HasPrefix(got, "degraded since ") || !strings.Contains(got, "more than 4096 files") {
			t.Errorf("summary %q", got)
		}
		stuck(func() { flood(t, w.user, ".rego", true) })
		serves(t, s, "when they are gone", "after many")
		change("a.rego", "and later")
	})
	if got := s.Status(); got.Watching != "" {
		t.Errorf("watching: %s", got.Watching)
	}
}

// TestManyFolders: each folder needs a watch, and the system has a limited number
// of these.
func TestManyFolders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: it watches many folders")
	}
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "old")})
	s := w.watched(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the layer is %+v", userLayer(s))
		}
	})
	for i := range 1024 {
		if err := os.Mkdir(filepath.Join(w.user, fmt.Sprint("d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	soon(t, "too many folders", func() bool { return strings.Contains(userLayer(s).Error, "more than 1024 folders") })
	for i := range 1024 {
		if err := os.Remove(filepath.Join(w.user, fmt.Sprint("d", i))); err != nil {
			t.Fatal(err)
		}
	}
	serves(t, s, "fewer folders", "old")
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "new")})
	serves(t, s, "changed", "new")
}
