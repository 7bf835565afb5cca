package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/client"
)

// journalFull: if the journal cannot grow, what would have been allowed asks, and
// is allowed when there is space again.
func journalFull(t *testing.T) {
	d := startDaemon(t)
	w := d.session(t, d.project(t, nil))
	wantAllowed(t, w)
	lift := limitFiles(t, d.cmd.Process.Pid, 4096)
	wantProbe(t, w, "ask", "failure", "could not be logged")
	if got := w.ask(t, decideLine("rm -rf /")); got.Verdict != "deny" {
		t.Errorf("what is denied anyway: %+v", got)
	}
	st := d.status(t)
	if !st.Degraded || st.Journal.Failed == 0 || st.Journal.Failing == "" {
		t.Errorf("the status is not degraded: %+v", st.Journal)
	}
	lift()
	wantAllowed(t, w)
	if st := d.status(t); st.Degraded {
		t.Errorf("the status stays degraded: %+v", st.Journal)
	}
	d.wantLogged(t, w.ask(t, decideLine(probe)))
}

// journalLocked: another program holds the lock of the journal's database. Decisions
// made meanwhile are stored in the spool, can be read at once, and are moved to the
// database later.
func journalLocked(t *testing.T) {
	d := startDaemon(t)
	w := d.session(t, d.project(t, nil))
	wantAllowed(t, w)
	release := d.lockJournal(t)
	got := w.ask(t, decideLine(probe))
	if got.Verdict != "allow" {
		t.Errorf("locked: the answer is %+v", got)
	}
	d.wantLogged(t, got)
	release()
	wantAllowed(t, w)
	d.wantLogged(t, got)
}

// journalGone: allows that are decided while the spool's files are being deleted are in
// the journal afterwards.
func journalGone(t *testing.T) {
	d := startDaemon(t)
	w := d.session(t, d.project(t, nil))
	wantAllowed(t, w)
	var allowed []answer
	for n := range 200 {
		switch got := w.ask(t, decideLine(probe)); {
		case got.Verdict == "allow":
			allowed = append(allowed, got)
		case got.Verdict != "ask" || !strings.Contains(got.Reason, "could not be logged"):
			t.Fatalf("the answer is %+v", got)
		}
		if n%50 == 10 {
			for _, segment := range []string{"0", "1"} {
				if err := os.Remove(d.data("decisions.db.spool-" + segment)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
		}
	}
	if n := len(allowed); n < 20 || n == 200 {
		t.Errorf("%d of 200 were allowed, want many and not all", n)
	}
	d.kill()
	d.start(t)
	d.wantLogged(t, allowed...)
}

// lockJournal takes the journal's write lock, as a backup gone wrong would.
func (d *testDaemon) lockJournal(t *testing.T) (release func()) {
	t.Helper()
	return d.lockDatabase(t, "decisions.db")
}

// lockDatabase takes the write lock of a database.
func (d *testDaemon) lockDatabase(t *testing.T, name string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite3", d.data(name)+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

// tooManyConnections: the connection above the limit gets an error and is closed.
func tooManyConnections(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "[limits]\nconnections_per_user = 3\n")
	d.start(t)
	// A connection counts until the daemon has seen its end, also that of waitAnswers.
	open := func() (w *wire) {
		eventually.Holds(t, "closed connections no longer count", func() bool {
			w = d.wire(t)
			return w.ask(t, declaration("s1", project)) == (answer{}) && w.ask(t, decideLine(probe)).Verdict == "allow"
		})
		return w
	}
	first, second, third := open(), open(), open()
	wantAllowed(t, third)
	over := d.wire(t)
	if got := over.next(t); got.Code != -32051 || got.allowed() {
		t.Errorf("above the limit: %+v, want error -32051", got)
	}
	if got := over.ask(t, decideLine(probe)); got != (answer{}) {
		t.Errorf("above the limit, asked all the same: %+v", got)
	}
	wantAllowed(t, first)
	third.Close()
	second.Close()
	wantAllowed(t, open())
}

// slowReader: a client that asks and never reads is disconnected, and no other
// client waits for it.
func slowReader(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	w := d.session(t, project)
	mute := d.session(t, project)
	dropped := make(chan error, 1)
	go func() {
		line := []byte(strings.Repeat(decideLine(probe)+"\n", 64))
		for {
			if _, err := mute.Write(line); err != nil {
				dropped <- err
				return
			}
		}
	}()
	for {
		wantAllowed(t, w)
		select {
		case err := <-dropped:
			if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the client that does not read was not dropped: %v", err)
			}
			wantAllowed(t, w)
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// shuttingDown: requests in flight are answered, later ones are not decided, and
// the daemon ends without an error.
func shuttingDown(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	w, idle := d.session(t, project), d.session(t, project)
	wantAllowed(t, w)
	release := d.lockJournal(t) // what is decided stays in the spool until it is released
	before := d.status(t).Journal.Last
	for n := range 8 {
		if _, err := w.Write([]byte(withID(decideLine(probe), n+1) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	d.waitStored(t, before+8)
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	d.waitOutput(t, "stopping")
	// The sockets follow a moment after the log.
	eventually.Holds(t, "a request after the end began gets an error or nothing", func() bool {
		got := idle.ask(t, decideLine(probe))
		return got.Verdict == "" && got.Picked == ""
	})
	eventually.Holds(t, "no connection is taken after the end began", func() bool {
		c, err := client.Dial(context.Background(), d.socket(), client.Options{})
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	release()
	var answered []answer
	for got := w.next(t); got != (answer{}); got = w.next(t) {
		answered = append(answered, got)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v:\n%s", err, d.output.String())
	}
	d.cmd = nil
	if len(answered) != 8 {
		t.Errorf("%d of 8 requests in flight were answered", len(answered))
	}
	for _, a := range answered {
		if a.Verdict != "allow" && a.Code != -32051 {
			t.Errorf("in flight: %+v, want the decision, or error -32051", a)
		}
	}
	d.wantLogged(t, answered...)
}

// notReachable: commands have an exit code of their own and print nothing that
// could be read as an answer.
func notReachable(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	decide := func(want int) {
		t.Helper()
		cmd := d.command("decide", "--cwd", project, "--agent", "claude-agent-acp", "-")
		cmd.Stdin = strings.NewReader(`{"tool":{"name":"Bash"},"input":{"command":"` + probe + `"}}`)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		code := 0
		if err := cmd.Run(); err != nil {
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok {
				t.Fatal(err)
			}
			code = exit.ExitCode()
		}
		if code != want || code == cli.ExitUnreachable && (out.Len() > 0 || !strings.Contains(errs.String(), "permd: hint: ")) {
			t.Errorf("exit code %d, want %d; output %q, errors %q", code, want, &out, &errs)
		}
	}
	decide(cli.ExitUnreachable)
	d.start(t)
	decide(cli.ExitOK)
	d.kill() // the socket stays and nobody listens
	if _, err := os.Lstat(d.socket()); err != nil {
		t.Fatal(err)
	}
	decide(cli.ExitUnreachable)
	d.start(t)
	decide(cli.ExitOK)
	// A folder that others can write: the process that listens there may not be permd.
	if err := os.Chmod(filepath.Dir(d.socket()), 0o777); err != nil {
		t.Fatal(err)
	}
	decide(cli.ExitUnreachable)
}
