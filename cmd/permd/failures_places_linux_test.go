package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestPlaceUnmounted is a row of [TestPlaceFailures] that needs a mount namespace.
func TestPlaceUnmounted(t *testing.T) {
	failures(t, []failure{{"data folder unmounted", dataUnmounted}})
}

// dataUnmounted: a file system with the data folder that is unmounted while permd uses it
// leaves its files open, and changes none of them.
func dataUnmounted(t *testing.T) {
	if _, err := exec.LookPath("nsenter"); err != nil {
		t.Skip("nsenter is missing")
	}
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n"})
	data := filepath.Dir(d.data("remember.db"))
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	d.startMounted(t, `mount -t tmpfs -o mode=0700 none "$1"`, data)
	p, w := d.asks(t, project), d.session(t, project)
	q := p.bash("go build ./a")
	p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
	p.choose(p.bash("go vet ./never"), map[string]any{"verdict": "deny", "scope": "user"}, "")
	p.is(p.bash("go build ./a"), decisions.Allow, decisions.ByMemory)
	wantAllowed(t, w)

	unmount := exec.Command("nsenter", "--preserve-credentials", "-U", "-m", "-t", strconv.Itoa(d.cmd.Process.Pid), "umount", "-l", data)
	if out, err := unmount.CombinedOutput(); err != nil {
		t.Skipf("it cannot be unmounted here: %v\n%s", err, out)
	}
	d.waitOutput(t, "the databases are not where permd opened them")
	if got := p.bash("go build ./a"); got.Verdict != decisions.Ask {
		t.Errorf("what was remembered: %s by %s: %s", got.Verdict, got.By, got.Reason)
	}
	p.is(p.bash("go vet ./never"), decisions.Deny, decisions.ByMemory)
	wantProbe(t, w, "ask", "failure", "could not be logged")
	if st := d.status(t); !st.Degraded || !st.Memory.AllowsOff || st.Memory.Gone == "" || st.Journal.Failing == "" {
		t.Errorf("the status: %+v, %+v", st.Memory, st.Journal)
	}
	d.kill()
	d.start(t)
	d.wantLost(t, project, "go vet ./never")
}
