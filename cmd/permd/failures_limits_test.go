package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	// git's own configuration cannot be read either.
	wantProbe(t, w, "ask", "policy", "not understood: obeys "+project+"/.git")
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
	for round := range 4 {
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
