package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/admin"
)

// TestFailuresPause has the failures of a pause: what asks without it must not be allowed
// where the pause is in doubt, and what is locked must not be unlocked.
func TestFailuresPause(t *testing.T) {
	failures(t, []failure{
		{"what says that permd is paused is damaged", pauseDamaged},
		{"a pause is begun without a terminal", pauseWithoutTerminal},
		{"a pause cannot be stored or logged", pauseNotStored},
		{"what a lock takes back cannot be logged", lockNotLogged},
		{"org forbids pauses", pauseForbidden},
		{"org locks permd", lockedByOrg},
	})
}

// atTerminal runs a command with a terminal as its input, as a person does: the one of its
// session, unless it has attributes of its own.
func atTerminal(t *testing.T, cmd *exec.Cmd) (output string, err error) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	cmd.Stdin = terminal
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// pauseFor begins a pause.
func (d *testDaemon) pauseFor(t *testing.T, args ...string) {
	t.Helper()
	if out, err := atTerminal(t, d.command(append([]string{"pause"}, args...)...)); err != nil {
		t.Fatalf("permd pause: %v\n%s", err, out)
	}
}

// wantPaused checks the control: what asks by default is allowed while nothing is broken.
func wantPaused(t *testing.T, got answer) {
	t.Helper()
	if got.Verdict != "allow" || got.By != "pause" {
		t.Fatalf("control: the answer is %+v, want allow by pause", got)
	}
}

// pauseDamaged: nothing is paused, and everything asks, also after a restart, until a person
// unlocks it. The file is kept.
func pauseDamaged(t *testing.T) {
	for _, tt := range testload.Sample(t, 2, []struct {
		name   string
		damage func(data []byte) []byte
	}{
		{"one bit", func(data []byte) []byte { data[len(data)-3] ^= 1; return data }},
		{"cut", func(data []byte) []byte { return data[:len(data)/2] }},
		{"emptied", func([]byte) []byte { return nil }},
		{"another", func([]byte) []byte { return []byte(`{"settings":[{"uid":0}]}`) }},
		{"8 months", func(data []byte) []byte { return []byte(strings.Replace(string(data), `"forNs":`, `"forNs":99`, 1)) }},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			d := newTestDaemon(t)
			project := d.project(t, nil)
			d.start(t)
			d.pauseFor(t, "20m")
			w := d.session(t, project)
			wantPaused(t, w.ask(t, toolLine("Bash", map[string]string{"command": "frobnicate"})))
			d.kill()
			data, err := os.ReadFile(d.data("pause"))
			if err != nil {
				t.Fatal(err)
			}
			damaged := tt.damage(data)
			if err := os.WriteFile(d.data("pause"), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				d.start(t)
				w = d.session(t, project)
				wantAnswer(t, "what asks by default", w.ask(t, toolLine("Bash", map[string]string{"command": "frobnicate"})), "ask", "lock", "")
				wantProbe(t, w, "ask", "lock", "permd is locked")
				if st := d.status(t); !st.Degraded || !strings.Contains(st.Locked, d.data("pause")) {
					t.Errorf("the status is %v, %q", st.Degraded, st.Locked)
				}
				if err := d.stop(t); err != nil {
					t.Fatal(err)
				}
			}
			d.start(t)
			if out, err := atTerminal(t, d.command("unlock")); err != nil {
				t.Fatalf("permd unlock: %v\n%s", err, out)
			}
			w = d.session(t, project)
			wantAllowed(t, w)
			wantAnswer(t, "unlocked", w.ask(t, toolLine("Bash", map[string]string{"command": "frobnicate"})), "ask", "policy", "")
			if kept, err := os.ReadFile(d.data("pause.damaged")); err != nil || string(kept) != string(damaged) {
				t.Errorf("kept: %q, %v", kept, err)
			}
		})
	}
}

