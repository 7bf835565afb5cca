package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
)

// journalDamaged: the daemon moves the damaged journal aside unchanged, and
// continues with a new one. Nothing is allowed that is not in it.
func journalDamaged(t *testing.T) {
	noise := bytes.Repeat([]byte("\x07noise\xff\x00"), 512)
	over := func(at func(size int64) int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(noise, at(info.Size())); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, path string)
	}{
		{"header", over(func(int64) int64 { return 0 })},
		{"a page in the middle", over(func(size int64) int64 { return size / 2 / 4096 * 4096 })},
		{"cut", func(t *testing.T, path string) {
			if err := os.Truncate(path, 6000); err != nil {
				t.Fatal(err)
			}
		}},
		{"cut to nearly nothing", func(t *testing.T, path string) {
			if err := os.Truncate(path, 7); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newTestDaemon(t)
			project := d.project(t, nil)
			d.start(t)
			w := d.session(t, project)
			for range 20 {
				wantAllowed(t, w)
			}
			if err := d.stop(t); err != nil {
				t.Fatal(err)
			}
			path := d.data("decisions.db")
			tt.damage(t, path)
			damaged, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d.start(t)
			w = d.session(t, project)
			wantAllowed(t, w)
			d.wantLogged(t, w.ask(t, decideLine(probe)))
			if kept, err := os.ReadFile(d.status(t).Journal.Damaged); err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("set aside as %q: %v", d.status(t).Journal.Damaged, err)
			}
		})
	}
}

// descriptorsUsedUp: connected clients are answered, paths that cannot be read ask,
// and new clients are served when there are descriptors again.
func descriptorsUsedUp(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"run.sh": "echo canary\n"})
	d.start(t)
	w, p := d.session(t, project), d.asks(t, project)
	q := p.bash("bash run.sh")
	p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
	p.is(p.bash("bash run.sh"), decisions.Allow, decisions.ByMemory)
	wantAllowed(t, w)
	// Nothing is known of the other project, where git has not run yet.
	other := filepath.Join(d.home, "other")
	writeFile(t, filepath.Join(other, ".git", "config"), "[core]\n")
	w2 := d.session(t, other)

	lift := limitDescriptors(t, d.cmd.Process.Pid)
	waiting := make([]*wire, 5)
	for i := range waiting {
		waiting[i] = d.wire(t) // the kernel accepts it, the daemon cannot
	}
	for range 20 {
		for form, line := range map[string]string{"permd/decide": decideLine("uname -a"), "ACP": acpLine("uname -a")} {
			if got := w.ask(t, line); got.Verdict != "allow" {
				t.Fatalf("%s: the answer is %+v, want allow", form, got)
			}
		}
	}
	// git's own configuration cannot be read either. (What was read before may need no
	// descriptor to see that the files are the same.)
	for form, line := range map[string]string{"permd/decide": decideLine("git log -n 7"), "ACP": acpLine("git log -n 7")} {
		wantAnswer(t, form, w2.ask(t, line), "ask", "policy", "not understood: obeys "+other+"/.git")
	}
	// The script may have changed, which cannot be checked.
	if got := p.bash("bash run.sh"); got.Verdict != decisions.Ask {
		t.Errorf("a script that cannot be read: %s by %s", got.Verdict, got.By)
	}
	lift()
	for _, late := range waiting {
		if got := late.ask(t, declaration("s1", project)); got != (answer{}) {
			t.Errorf("permd/session after the shortage: %+v", got)
		}
		wantAllowed(t, late)
	}
	p.is(p.bash("bash run.sh"), decisions.Allow, decisions.ByMemory)
	wantAllowed(t, w)
	d.reload(t) // which happens by itself within 20 seconds
	if st := d.status(t); st.Degraded {
		t.Errorf("the status stays degraded: %+v", st)
	}
}

