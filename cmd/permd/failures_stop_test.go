package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFailuresStop is [TestFailures] for what must not keep the daemon from stopping.
// TestEndInTime in internal/daemon has the exact times.
func TestFailuresStop(t *testing.T) {
	failures(t, []failure{
		{"rule that loops", stopWithLoop},
		{"databases locked", stopWithLockedDatabases},
		{"client that never reads", stopWithMuteClient},
		{"open question", stopWithQuestion},
		{"nobody reads what it prints", stopWithFullPipe},
	})
}

// bearable is much longer than what is measured takes on a quiet machine, and shorter than a
// service manager waits.
const bearable = time.Minute

// wantStopped stops the daemon, which must end with exit code 0 in bearable time.
func (d *testDaemon) wantStopped(t *testing.T) {
	t.Helper()
	begun := time.Now()
	if err := d.stop(t); err != nil {
		t.Errorf("the daemon ended with %v:\n%s", err, d.output.String())
	}
	took := time.Since(begun)
	if took > bearable {
		t.Errorf("stopping took %v:\n%s", took, d.output.String())
	}
	t.Logf("stopped after %v", took.Round(time.Millisecond))
}

// wantRestarted starts the daemon again, which answers as if nothing had been.
func (d *testDaemon) wantRestarted(t *testing.T, project string) {
	t.Helper()
	d.start(t)
	wantAllowed(t, d.session(t, project))
}

// stopWithLoop: 64 requests are in flight that take as long as they may.
func stopWithLoop(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.policy(t, "loop.rego", brokenPolicies[2].rego)
	d.start(t)
	w := d.session(t, project)
	wantProbe(t, w, "ask", "failure", brokenPolicies[2].reason)
	for n := range 64 {
		if _, err := w.Write([]byte(withID(decideLine(probe), n+2) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	d.wantStopped(t)
	for got := w.next(t); got != (answer{}); got = w.next(t) {
		if got.Verdict != "ask" && got.Code != -32051 {
			t.Errorf("in flight: %+v", got)
		}
	}
	d.policy(t, "loop.rego", "")
	d.wantRestarted(t, project)
}

// stopWithLockedDatabases: another process holds SQLite's locks, and does not let go. What
// was decided is stored nevertheless.
func stopWithLockedDatabases(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	w := d.session(t, project)
	wantAllowed(t, w)
	unlock := []func(){d.lockDatabase(t, "decisions.db"), d.lockDatabase(t, "remember.db")}
	got := w.ask(t, decideLine(probe))
	if got.Verdict != "allow" {
		t.Errorf("the answer is %+v", got)
	}
	d.wantStopped(t)
	for _, f := range unlock {
		f()
	}
	d.wantRestarted(t, project)
	d.wantLogged(t, got)
}

// stopWithMuteClient: a client has sent until it could send no more, and reads nothing.
func stopWithMuteClient(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	mute := d.session(t, project)
	line := []byte(strings.Repeat(decideLine(probe)+"\n", 64))
	for {
		if err := mute.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := mute.Write(line); err != nil {
			break
		}
	}
	d.wantStopped(t)
	d.wantRestarted(t, project)
}

// stopWithQuestion: a question waits for its person on the connection that asked, and the
// management socket is followed.
func stopWithQuestion(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	w := d.session(t, project)
	if got := w.ask(t, decideLine("make")); got.Verdict != "ask" {
		t.Fatalf("the question: %+v", got)
	}
	follow := d.command("log", "follow")
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	d.wantStopped(t)
	if got := w.next(t); got != (answer{}) {
		t.Errorf("the question was answered: %+v", got)
	}
	_ = follow.Wait() // its connection is gone
	d.wantRestarted(t, project)
}

// stopWithFullPipe: what reads standard output and error has stopped doing so, and both
// are full.
func stopWithFullPipe(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	d.cmd = d.command("serve")
	d.cmd.Stdout, d.cmd.Stderr = w, w
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.waitAnswers(t)
	wantAllowed(t, d.session(t, project))
	fd := int(w.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	fill := make([]byte, 4096)
	for err == nil {
		_, err = syscall.Write(fd, fill)
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	d.wantStopped(t)
}
