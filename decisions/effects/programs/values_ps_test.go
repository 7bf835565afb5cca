package programs

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// psLines are lines of ps, with whether a real ps showed the environment of processes.
func psLines(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile("testdata/ps.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if what, words, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			lines[words] = what == "shown"
		}
	}
	if len(lines) < 30 {
		t.Fatalf("%d lines", len(lines))
	}
	return lines
}

// TestEnvironmentOfPS compares how the words of ps are read with what a real ps showed:
// e is the environment of each process in any word without a dash, and in others where
// ps falls back to BSD options.
func TestEnvironmentOfPS(t *testing.T) {
	table := shipped(t)
	for line, shown := range psLines(t) {
		asks := false
		for r := table.entryOf("ps").Read(literalWords(strings.Fields(line))); r.More(); {
			if r.Next().Kind != ArgOptions {
				continue
			}
			for use, ok := r.Option(); ok; use, ok = r.Option() {
				asks = asks || use.Option == nil || use.Role == RoleUnknown
			}
		}
		if asks != shown {
			t.Errorf("ps %s: not understood %v, shows the environment %v", line, asks, shown)
		}
	}
}

// TestEnvironmentOfRealPS compares the recorded lines with the ps of this machine.
func TestEnvironmentOfRealPS(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs ps with each option of the table")
	}
	if out, err := exec.Command("ps", "--version").Output(); err != nil || !bytes.Contains(out, []byte("procps-ng 4.")) {
		t.Skip("there is no ps of procps-ng 4 here")
	}
	child := exec.Command("sleep", "60")
	child.Env = []string{"PERMD_CANARY=shown"}
	if err := child.Start(); err != nil {
		t.Skip("sleep does not start:", err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	for line, shown := range psLines(t) {
		cmd := exec.Command("ps", strings.Fields(line)...)
		cmd.Env = []string{"COLUMNS=4000", "LC_ALL=C", "PATH=" + os.Getenv("PATH")}
		out, _ := cmd.Output()
		if bytes.Contains(out, []byte("PERMD_CANARY=shown")) && !shown {
			t.Errorf("ps %s shows the environment of processes", line)
		}
	}
}
