package main

import (
	"bytes"
	"encoding/csv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/admin"
)

// TestLogFailures has the rows of the failure table about reading the log.
func TestLogFailures(t *testing.T) {
	failures(t, []failure{
		{"decisions in the log cannot be read", logDamaged},
		{"texts in the log are hostile", logHostile},
		{"who reads an export goes away", exportBroken},
		{"the log is that of an earlier permd", logEarlier},
	})
}

// logCommands are the ways to look at many decisions.
var logCommands = []string{
	"log list", "log list --all", "log list --by agent", "log list --by day", "log list --by verdict", "log list --by program", "log list --by project", "log list --by host",
	"log list --path x", "log list --host x", "log stats", "today", "log export", "log export --format opa", "log export --format csv",
}

// printed runs a command and returns what it prints, what it says, and its exit code.
func printed(cmd *exec.Cmd) (out, errs string, code int) {
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run() // how it ended is its exit code
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// logDamaged: with and without a daemon, decisions that cannot be read are seen to be
// missing, counts have them where that is possible, and the others are as they were.
func logDamaged(t *testing.T) {
	d := newTestDaemon(t)
	d.start(t)
	w := d.session(t, d.project(t, nil))
	for range 4 {
		wantAllowed(t, w)
	}
	recs := d.records(t)
	n := len(recs)
	d.waitStored(t, int64(n))
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.changes(t, `UPDATE decisions SET record = CAST('{"time":' AS BLOB) WHERE seq = 2`, "UPDATE decisions SET shared = 999 WHERE seq = 3")
	look := func() {
		t.Helper()
		for command, want := range map[string][2]int{ // lines, and how many decisions cannot be read
			"log list": {n, 2}, "log list --all": {n, 2}, "log export": {n, 2}, "log export --format opa": {n, 2}, "log export --format csv": {n + 1, 2},
		} {
			out, errs, code := printed(d.command(strings.Fields(command)...))
			if strings.Count(out, "\n") != want[0] || code != 1 || !strings.Contains(errs, "permd: error: 2 decisions cannot be read\n") || !strings.Contains(out, "999") && strings.Count(out, "record ") < 2 {
				t.Errorf("permd %s: exit code %d, %s\n%s", command, code, errs, out)
			}
		}
		for _, command := range []string{"log list --by agent", "log list --by program", "log list --by verdict", "log list --by project", "log stats", "today"} {
			out, errs, code := printed(d.command(append(strings.Fields(command), "--json")...))
			all := int64(0)
			values, err := strictjson.Values([]byte(out))
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				var g struct {
					Allow int64 `json:"allow"`
				}
				o, err := strictjson.ParseObject(v)
				if err != nil {
					t.Fatal(err)
				}
				raw, _ := o.Get("allow")
				if err := strictjson.Unmarshal(append(append([]byte(`{"allow":`), raw...), '}'), &g); err != nil {
					t.Fatal(err)
				}
				all += g.Allow
			}
			if code != 0 || errs != "" || all != int64(n) {
				t.Errorf("permd %s counts %d, want %d: %s%s", command, all, n, out, errs)
			}
		}
	}
	show := func() {
		t.Helper()
		for _, i := range []int{1, 2} {
			id := recs[i].Decision.ID
			out, errs, code := printed(d.command("log", "show", id, "--json"))
			var rec decisions.Record
			if err := strictjson.Unmarshal([]byte(out), &rec); err != nil || rec.Unreadable == "" || rec.Seq != int64(i+1) || rec.Decision.ID != id || code != 1 || !strings.Contains(errs, "1 decision cannot be read") {
				t.Errorf("permd log show --json: exit code %d, %s\n%s", code, errs, out)
			}
			for _, command := range []string{"log show ", "explain "} {
				out, errs, code := printed(d.command(strings.Fields(command + id)...))
				if out != "" || code != 1 || !strings.Contains(errs, "cannot be read") || strings.Contains(errs, "internal error") {
					t.Errorf("permd %s: exit code %d, %s\n%s", command, code, errs, out)
				}
			}
		}
	}
	look()
	show()
	d.start(t)
	look()
	show()
	var one, other decisions.Record
	if err := d.manage(t, admin.MethodShow, map[string]string{"decisionId": recs[1].Decision.ID}, &one); err != nil || one.Unreadable == "" || one.Seq != 2 {
		t.Errorf("show returns %+v, %v", one, err)
	}
	if err := d.manage(t, admin.MethodShow, map[string]string{"decisionId": recs[0].Decision.ID}, &other); err != nil || other.Unreadable != "" || other.Seq != 1 {
		t.Errorf("show returns %+v, %v", other, err)
	}
}

