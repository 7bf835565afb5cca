package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/lockfile"
)

// TestFailuresLock is [TestFailures] for locks of other processes at the start.
func TestFailuresLock(t *testing.T) {
	failures(t, []failure{
		{"lock that is let go", lockLetGo},
		{"lock that stays", lockStays},
		{"stopped while it waits for a lock", stopWhileLocked},
	}, "stopped while it waits for a lock")
}

// locks are the locks of a daemon.
func (d *testDaemon) locks() map[string]string {
	return map[string]string{
		"decision socket":   filepath.Join(d.run, "permd", "permd.lock"),
		"management socket": filepath.Join(d.run, "permd-admin", "permd.lock"),
		"journal":           d.data("decisions.db.lock"),
		"memory":            d.data("remember.db.lock"),
	}
}

// holdLock takes a lock in this process.
func holdLock(t *testing.T, path string) *lockfile.Lock {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := lockfile.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Free() })
	return l
}

// startLocked starts a daemon that has to wait.
func (d *testDaemon) startLocked(t *testing.T) {
	t.Helper()
	d.cmd = d.command("serve")
	d.cmd.Stdout, d.cmd.Stderr = &d.output, &d.output
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.waitOutput(t, "waiting for another process to end")
	if !strings.Contains(d.output.String(), fmt.Sprintf("pid %d: ", os.Getpid())) {
		t.Errorf("the holder is not named:\n%s", d.output.String())
	}
}

// lockLetGo: a daemon that starts while the former one ends takes over.
func lockLetGo(t *testing.T) {
	for name := range (&testDaemon{}).locks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestDaemon(t)
			l := holdLock(t, d.locks()[name])
			d.startLocked(t)
			if err := l.Free(); err != nil {
				t.Fatal(err)
			}
			d.waitOutput(t, "  try ")
			wantAllowed(t, d.session(t, d.project(t, nil)))
			if err := d.stop(t); err != nil {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// lockStays: the daemon does not start, and its error names who has the lock.
func lockStays(t *testing.T) {
	for name := range (&testDaemon{}).locks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestDaemon(t)
			l := holdLock(t, d.locks()[name])
			d.startLocked(t)
			err := d.cmd.Wait()
			d.cmd = nil
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.ExitCode() != cli.ExitError {
				t.Errorf("ended with %v, want exit code %d", err, cli.ExitError)
			}
			_, said, _ := strings.Cut(d.output.String(), "permd: error: ")
			first, hint, _ := strings.Cut(said, "\n")
			if !strings.Contains(first, fmt.Sprintf("(pid %d: %s", os.Getpid(), filepath.Base(os.Args[0]))) || !strings.Contains(first, ", since ") {
				t.Errorf("the error is %s", first)
			}
			if !strings.HasPrefix(hint, "permd: hint: ") || !strings.Contains(hint, fmt.Sprintf("kill %d", os.Getpid())) {
				t.Errorf("the hint is %s", hint)
			}
			if err := l.Free(); err != nil {
				t.Fatal(err)
			}
			d.start(t)
			wantAllowed(t, d.session(t, d.project(t, nil)))
		})
	}
}

// stopWhileLocked sends SIGTERM to a daemon that waits for a lock: it ends at once.
func stopWhileLocked(t *testing.T) {
	d := newTestDaemon(t)
	holdLock(t, d.locks()["journal"])
	d.startLocked(t)
	d.wantStopped(t)
}
