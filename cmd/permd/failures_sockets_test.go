package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// TestFailuresSockets is [TestFailures] for the files of sockets, and for what the daemon
// says of decisions that take too long.
func TestFailuresSockets(t *testing.T) {
	failures(t, []failure{
		{"socket's file removed", socketsRemoved},
		{"socket's file replaced", socketReplaced},
		{"socket of the service manager removed", activatedRemoved},
		{"more requests than can be decided", tooManyToDecide},
	})
}

// socketsRemoved: with their folders, too. Who is connected stays so, who comes later
// finds the daemon again, and both ask the same one.
func socketsRemoved(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.listensHTTP(t, "unix")
	d.start(t)
	pid := d.status(t).PID
	w := d.session(t, project)
	wantAllowed(t, w)
	folders := []string{"permd", "permd-admin", "permd-http"}
	for round := range 2 {
		for _, name := range folders {
			path := filepath.Join(d.run, name)
			if round == 0 {
				sockets, err := filepath.Glob(filepath.Join(path, "*.sock"))
				if err != nil || len(sockets) != 1 {
					t.Fatalf("sockets in %s: %v, %v", path, sockets, err)
				}
				path = sockets[0]
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		wantAllowed(t, w)
		for _, name := range folders {
			eventually.Holds(t, "a client can connect in "+name, func() bool {
				sockets, _ := filepath.Glob(filepath.Join(d.run, name, "*.sock"))
				if len(sockets) == 0 {
					return false
				}
				c, err := net.Dial("unix", sockets[0])
				if err == nil {
					c.Close()
				}
				return err == nil
			}, d.output.String)
		}
		wantAllowed(t, d.session(t, project))
		wantAllowed(t, w)
		if got := d.http(t).send(t, "GET", "/health", ""); got.Status != 200 {
			t.Errorf("HTTP: %+v", got)
		}
		if s := d.status(t); s.PID != pid || len(s.Sockets) > 0 || s.Degraded {
			t.Errorf("status: pid %d, want %d; %+v", s.PID, pid, s.Sockets)
		}
	}
	if !strings.Contains(d.output.String(), "bound anew") {
		t.Errorf("the log does not say it:\n%s", d.output.String())
	}
	if err := d.stop(t); err != nil {
		t.Errorf("ended with %v", err)
	}
	if _, err := os.Lstat(d.socket()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket is left: %v", err)
	}
}

// socketReplaced: what somebody else has put there is left alone, and said.
func socketReplaced(t *testing.T) {
	d := newTestDaemon(t)
	m := newManager(t, d)
	d.start(t)
	w := d.session(t, d.project(t, nil))
	if err := os.Remove(d.socket()); err != nil {
		t.Fatal(err)
	}
	writeFile(t, d.socket(), "dear diary")
	eventually.Holds(t, "the status says so", func() bool { return len(d.status(t).Sockets) == 1 })
	s := d.status(t)
	if !s.Degraded || s.Sockets[0].Socket != "decision" || !strings.Contains(s.Sockets[0].Problem, d.socket()+" is a regular file") {
		t.Errorf("status: %+v", s.Sockets)
	}
	for told := ""; !strings.Contains(told, "is a regular file"); {
		told = m.next(t, "STATUS")["STATUS"]
	}
	wantAllowed(t, w)
	if data, err := os.ReadFile(d.socket()); err != nil || string(data) != "dear diary" {
		t.Errorf("the file: %q, %v", data, err)
	}
	if err := os.Remove(d.socket()); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the status is good again", func() bool { return !d.status(t).Degraded })
	wantAllowed(t, w)
}

// activatedRemoved: only systemd can open its sockets again, so the daemon says that.
func activatedRemoved(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	m := newManager(t, d)
	d.activate(t, "permd", "permd-admin")
	w := dialWire(t, d.activated("permd"))
	if got := w.ask(t, declaration("s1", project)); got != (answer{}) {
		t.Fatalf("permd/session: %+v\n%s", got, d.output.String())
	}
	wantAllowed(t, w)
	m.next(t, "READY")
	if err := os.Remove(d.activated("permd")); err != nil {
		t.Fatal(err)
	}
	for told := ""; !strings.Contains(told, d.activated("permd")+" was removed or replaced"); {
		told = m.next(t, "STATUS")["STATUS"]
	}
	wantAllowed(t, w)
	if _, err := os.Lstat(d.activated("permd")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the daemon has bound it: %v", err)
	}
	d.wantStopped(t)
}

// tooManyToDecide: while clients ask for more than can be decided, the daemon says how
// many decisions wait, where, and since when; its own check passes.
func tooManyToDecide(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.policy(t, "slow.rego", brokenPolicies[2].rego)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "[limits]\ndecision_milliseconds = 100\n[http]\nlisten = \"unix\"\n")
	m := newManager(t, d)
	d.start(t)
	for range 4 {
		w := d.session(t, project)
		go func() {
			for n := range 2000 {
				// Each command is another one, so that nothing is found in the cache.
				if _, err := fmt.Fprintln(w, withID(decideLine(fmt.Sprintf("git log -n %d", n+1)), n+2)); err != nil {
					return
				}
			}
		}()
		go func() {
			for w.lines != nil {
				if _, err := w.lines.ReadBytes('\n'); err != nil {
					return
				}
			}
		}()
	}
	const waiting = "waiting for others to be decided"
	for told := ""; !strings.Contains(told, " stuck since ") || !strings.Contains(told, waiting); {
		told = m.next(t, "STATUS")["STATUS"]
	}
	eventually.Holds(t, "the status says so", func() bool {
		out, err := d.command("status").Output()
		return err == nil && strings.Contains(string(out), " stuck for ") && strings.Contains(string(out), waiting)
	})
	eventually.Holds(t, "the metrics say so", func() bool {
		page := d.http(t).send(t, "GET", "/metrics", "").Body
		return strings.Contains(page, `permd_decisions_stuck{mount="",where="slot"} `) && strings.Contains(page, `permd_decisions_stuck_since_timestamp_seconds{mount="",where="slot"} `)
	})
	d.wantStopped(t)
}
