package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/socket/admin"
)

// TestAllowSays: answers that are not taken say why, a question of a lock that has ended says that
// it was locked then, and lines about kinds that there are not are refused.
func TestAllowSays(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for what is refused; TestWait is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	says := func(want string, args ...string) {
		t.Helper()
		if out, errs, code := printed(d.command(args...)); code != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("permd %v: %d %s%s, want %s", args, code, out, errs, want)
		}
	}
	ask := func(command string) string {
		t.Helper()
		d.hook(t, "cursor", hookInput(hookShell[8].in, project, command))
		list := objects[admin.Question](t, d, "allow")
		if len(list) == 0 {
			t.Fatalf("%s does not ask", command)
		}
		return list[len(list)-1].DecisionID
	}
	id := ask("frob x")
	says("nothing was answered: no width of that id was offered; there are: w1", "allow", id, "--width", "w9")
	d.permd(t, "allow", id)
	says("it is answered already: allowed at ", "allow", id)
	id = ask("frob y")
	d.permd(t, "deny", id)
	says("it is answered already: denied at ", "allow", id)

	d.permd(t, "lock")
	ask("frob z")
	for range 2 {
		if out := d.permd(t, "allow"); !strings.Contains(out, "permd was locked when it was asked") || strings.Contains(out, "is locked") {
			t.Errorf("the list:\n%s", out)
		}
		_ = d.command("unlock").Run() // it needs a terminal
	}
	for _, verdict := range []string{"--reject=false", "--reject"} {
		says("it never matches; the kinds of calls that name no tool are search, think, other", "remember", "add", verdict, "use", "kind/serch")
		d.permd(t, "remember", "add", verdict, "use", "kind/search", "--dir", project)
	}
	writeFile(t, d.rulesFile(), "allow:\n  use: [kind/serch]\ndeny:\n  use: [\"kind/th*\"]\n")
	out, errs, _ := printed(d.command("policy", "check"))
	if all := out + errs; strings.Count(all, "never matches: no call that names no tool is of that kind") != 1 || !strings.Contains(all, "rules.yaml:2") {
		t.Errorf("policy check:\n%s", all)
	}
}