// daemonsRace: of daemons that start at the same time one serves, and the others
// report that and change nothing, even if a killed one left its socket.
func daemonsRace(t *testing.T) {
	const racers = 5
	d := newTestDaemon(t)
	project := d.project(t, nil)
	for round := range 2 { // the second finds a socket that nobody serves
		type racer struct {
			cmd    *exec.Cmd
			output lockedBuffer
			ended  chan error
		}
		all := make([]*racer, racers)
		for i := range all {
			r := &racer{cmd: d.command("serve"), ended: make(chan error, 1)}
			r.cmd.Stdout, r.cmd.Stderr = &r.output, &r.output
			if err := r.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.cmd.Process.Kill() })
			go func() { r.ended <- r.cmd.Wait() }()
			all[i] = r
		}
		eventually.Holds(t, fmt.Sprintf("round %d: one daemon runs", round), func() bool {
			var left []*racer
			for _, r := range all {
				select {
				case err := <-r.ended:
					exit, ok := errors.AsType[*exec.ExitError](err)
					if !ok || exit.ExitCode() != cli.ExitError || !strings.Contains(r.output.String(), "permd: hint: ") {
						t.Fatalf("round %d: one ended with %v:\n%s", round, err, r.output.String())
					}
				default:
					left = append(left, r)
				}
			}
			all = left
			return len(all) <= 1
		})
		if len(all) != 1 {
			t.Fatalf("round %d: no daemon runs", round)
		}
		winner := all[0]
		eventually.Holds(t, "the winner", func() bool { return strings.Contains(winner.output.String(), "listens") })
		w := d.session(t, project)
		wantAllowed(t, w)
		got := w.ask(t, decideLine(probe))
		d.wantLogged(t, got)
		if st := d.status(t); st.PID != winner.cmd.Process.Pid || st.Degraded {
			t.Errorf("round %d: pid %d answers, %d won: %+v", round, st.PID, winner.cmd.Process.Pid, st)
		}
		winner.cmd.Process.Kill() // leaves its socket
		if err := <-winner.ended; err == nil {
			t.Fatal("the killed daemon ended well")
		}
		if _, err := os.Lstat(d.socket()); err != nil {
			t.Fatal(fmt.Errorf("the killed daemon's socket: %w", err))
		}
	}
}

// memoryUsedUp: connections that hold as much memory as they may get error -32051 for
// more, and nobody else does.
func memoryUsedUp(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	w := d.session(t, project)
	wantAllowed(t, w)
	long := strings.Repeat("x", 3<<20)
	unfinished := `{"jsonrpc":"2.0","id":1,"method":"permd/decide","params":{"x":"` + long
	var hogs []*wire
	refused := false
	for range 40 {
		hog := d.session(t, project)
		hogs = append(hogs, hog)
		if _, err := hog.Write([]byte(unfinished)); err != nil {
			t.Fatal(err)
		}
		wantAllowed(t, w)
		// Another long message is refused once there is no memory for it.
		late := d.session(t, project)
		got := late.ask(t, decideLine("git status "+long))
		if got.allowed() {
			t.Fatalf("a message of 3 MiB is allowed: %+v", got)
		}
		late.Close()
		if refused = got.Code == -32051; refused {
			break
		}
	}
	if !refused {
		t.Error("40 connections hold 3 MiB each, and no message is refused")
	}
	wantAllowed(t, w)
	wantAllowed(t, d.session(t, project))
	for _, hog := range hogs {
		hog.Close()
	}
	eventually.Holds(t, "there is memory again", func() bool {
		late := d.session(t, project)
		defer late.Close()
		return late.ask(t, decideLine("git status "+long)).Code != -32051
	})
	wantAllowed(t, w)
}

// hogsBesideOthers: clients with more work than the daemon can do are refused at last, and
// a small client is served all the while.
func hogsBesideOthers(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	w := d.session(t, project)
	wantAllowed(t, w)
	call := `{"callId":"c%d","tool":{"name":"Bash"},"input":{"command":"` + strings.Repeat("grep -n x%[2]d a | sort; ", 40) + `"}}`
	for n := range 3 {
		hog := d.session(t, project)
		go func() {
			for id := 2; ; id++ {
				var all []string
				for i := range 64 {
					all = append(all, fmt.Sprintf(call, i, id*10_000+n*1000+i))
				}
				line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"permd/decide","params":{"sessionId":"s1","calls":[%s]}}`, id, strings.Join(all, ","))
				if _, err := hog.Write([]byte(line + "\n")); err != nil {
					return
				}
			}
		}()
	}
	for range 20 {
		wantAllowed(t, w)
	}
	wantAllowed(t, d.session(t, project))
}
