package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/permd/permd/internal/eventually"
)

// TestActsAreNoCalls: what a person does to choices has a row of the log for each command, and is
// counted apart from the calls of agents.
func TestActsAreNoCalls(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"a/a.go": "package a\n"})
	p := d.asks(t, project)
	stats := func() (n int, acts map[string]int, tools string) {
		t.Helper()
		var st struct {
			Decisions int
			Allow     int
			Acts      map[string]int
			Tools     []struct{ Name string }
			DecidedBy map[string]int
			Days      []struct{ Allow, Ask, Deny int }
		}
		if err := json.Unmarshal([]byte(d.permd(t, "log", "stats", "--json")), &st); err != nil {
			t.Fatal(err)
		}
		days := 0
		for _, day := range st.Days {
			days += day.Allow + day.Ask + day.Deny
		}
		if days != st.Decisions || st.DecidedBy["human"] > 0 {
			t.Errorf("the days have %d of %d, and a person decided %d", days, st.Decisions, st.DecidedBy["human"])
		}
		return st.Decisions, st.Acts, fmt.Sprint(st.Tools)
	}
	p.bash("go vet ./a")
	id := strings.Fields(d.permd(t, "remember", "add", "run", "go vet *", "--dir", project))[0]
	changed := strings.Fields(d.permd(t, "remember", "change", id, "--for", "8h"))[0]
	d.permd(t, "remember", "undo")
	d.permd(t, "remember", "undo")
	d.permd(t, "remember", "undo", "--list")
	d.permd(t, "remember", "add", "run", "go build *", "--dir", project, "--for", "8h")
	out := printedIn(t, d.command("remember", "list"), 80)
	if !strings.Contains(out, "never used, until 20") || !strings.Contains(out, ", made 20") {
		t.Errorf("the list is\n%s", out)
	}
	for line := range strings.Lines(out) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("longer than 80 columns: %s", line)
		}
	}
	want := map[string]int{"permd remember add": 2, "permd remember change": 1, "permd remember undo": 2}
	eventually.Holds(t, "the acts are counted", func() bool {
		_, acts, _ := stats()
		return fmt.Sprint(acts) == fmt.Sprint(want)
	})
	n, _, tools := stats()
	if n != 1 || strings.Contains(tools, "permd") {
		t.Errorf("%d decisions are counted, of the tools %s", n, tools)
	}
	if out := d.permd(t, "today"); !strings.Contains(out, "1 decision,") || !strings.Contains(out, "  you       remember add 2, remember change 1, remember undo 2") {
		t.Errorf("today is\n%s", out)
	}
	if out := d.permd(t, "log", "list", "--json"); !strings.Contains(out, "changed to: allow run go vet * ("+changed+")") {
		t.Errorf("the log has no row of the change:\n%s", out)
	}
}

// printedIn returns what a command prints in so many columns.
func printedIn(t *testing.T, cmd *exec.Cmd, columns int) string {
	t.Helper()
	cmd.Env = append(cmd.Environ(), fmt.Sprint("COLUMNS=", columns))
	out, errs, code := printed(cmd)
	if code != 0 {
		t.Fatalf("%v ends with %d: %s", cmd.Args, code, errs)
	}
	return out
}
