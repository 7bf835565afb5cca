package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestPreviewCommands: a dry run stores nothing and says what would be; what is stored says what it
// would have matched.
func TestPreviewCommands(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"package.json": `{"scripts": {"test": "echo 1"}}`})
	p := d.asks(t, project)
	for _, command := range []string{"go test ./a", "go test ./b", "npm test", "frob"} {
		p.bash(command)
	}
	says := func(want string, args ...string) {
		t.Helper()
		if out := d.permd(t, args...); !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("permd %v prints %s, want %s", args, out, want)
		}
	}
	dry := func(want string, args ...string) {
		t.Helper()
		before := d.choiceLines(t)
		says(want, append(args, "--dry-run")...)
		if after := d.choiceLines(t); after != before {
			t.Errorf("permd %v has changed\n%s\nto\n%s", args, before, after)
		}
	}
	add := []string{"remember", "add", "run", "go test *", "--dir", project}
	dry("would remember: allow run go test * (project "+project+") would have matched 2 of the last 4 requests of this project", add...)
	dry(`"matched":2,"requests":4`, append(add, "--json")...)
	dry("bound to script test of ./package.json) would have matched 1 of the last 4 requests", "remember", "add", "run", "npm test", "--dir", project)
	says("would have matched 2 of the last 4 requests of this project", add...)
	dry("already remembered, as ", add...)
	p.bash("go test ./c")
	id := strings.Fields(d.permd(t, "remember", "list"))[0]
	dry("would remember: allow run go test * (user) would have matched 3 of the last 5 requests", "remember", "change", id, "--scope", "user")
	says(`"preview":{"choices":[],"matched":1,"requests":5,"denied":0,"unknown":0}`, "remember", "add", "--reject", "run", "frob", "--dir", project, "--json")
	if p.bash("frob").Verdict != decisions.Deny {
		t.Error("the reject is not in force")
	}
	out, errs, code := printed(d.command("remember", "add", "run", "frob", "--dir", project, "--dry-run"))
	if code != 0 || !strings.Contains(out, "would have matched 2 of the last 6 requests of this project, 1 of them denied") {
		t.Errorf("an allow of what was denied: %d %s%s", code, out, errs)
	}
	if out, errs, code := printed(d.command("remember", "add", "run", "sh -c *", "--dir", project, "--dry-run")); code != 1 || !strings.Contains(out, "would be refused: ") {
		t.Errorf("a shell: %d %s%s", code, out, errs)
	}
	d.hook(t, "cursor", hookInput(hookShell[8].in, project, "go vet ./a"))
	says("would have matched 1 of the last 7 requests of this project", "allow")
	says("never: run go vet ./a (also with more options) (in this project) would have matched 1 of the last 7 requests of this project", "allow")
	says(`"previews":[{"decisionId":"`, "allow", "--json")
}
