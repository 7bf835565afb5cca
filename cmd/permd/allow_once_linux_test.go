package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/socket/admin"
)

// TestAllowOnceEnds: permd deny takes back a yes for once that no call has used, and a yes counts
// only while permd is locked, or not, as it was when it asked.
func TestAllowOnceEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it takes back many a yes; TestWait is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	runs := func(command string) bool {
		t.Helper()
		return strings.Contains(string(d.hook(t, "cursor", hookInput(hookShell[8].in, project, command)).Stdout), `"allow"`)
	}
	ask := func(command string) string {
		t.Helper()
		if runs(command) {
			t.Fatalf("%s runs", command)
		}
		list := objects[admin.Question](t, d, "allow")
		return list[len(list)-1].DecisionID
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if out, errs, code := printed(d.command(args...)); code != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("permd %v: %d %s%s, want %s", args, code, out, errs, want)
		}
	}
	first, second, other := ask("frob x"), ask("frob x"), ask("frob y")
	d.permd(t, "allow", second)
	d.permd(t, "allow", other)
	if out := d.permd(t, "deny", first); out != "taken back: the call is not allowed any more\n" {
		t.Errorf("permd deny: %s", out)
	}
	if runs("frob x") || !runs("frob y") {
		t.Error("what was taken back runs, or what was not does not")
	}
	refused("it is answered already: taken back at ", "deny", second)
	saysTakenBack := func(id string) {
		t.Helper()
		if out := d.permd(t, "log", "show", id); !strings.Contains(out, "deny, by the person at") || !strings.Contains(out, "taken back before a call had used it") {
			t.Errorf("permd log show: %s", out)
		}
		if out := d.permd(t, "log", "list"); !strings.Contains(out, "ask, taken back") {
			t.Errorf("permd log list: %s", out)
		}
		for _, format := range []string{"jsonl", "opa", "csv"} {
			out := d.permd(t, "log", "export", "--format", format)
			for line := range strings.Lines(out) {
				if strings.Contains(line, id) && (strings.Contains(line, `"verdict":"allow"`) || strings.Contains(line, ",allow,") || format != "csv" && !strings.Contains(line, `"allowed":"`)) {
					t.Errorf("permd log export --format %s: %s", format, line)
				}
			}
		}
	}
	saysTakenBack(second)
	refused("it is answered already: allowed at ", "deny", other)

	yes := ask("frob v")
	d.permd(t, "allow", yes)
	before := ask("frob z")
	d.permd(t, "lock")
	refused("permd is locked, and this was asked before", "allow", before)
	meanwhile := ask("frob w")
	d.permd(t, "allow", ask("frob w again"))
	if !runs("frob w again") {
		t.Error("what was asked and allowed while permd is locked does not run")
	}
	if out, err := atTerminal(t, d.command("unlock")); err != nil {
		t.Fatalf("permd unlock: %v\n%s", err, out)
	}
	refused("permd was locked when this was asked", "allow", meanwhile)
	if runs("frob z") || runs("frob w") || runs("frob v") {
		t.Error("what was not allowed, or only before the lock, runs")
	}
	saysTakenBack(yes)
	d.permd(t, "allow", before)
	if !runs("frob z") {
		t.Error("what is allowed after the lock does not run")
	}
}
