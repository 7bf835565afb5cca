package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/client"
)

// journalFull: when the journal cannot grow, what would have been allowed asks,
// and goes on to be allowed when there is space again.
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

// journalLocked: another program holds the journal's lock.
func journalLocked(t *testing.T) {
	d := startDaemon(t)
	w := d.session(t, d.project(t, nil))
	wantAllowed(t, w)
	release := d.lockJournal(t)
	wantAnswer(t, "locked", w.ask(t, decideLine(probe)), "ask", "failure", "could not be logged")
	release()
	wantAllowed(t, w)
}

// lockJournal takes the journal's write lock, as a backup gone wrong would.
func (d *testDaemon) lockJournal(t *testing.T) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite3", d.data("decisions.db")+"?_txlock=immediate")
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

// memoryDamaged: remembered allows are off, rejects are kept as far as they can
// be read, and the file stays beside the new one.
func memoryDamaged(t *testing.T) {
	const allowed, rejected = "mcp__github__get_issue", "mcp__github__delete_issue"
	// A whole page of noise, where SQLite can do without, or from the start.
	noise := bytes.Repeat([]byte("\x07noise\xff\x00"), 512)
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, path string) int64 // where the noise goes
		reject string                                // what becomes of the reject
	}{
		{"one page", indexPage, "deny"},
		{"from the start", func(*testing.T, string) int64 { return 0 }, "ask"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newTestDaemon(t)
			project := d.project(t, nil)
			d.start(t)
			w := d.session(t, project)
			wantAnswer(t, "nothing remembered", w.ask(t, toolLine(allowed, struct{}{})), "ask", "policy", "")
			if err := d.stop(t); err != nil {
				t.Fatal(err)
			}
			d.remember(t, map[string]decisions.Verdict{"get_issue": decisions.Allow, "delete_issue": decisions.Deny})

			d.start(t)
			w = d.session(t, project)
			if got := w.ask(t, toolLine(allowed, struct{}{})); got.Verdict != "allow" || got.By != "memory" {
				t.Fatalf("control: the answer is %+v, want allow by memory", got)
			}
			wantAnswer(t, "control", w.ask(t, toolLine(rejected, struct{}{})), "deny", "memory", "")
			if err := d.stop(t); err != nil {
				t.Fatal(err)
			}

			path := d.data("remember.db")
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(noise, tt.damage(t, path)); err != nil {
				t.Fatal(err)
			}
			f.Close()
			damaged, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			d.start(t)
			w = d.session(t, project)
			wantAnswer(t, "allow", w.ask(t, toolLine(allowed, struct{}{})), "ask", "policy", "")
			wantAnswer(t, "reject", w.ask(t, toolLine(rejected, struct{}{})), tt.reject, "", "")
			wantAllowed(t, w) // what policy allows goes on
			st := d.status(t)
			if !st.Degraded || !st.Memory.AllowsOff {
				t.Errorf("the status is not degraded: %+v", st.Memory)
			}
			if kept, err := os.ReadFile(st.Memory.SetAside); err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("set aside as %q: %v", st.Memory.SetAside, err)
			}
		})
	}
}

// remember stores choices about tools of a server, as a person would make them.
func (d *testDaemon) remember(t *testing.T, choices map[string]decisions.Verdict) {
	t.Helper()
	store, err := remember.Open(remember.Options{Path: d.data("remember.db")})
	if err != nil {
		t.Fatal(err)
	}
	for tool, verdict := range choices {
		_, err := store.Save(t.Context(), remember.Draft{
			Verdict: verdict, Scope: remember.ForUser,
			Query: &decisions.MemoryQuery{UID: uint32(os.Geteuid()), Effect: &effects.Effect{
				Kind: effects.KindUse, Text: "github:" + tool, Use: &effects.Use{Server: "github", Tool: tool, Arguments: []byte("{}")},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// indexPage is where the index over the choices' ids begins: what it says can
// be read from the table as well.
func indexPage(t *testing.T, path string) int64 {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var page, size int64
	if err := db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_choices_1'").Scan(&page); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow("PRAGMA page_size").Scan(&size); err != nil {
		t.Fatal(err)
	}
	return (page - 1) * size
}

// tooManyConnections: the one above the limit is told so and closed.
func tooManyConnections(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "[limits]\nconnections_per_user = 3\n")
	d.start(t)
	first, second := d.session(t, project), d.session(t, project)
	third := d.session(t, project)
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
	deadline := time.Now().Add(10 * time.Second)
	for {
		again := d.wire(t)
		if got := again.ask(t, declaration("s1", project)); got == (answer{}) {
			if got := again.ask(t, decideLine(probe)); got.Verdict == "allow" {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("closed connections count for ever")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// slowReader: a client that asks and never reads is dropped, and nobody else
// waits for it.
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

// shuttingDown: what is in flight is answered, what comes later is not
// decided, and the daemon ends well.
func shuttingDown(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	w, idle := d.session(t, project), d.session(t, project)
	wantAllowed(t, w)
	release := d.lockJournal(t) // requests are in flight until it is released
	for n := range 8 {
		if _, err := w.Write([]byte(withID(decideLine(probe), n+1) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(200 * time.Millisecond) // until they have been read
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	d.waitOutput(t, "stopping")
	if got := idle.ask(t, decideLine(probe)); got.Verdict != "" || got.Picked != "" {
		t.Errorf("a request after the end began: %+v, want an error or nothing", got)
	}
	if c, err := client.Dial(context.Background(), d.socket(), client.Options{}); err == nil {
		c.Close()
		t.Error("a connection was taken after the end began")
	}
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
		if code != want || code == exitUnreachable && (out.Len() > 0 || !strings.Contains(errs.String(), "permd: hint: ")) {
			t.Errorf("exit code %d, want %d; output %q, errors %q", code, want, &out, &errs)
		}
	}
	decide(exitUnreachable)
	d.start(t)
	decide(exitOK)
	d.kill() // the socket stays and nobody listens
	if _, err := os.Lstat(d.socket()); err != nil {
		t.Fatal(err)
	}
	decide(exitUnreachable)
	d.start(t)
	decide(exitOK)
	// A folder that others can write: whoever listens there may not be permd.
	if err := os.Chmod(filepath.Dir(d.socket()), 0o777); err != nil {
		t.Fatal(err)
	}
	decide(exitUnreachable)
}