// logHostile: what agents and clients choose never reaches a terminal as it is.
func logHostile(t *testing.T) {
	d := newTestDaemon(t)
	d.start(t)
	evil := "\u202eevil\u0007\u001b[31m\u2066\u200b=1+1"
	project := d.project(t, nil)
	name := strings.NewReplacer("\u0007", `\u0007`, "\u001b", `\u001b`).Replace(evil)
	for _, command := range []string{"echo '" + name + "'", "=cmd|x", "cat '/tmp/x" + name + "'"} {
		cmd := d.command("decide", "--agent", evil, "--cwd", project, "-")
		cmd.Stdin = strings.NewReader(`{"tool": {"name": "` + name + `"}, "input": {"command": "` + command + `", "file_path": "/tmp/` + name + `"}}`)
		_ = cmd.Run() // the verdicts differ
	}
	if n := len(d.records(t)); n != 3 {
		t.Fatalf("%d decisions", n)
	}
	id := d.records(t)[0].Decision.ID
	all := append(slices.Clip(logCommands), "log show "+id, "log list --agent nobody", "log list --json", "log list --by agent --json", "log stats --json", "log show --json "+id)
	for _, command := range all {
		for _, columns := range []string{"20", "80", "200", ""} {
			cmd := d.command(strings.Fields(command)...)
			cmd.Env = append(cmd.Environ(), "COLUMNS="+columns)
			out, errs, code := printed(cmd)
			if code != 0 && command != "log list --agent nobody" {
				t.Errorf("permd %s: exit code %d: %s", command, code, errs)
			}
			for _, c := range out + errs {
				if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) {
					t.Errorf("permd %s in %s columns prints %q:\n%q", command, columns, c, out+errs)
					break
				}
			}
		}
	}
	rows, err := csv.NewReader(strings.NewReader(d.permd(t, "log", "export", "--format", "csv"))).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if strings.IndexAny(cell, "=+-@") == 0 {
				t.Errorf("a cell is a formula: %s", cell)
			}
		}
	}
}

// exportBroken: an export whose reader goes away ends without a word, and the daemon goes
// on.
func exportBroken(t *testing.T) {
	d := newTestDaemon(t)
	d.start(t)
	w := d.session(t, d.project(t, nil))
	for range 150 {
		w.ask(t, decideLine(probe))
	}
	for _, args := range [][]string{{"log", "export"}, {"log", "export", "--format", "csv"}, {"log", "list", "--all"}, {"log", "list", "--all", "--json"}} {
		cmd := d.command(args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 10)); err != nil {
			t.Errorf("permd %q: %v", args, err)
		}
		_ = out.Close()
		_ = cmd.Wait() // a signal ends it, or it had written all
		if errs.Len() > 0 {
			t.Errorf("permd %q says %s", args, &errs)
		}
	}
	wantAllowed(t, w)
}

// logEarlier: without a daemon the journal of an earlier permd is left as it is, and says
// what to do; the daemon updates it, and all its decisions are found and counted.
func logEarlier(t *testing.T) {
	d := newTestDaemon(t)
	from := filepath.Join("..", "..", "decisions", "journal", "testdata", "9eb77c9")
	names, err := os.ReadDir(from)
	if err != nil || len(names) < 2 {
		t.Fatalf("the fixture is gone: %v, %v", names, err)
	}
	for _, n := range names {
		data, err := os.ReadFile(filepath.Join(from, n.Name()))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, d.data(n.Name()), string(data))
	}
	if err := os.Chmod(filepath.Dir(d.data("x")), 0o700); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(d.data("decisions.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range logCommands {
		out, errs, code := printed(d.command(strings.Fields(command)...))
		if code != 1 || out != "" || !strings.Contains(errs, "permd serve") {
			t.Errorf("permd %s: exit code %d, %s%s", command, code, errs, out)
		}
	}
	if after, err := os.ReadFile(d.data("decisions.db")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the journal was changed, or %v", err)
	}
	d.start(t)
	all := d.recordsThat(t, decisions.RecordFilter{})
	if len(all) < 40 {
		t.Fatalf("%d decisions", len(all))
	}
	for _, command := range logCommands {
		out, errs, code := printed(d.command(strings.Fields(command)...))
		if code != 0 {
			t.Errorf("permd %s: exit code %d, %s%s", command, code, errs, out)
		}
	}
	if out, _, _ := printed(d.command("log", "export")); strings.Count(out, "\n") != len(all) {
		t.Errorf("an export has %d of %d decisions", strings.Count(out, "\n"), len(all))
	}
}