// pauseWithoutTerminal: the daemon looks itself whether who connects has a terminal.
func pauseWithoutTerminal(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	// What it reads from looks like a terminal, but its session has none.
	for _, args := range [][]string{{"pause", "20m"}, {"unlock"}} {
		cmd := d.command(args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if out, err := atTerminal(t, cmd); err == nil || !strings.Contains(out, "at a terminal") {
			t.Errorf("permd %s: %v\n%s", args[0], err, out)
		}
		if out, err := d.command(args...).CombinedOutput(); err == nil {
			t.Errorf("permd %s without a terminal: %s", args[0], out)
		}
	}
	w := d.session(t, project)
	wantAnswer(t, "not paused", w.ask(t, toolLine("Bash", map[string]string{"command": "frobnicate"})), "ask", "policy", "")
	// No client of the decision socket can ask for it.
	if err := d.dial(t).Call(t.Context(), admin.MethodPause, admin.NewPause{Seconds: 60}, nil); err == nil || !strings.Contains(err.Error(), "method") {
		t.Errorf("on the decision socket: %v", err)
	}
}

// pauseNotStored: where the data folder cannot be written, no pause begins, and one that
// has begun allows nothing once the journal is gone.
func pauseNotStored(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	// A folder is in the way of the file.
	if err := os.Mkdir(d.data("pause"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := atTerminal(t, d.command("pause", "20m")); err == nil || !strings.Contains(out, "nothing is paused") {
		t.Errorf("permd pause: %v\n%s", err, out)
	}
	w := d.session(t, project)
	wantAnswer(t, "not paused", w.ask(t, toolLine("Bash", map[string]string{"command": "frobnicate"})), "ask", "policy", "")
	if err := os.Remove(d.data("pause")); err != nil {
		t.Fatal(err)
	}
	d.pauseFor(t, "20m")
	wantPaused(t, w.ask(t, toolLine("Bash", map[string]string{"command": "frobnicate"})))
	folder := filepath.Dir(d.data("pause"))
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, "not logged", w.ask(t, toolLine("Bash", map[string]string{"command": "frobnicate"})), "ask", "failure", "")
}

// lockNotLogged: a lock takes back what was allowed once also if that cannot be logged, and says so.
func lockNotLogged(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	runs := func() bool {
		return strings.Contains(string(d.hook(t, "cursor", hookInput(hookShell[8].in, project, "frob x")).Stdout), `"allow"`)
	}
	if runs() {
		t.Fatal("it runs")
	}
	d.permd(t, "allow", objects[admin.Question](t, d, "allow")[0].DecisionID)
	folder := filepath.Dir(d.data("pause"))
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	const want = "what you allowed once is taken back, but still allowed in the decision log"
	if _, errs, code := printed(d.command("lock")); code != 0 || !strings.Contains(errs, want) {
		t.Errorf("permd lock: %d %s", code, errs)
	}
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	if out, err := atTerminal(t, d.command("unlock")); err != nil {
		t.Fatalf("permd unlock: %v\n%s", err, out)
	}
	if runs() {
		t.Error("what was taken back runs")
	}
}

// pauseForbidden: what org forbids is refused, and ends at the next reload if it was in force.
func pauseForbidden(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	root := t.TempDir()
	d.start(t, "--root", root)
	d.pauseFor(t, "20m")
	w := d.session(t, project)
	wantPaused(t, w.ask(t, toolLine("Bash", map[string]string{"command": "frobnicate"})))
	writeFile(t, filepath.Join(root, "etc", "permd", "permd.toml"), "no_pause = true\nno_lock = true\n")
	if out, err := d.command("reload").CombinedOutput(); err != nil {
		t.Fatalf("permd reload: %v\n%s", err, out)
	}
	wantAnswer(t, "forbidden", w.ask(t, toolLine("Bash", map[string]string{"command": "frobnicate"})), "ask", "policy", "")
	for _, args := range [][]string{{"pause", "20m"}, {"lock"}} {
		if out, err := atTerminal(t, d.command(args...)); err == nil || !strings.Contains(out, "the organisation does not let permd be") {
			t.Errorf("permd %s: %v\n%s", args[0], err, out)
		}
	}
	if list := d.recordsThat(t, decisions.RecordFilter{Tool: "permd lock"}); len(list) != 0 {
		t.Errorf("what was refused is in the journal: %+v", list)
	}
}

// lockedByOrg: what the organisation locks, no person unlocks or pauses, until it is no longer
// locked there.
func lockedByOrg(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	root := t.TempDir()
	d.start(t, "--root", root)
	w := d.session(t, project)
	ls := toolLine("Bash", map[string]string{"command": "ls"})
	settings := filepath.Join(root, "etc", "permd", "permd.toml")
	once := func() bool {
		return strings.Contains(string(d.hook(t, "cursor", hookInput(hookShell[8].in, project, "frob x")).Stdout), `"allow"`)
	}
	if once() {
		t.Fatal("it is allowed before anybody said so")
	}
	waiting := objects[admin.Question](t, d, "allow")
	d.permd(t, "allow", waiting[len(waiting)-1].DecisionID)
	writeFile(t, settings, "lock = \"incident 7\"\n")
	if out, err := d.command("reload").CombinedOutput(); err != nil {
		t.Fatalf("permd reload: %v\n%s", err, out)
	}
	wantAnswer(t, "locked", w.ask(t, ls), "ask", "lock", "incident 7")
	for _, args := range [][]string{{"pause", "20m"}, {"unlock"}} {
		if out, err := atTerminal(t, d.command(args...)); err == nil || !strings.Contains(out, "the organisation has locked permd") {
			t.Errorf("permd %s: %v\n%s", args[0], err, out)
		}
	}
	if out, err := d.command("status").CombinedOutput(); err != nil || !strings.Contains(string(out), "incident 7 (lock)") {
		t.Errorf("permd status: %v\n%s", err, out)
	}
	wantAnswer(t, "still locked", w.ask(t, ls), "ask", "lock", "incident 7")
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
	if out, err := d.command("reload").CombinedOutput(); err != nil {
		t.Fatalf("permd reload: %v\n%s", err, out)
	}
	if got := w.ask(t, ls); !got.allowed() {
		t.Errorf("no longer locked: %+v", got)
	}
	if once() {
		t.Error("what was allowed once before the lock runs after it")
	}
}
