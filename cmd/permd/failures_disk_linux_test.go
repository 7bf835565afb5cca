package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// TestFailuresDisk is [TestFailures] for a disk that is full for real, and for one whose
// writes and syncs fail or take their time.
func TestFailuresDisk(t *testing.T) {
	failures(t, []failure{
		{"file system full", fileSystemFull},
		{"syncs fail", syncsFail},
		{"syncs are slow", syncsSlow},
		{"some writes fail", writesFail},
	})
}

// startOn starts the daemon in a mount namespace of its own, in which the folder is a
// file system in memory of that size. It returns where others see the folder.
func (d *testDaemon) startOn(t *testing.T, folder, size string) string {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	d.startMounted(t, `mount -t tmpfs -o mode=0700,size="$2" none "$1"`, folder, size)
	return fmt.Sprintf("/proc/%d/root%s", d.cmd.Process.Pid, folder)
}

// fileSystemFull: while the file system of the data folder is full, nothing is allowed,
// and what was answered before is still in the journal; with space again, all goes on.
func fileSystemFull(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	data := d.startOn(t, filepath.Dir(d.data("x")), "8m")
	w := d.session(t, project)
	wantAllowed(t, w)
	var answered []answer
	ask := func() answer {
		t.Helper()
		got := w.ask(t, decideLine(probe))
		switch {
		case got.Verdict == "allow":
			answered = append(answered, got)
		case got.Verdict != "ask" || got.By != "failure" || !strings.Contains(got.Reason, "could not be logged"):
			t.Fatalf("the answer is %+v", got)
		}
		return got
	}
	for round := range 3 {
		// Somebody else takes what is left.
		filler := filepath.Join(data, "filler")
		f, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		block := make([]byte, 4096)
		for err == nil {
			_, err = f.Write(block)
		}
		if f.Close(); !strings.Contains(err.Error(), "no space left") {
			t.Fatal(err)
		}
		for n := 0; ask().Verdict == "allow"; n++ { // what was allocated before takes some
			if n > 100_000 {
				t.Fatal("the file system is not full")
			}
		}
		for range 20 {
			ask()
		}
		if st := d.status(t); !st.Degraded || st.Journal.Failing == "" {
			t.Errorf("round %d: the status is not degraded: %+v", round, st.Journal)
		}
		if got := w.ask(t, decideLine("rm -rf /")); got.Verdict != "deny" {
			t.Errorf("round %d: what is denied anyway: %+v", round, got)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		eventually.Holds(t, "it goes on", func() bool { return ask().Verdict == "allow" })
	}
	d.wantLogged(t, answered...)
	if st := d.status(t); st.Degraded {
		t.Errorf("the status stays degraded: %+v", st.Journal)
	}
	t.Logf("%d allowed", len(answered))
}

// startInjected starts the daemon under strace, which makes system calls fail or take
// their time, and with that durability.
func (d *testDaemon) startInjected(t *testing.T, durability string, inject ...string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is missing")
	}
	if out, err := exec.Command(strace, "-D", "-qq", "-o", os.DevNull, "-e", "trace=none", "/bin/true").CombinedOutput(); err != nil {
		t.Skipf("nothing can be traced here: %v: %s", err, out)
	}
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), fmt.Sprintf("durability = %q\n", durability))
	traced, args := []string{}, []string{"-D", "-f", "-qq", "-o", os.DevNull}
	for _, rule := range inject {
		calls, _, _ := strings.Cut(rule, ":")
		traced, args = append(traced, calls), append(args, "-e", "inject="+rule)
	}
	args = append(args, "-e", "trace="+strings.Join(traced, ","), os.Args[0], "serve")
	d.cmd = exec.Command(strace, args...)
	d.cmd.Env = d.env
	d.cmd.Stdout, d.cmd.Stderr = &d.output, &d.output
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.waitAnswers(t)
}

