package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fsnotify/fsnotify"

	"github.com/permd/permd/internal/eventually"
)

// TestFailuresWatch is [TestFailures] for events of files.
func TestFailuresWatch(t *testing.T) {
	failures(t, []failure{{"more events of files than the kernel keeps", eventsLost}})
}

// lostEvents is more than twice what the kernel keeps for a watcher (16384).
const lostEvents = 40_000

// eventsLost stops the daemon while more happens in its folder of rules than the kernel
// keeps, with a new deny after all that. The deny holds when the daemon goes on, and later
// changes are noticed.
func eventsLost(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.policy(t, "a.rego", `deny contains "old" if input.effect.program == "frob"`)
	d.start(t)
	w := d.session(t, project)
	denied := func(reason string) func() bool {
		return func() bool {
			got := w.ask(t, decideLine("frob x"))
			if got.Verdict != "deny" {
				t.Fatalf("meanwhile: %+v", got)
			}
			return strings.Contains(got.Reason, reason)
		}
	}
	eventually.Holds(t, "the first deny", denied("old"))

	folder := filepath.Join(d.home, ".config", "permd", "policy.d")
	control, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	if err := control.Add(folder); err != nil {
		t.Fatal(err)
	}
	pid := d.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	seed := filepath.Join(folder, ".seed")
	writeFile(t, seed, "# nothing\n")
	for i := range lostEvents / 2 {
		name := filepath.Join(folder, fmt.Sprintf("f%d.txt", i%2))
		if err := errors.Join(os.Link(seed, name), os.Remove(name)); err != nil {
			t.Fatal(err)
		}
	}
	d.policy(t, "a.rego", `deny contains "after the flood" if input.effect.program == "frob"`)
	overflowed := false
	for !overflowed {
		select {
		case <-control.Events:
		case err := <-control.Errors:
			if overflowed = errors.Is(err, fsnotify.ErrEventOverflow); !overflowed {
				t.Fatal(err)
			}
		}
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the deny that was written meanwhile", denied("after the flood"))
	d.policy(t, "a.rego", `deny contains "later" if input.effect.program == "frob"`)
	eventually.Holds(t, "a later change", denied("later"))
	if st := d.status(t); st.Policy.Watching != "" || st.Policy.Degraded() {
		t.Errorf("afterwards the status says %s, %s", st.Policy.Watching, st.Policy.Summary())
	}
}
