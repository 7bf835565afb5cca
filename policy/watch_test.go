package policy

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/policytest"
)

// Watch finds changes by events and, in the end, without them.
func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "zero")})
	w.delays.empty = quietPeriod // files that are removed are waited for no longer
	s := w.open(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Watch(ctx) }()
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{"rewritten", func() {
			policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "one")})
		}, "one"},
		{"renamed over", func() {
			policytest.Write(t, filepath.Dir(w.user), map[string]string{"tmp": rulesFor("user", "deny", "rm", "two")})
			rename(t, filepath.Join(filepath.Dir(w.user), "tmp"), filepath.Join(w.user, "a.rego"))
		}, "two"},
		{"in a new folder", func() {
			remove(t, w.user, "a.rego")
			policytest.Write(t, w.user, map[string]string{"new/a.rego": rulesFor("user", "deny", "rm", "three")})
		}, "three"},
		{"in that folder", func() {
			policytest.Write(t, w.user, map[string]string{"new/a.rego": rulesFor("user", "deny", "rm", "four")})
		}, "four"},
		{"in another folder's place", func() {
			rename(t, w.user, w.user+".off")
			policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "five")})
		}, "five"},
		{"in the folder that took its place", func() {
			policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "six")})
		}, "six"},
	}
	for _, step := range steps {
		step.do()
		var got []string
		eventually.Holds(t, step.name, func() bool {
			got = reasons(t, s, "", "rm")
			return len(got) > 0 && got[0] == "user deny "+step.want
		}, func() string { return fmt.Sprintf("%q", got) })
	}
	stop()
	<-done
}

// Steady events do not delay the reload: the wait counts from the first one.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d debounce
		start := time.Now()
		for range 5 {
			d.arm(time.Now().Add(debounceDelay))
			time.Sleep(20 * time.Millisecond)
			d.arm(time.Now().Add(debounceDelay))
		}
		<-d.due
		if took := time.Since(start); took != debounceDelay {
			t.Errorf("due after %v, want %v", took, debounceDelay)
		}
	})
}

func TestRelevant(t *testing.T) {
	w := &watcher{store: &Store{opts: Options{SettingsName: "permd.toml"}}, dirs: []string{"/home/u/.config/permd/policy.d", "/home/u/p/.permd"}}
	for name, want := range map[string]bool{
		"/home/u/.config/permd/policy.d/a.rego": true, "/home/u/.config/permd/policy.d": true, "/home/u/.config/permd": true,
		"/home/u/.config/permd/..data": true, "/home/u/p/.permd": true, "/home/u/p": true,
		"/home/u/p/main.go": false, "/home/u/.config/permd/permd.toml": true, "/home/u/.config/permd/other.toml": false, "/home/u/.config/permd.toml": false, "/home/u/.config/permd/policy.d2": false,
	} {
		if got := w.relevant(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWatchStuck: folders that were swapped for links to a file system that does not answer,
// after they were found to be local, cost two threads and the events; rules are still
// read, and events come again when it answers.
func TestWatchStuck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "zero")})
	answer := make(chan struct{})
	var looks, hanging atomic.Int32
	w.opts.watchStat = func(dir string) (fs.FileInfo, error) {
		if dir == w.user && looks.Add(1) > 1 {
			hanging.Add(1)
			<-answer
			hanging.Add(-1)
		}
		return os.Stat(dir)
	}
	w.delays.poll, w.delays.folders = 50*time.Millisecond, 100*time.Millisecond
	s := w.open(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Watch(ctx) }()
	finds := func(what string) {
		t.Helper()
		policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", what)})
		var got []string
		eventually.Holds(t, what, func() bool {
			got = reasons(t, s, "", "rm")
			return len(got) > 0 && got[0] == "user deny "+what
		}, func() string { return fmt.Sprintf("%q", got) })
	}
	finds("one")
	eventually.Holds(t, "two looks hang", func() bool { return hanging.Load() == maxStuckLooks })
	finds("two")
	finds("three")
	if n := hanging.Load(); n != maxStuckLooks || s.Status().Watching != lookStuck {
		t.Errorf("%d looks hang, and the status says %q", n, s.Status().Watching)
	}
	close(answer)
	eventually.Holds(t, "changes are watched again", func() bool { return s.Status().Watching == "" })
	finds("four")
	stop()
	<-done
}