// syncsFail: with durability "power", what the disk does not confirm is not allowed.
func syncsFail(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t) // makes the databases
	wantAllowed(t, d.session(t, project))
	d.kill()
	d.startInjected(t, "power", "fsync,fdatasync:error=EIO")
	w := d.session(t, project)
	for range 20 {
		wantProbe(t, w, "ask", "failure", "could not be logged")
	}
	if got := w.ask(t, decideLine("rm -rf /")); got.Verdict != "deny" {
		t.Errorf("what is denied anyway: %+v", got)
	}
	if st := d.status(t); !st.Degraded || st.Journal.Failing == "" {
		t.Errorf("the status is not degraded: %+v", st.Journal)
	}
	d.kill()
	d.start(t)
	w = d.session(t, project)
	wantAllowed(t, w)
	d.wantLogged(t, w.ask(t, decideLine(probe)))
}

// syncsSlow: with durability "power", requests wait for a disk that takes 50 ms for a
// sync, those of many clients together, and all are answered and stored.
func syncsSlow(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.startInjected(t, "power", "fsync,fdatasync:delay_enter=50ms")
	wires := make([]*wire, 32)
	for i := range wires {
		wires[i] = d.session(t, project)
	}
	var answered []answer
	for range 5 {
		for _, w := range wires {
			if _, err := w.Write([]byte(decideLine(probe) + "\n")); err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range wires {
			got := w.next(t)
			if got.Verdict != "allow" {
				t.Errorf("the answer is %+v", got)
			}
			answered = append(answered, got)
		}
	}
	d.wantLogged(t, answered...)
	d.kill()
	d.start(t)
	d.wantLogged(t, answered...)
	if st := d.status(t); st.Degraded {
		t.Errorf("the daemon is degraded: %+v", st)
	}
}

// writesFail: some writes to the journal's files fail. Some requests are not allowed;
// those that are, are in the journal, also after a crash.
func writesFail(t *testing.T) {
	for name, rule := range map[string]string{"an error": "error=EIO:when=3+5", "no space": "error=ENOSPC:when=2+3"} {
		t.Run(name, func(t *testing.T) {
			d := newTestDaemon(t)
			project := d.project(t, nil)
			d.start(t)
			w := d.session(t, project)
			wantAllowed(t, w)
			d.inject(t, "write,pwrite64:"+rule)
			var answered []answer
			for range 200 {
				got := w.ask(t, decideLine(probe))
				if got.Verdict == "allow" {
					answered = append(answered, got)
				} else if got.Verdict != "ask" || got.By != "failure" || !strings.Contains(got.Reason, "could not be logged") {
					t.Fatalf("the answer is %+v", got)
				}
			}
			if n := len(answered); n < 20 || n == 200 {
				t.Errorf("%d of 200 were allowed, want many and not all", n)
			}
			d.kill()
			d.start(t)
			d.wantLogged(t, answered...)
			if st := d.status(t); st.Journal.Damaged != "" {
				t.Errorf("set aside: %s", st.Journal.Damaged)
			}
			wantAllowed(t, d.session(t, project))
		})
	}
}

// inject makes system calls of the running daemon fail that are about the journal's
// files.
func (d *testDaemon) inject(t *testing.T, rule string) {
	t.Helper()
	calls, _, _ := strings.Cut(rule, ":")
	args := []string{"-f", "-o", os.DevNull, "-p", strconv.Itoa(d.cmd.Process.Pid), "-e", "trace=" + calls, "-e", "inject=" + rule}
	for _, name := range []string{"", "-wal", ".spool-0", ".spool-1"} {
		args = append(args, "-P", d.data("decisions.db"+name))
	}
	var said lockedBuffer
	cmd := exec.Command("strace", args...)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Skipf("strace is missing: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // with the daemon
		close(ended)
	}()
	t.Cleanup(func() {
		d.kill()
		<-ended
	})
	eventually.Holds(t, "strace is attached", func() bool {
		if strings.Contains(said.String(), "not permitted") {
			t.Skipf("no other process can be traced here: %s", said.String())
		}
		return strings.Contains(said.String(), "attached")
	}, said.String)
}
