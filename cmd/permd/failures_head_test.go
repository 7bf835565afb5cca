package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/heads"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/decisions/journal/verify"
	"github.com/permd/permd/internal/strictjson"
)

// verified runs permd log verify, and returns what was found.
func (d *testDaemon) verified(t *testing.T, args ...string) (faults []verify.Fault, compared string) {
	t.Helper()
	cmd := d.command(append([]string{"log", "verify", "--json"}, args...)...)
	out, err := cmd.Output()
	var v struct {
		Faults   []verify.Fault   `json:"faults"`
		Compared strictjson.Value `json:"compared"`
	}
	if jerr := strictjson.Unmarshal(out, &v); jerr != nil {
		t.Fatalf("%s: %v, %v", out, err, jerr)
	}
	if code := cmd.ProcessState.ExitCode(); (code == 1) != (len(v.Faults) > 0) || code > 1 {
		t.Errorf("exit code %d with %d faults", code, len(v.Faults))
	}
	return v.Faults, string(v.Compared)
}

// wantVerified wants a chain without faults.
func (d *testDaemon) wantVerified(t *testing.T) {
	t.Helper()
	if faults, _ := d.verified(t); len(faults) > 0 {
		t.Fatalf("%d faults, the first is %+v", len(faults), faults[0])
	}
}

// changes changes the journal's database.
func (d *testDaemon) changes(t *testing.T, queries ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", d.data("decisions.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range queries {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// chainChanged: somebody changes the journal while no daemon runs. Decisions go on, and
// verifying finds it, also what was done to the chain itself.
func chainChanged(t *testing.T) {
	for name, queries := range map[string][]string{
		"a verdict": {"UPDATE decisions SET verdict = 'deny' WHERE seq = 2"},
		"deleted":   {"DELETE FROM decisions WHERE seq = 2"},
		"cut off":   {"DELETE FROM decisions WHERE seq > 2", "UPDATE chain SET newest = 2, entries = 2, head = (SELECT hash FROM decisions WHERE seq = 2)"},
		"no chain":  {"DELETE FROM chain"},
		"no head":   {"UPDATE chain SET head = x'00'"},
		"no id":     {"UPDATE chain SET id = x''"},
		"anew":      {"UPDATE decisions SET hash = NULL, prev_hash = NULL", "UPDATE chain SET start = newest, entries = 0, head = NULL"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTestDaemon(t)
			project := d.project(t, nil)
			d.start(t)
			w := d.session(t, project)
			wantAllowed(t, w)
			wantAllowed(t, w)
			if err := d.stop(t); err != nil {
				t.Fatal(err)
			}
			d.wantVerified(t)
			d.changes(t, queries...)
			if faults, _ := d.verified(t); len(faults) == 0 {
				t.Error("nothing is found before the daemon runs")
			}
			d.start(t)
			w = d.session(t, project)
			wantAllowed(t, w)
			wantProbeDenied(t, w)
			if err := d.stop(t); err != nil {
				t.Fatal(err)
			}
			if faults, _ := d.verified(t); len(faults) == 0 {
				t.Error("nothing is found after the daemon ran")
			}
			if lost := strings.Contains(d.output.String(), "had the head"); lost != (name != "a verdict" && name != "deleted") {
				t.Errorf("the log says that the head is gone: %v", lost)
			}
		})
	}
}

// wantProbeDenied wants that what is denied still is.
func wantProbeDenied(t *testing.T, w *wire) {
	t.Helper()
	if got := w.ask(t, decideLine("rm -rf /")); got.Verdict != "deny" {
		t.Errorf("the answer is %+v, want deny", got)
	}
}

// headNotKept: the head cannot be kept outside of the data folder. Decisions go on, and the
// log says so.
func headNotKept(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	state := filepath.Join(d.home, ".local", "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(state, "permd"), "no folder")
	d.start(t)
	w := d.session(t, project)
	wantAllowed(t, w)
	wantProbeDenied(t, w)
	d.waitOutput(t, "head is not kept outside of the data folder")
	d.wantVerified(t)
}

// TestLogVerify: with and without a daemon, heads that are known from elsewhere are
// compared, and what was cut off is found by them alone.
func TestLogVerify(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon twice; TestVerify of the journal is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	wantAllowed(t, d.session(t, project))
	head := func() chain.Head { return d.status(t).Journal.Head }
	for head().Seq < 2 {
		wantAllowed(t, d.session(t, project))
	}
	h := head()
	if faults, compared := d.verified(t, "--since-head", h.Hash); len(faults) > 0 || !strings.Contains(compared, "the running daemon") || !strings.Contains(compared, "--since-head") {
		t.Errorf("%+v, %s", faults, compared)
	}
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	if faults, compared := d.verified(t, "--since-head", h.Hash); len(faults) > 0 || !strings.Contains(compared, "the state folder") || strings.Contains(compared, "daemon") {
		t.Errorf("%+v, %s", faults, compared)
	}
	lines := ""
	for uid, hash := range map[int]string{os.Getuid(): h.Hash, os.Getuid() + 1: strings.Repeat("0", 64)} {
		lines += fmt.Sprintf(`{"_UID":"%d","MESSAGE_ID":"%s","PERMD_JOURNAL":"%s","PERMD_CHAIN":"%s","PERMD_SEQ":"%d","PERMD_ENTRIES":"%d","PERMD_HEAD":"%s"}`+"\n",
			uid, heads.MessageID, d.data("decisions.db"), h.Chain, h.Seq, h.Entries, hash)
	}
	file := filepath.Join(d.home, "heads")
	writeFile(t, file, lines)
	if faults, compared := d.verified(t, "--heads", file); len(faults) > 0 || !strings.Contains(compared, "the system's journal") {
		t.Errorf("%+v, %s", faults, compared)
	}
	cmd := d.command("log", "verify", "--heads", "-")
	cmd.Stdin = strings.NewReader(lines)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "compared with 1 head of the system's journal\n") {
		t.Errorf("%s, %v", out, err)
	}
	cmd = d.command("log", "verify", "--heads", "-")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "there is no head of") {
		t.Errorf("without heads: %s, %v", out, err)
	}
	if out, err := d.command("log", "verify", "--since-head", "00").CombinedOutput(); err == nil || !strings.Contains(string(out), "64 hexadecimal digits") {
		t.Errorf("no head: %s, %v", out, err)
	}

	// The journal and the state folder are made anew together.
	for _, p := range []string{d.data(""), filepath.Join(d.home, ".local", "state")} {
		if err := os.RemoveAll(p); err != nil {
			t.Fatal(err)
		}
	}
	d.start(t)
	wantAllowed(t, d.session(t, project))
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.wantVerified(t)
	if err := os.RemoveAll(filepath.Join(d.home, ".local", "state")); err != nil {
		t.Fatal(err)
	}
	if out, err := d.command("log", "verify").CombinedOutput(); err != nil || !strings.Contains(string(out), "compared with no head that is kept elsewhere") {
		t.Errorf("%s, %v", out, err)
	}
	if faults, _ := d.verified(t, "--since-head", h.Hash); len(faults) != 1 || faults[0].Kind != verify.CutOff {
		t.Errorf("a journal that was made anew: %+v", faults)
	}
	if faults, _ := d.verified(t, "--heads", file); len(faults) != 1 || faults[0].Kind != verify.CutOff {
		t.Errorf("a journal that was made anew: %+v", faults)
	}
}
