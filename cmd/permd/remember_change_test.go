package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

// changed is the only choice that a change prints.
func (d *testDaemon) changed(t *testing.T, args ...string) (c admin.Choice) {
	t.Helper()
	out := d.permd(t, append([]string{"remember", "change", "--json"}, args...)...)
	choice, undo, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(choice), &c); err != nil || !strings.HasPrefix(undo, `{"undo":`) {
		t.Fatalf("%v: %s", err, out)
	}
	return c
}

// TestChangeLine: a choice that gets another line matches that one alone from the next request on,
// where and as long as the former did; what is no line of such a choice changes nothing; and an
// undo restores the former.
func TestChangeLine(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"package.json": `{"scripts":{"test":"true"}}`})
	p := d.asks(t, project)
	id := strings.Fields(d.permd(t, "remember", "add", "run", "frob build *", "--dir", project, "--for", "1h"))[0]
	no := strings.Fields(d.permd(t, "remember", "add", "--reject", "run", "frob push", "--dir", project))[0]
	bound := strings.Fields(d.permd(t, "remember", "add", "run", "npm test", "--dir", project))[0]
	p.is(p.bash("frob build a"), decisions.Allow, decisions.ByMemory)
	before := d.permd(t, "remember", "list", "--json")
	for _, args := range [][]string{
		{id, "--line", "sh *"}, {id, "--line", "frob build \""}, {id, "--line", ""}, {id, no, "--line", "frob x"}, {bound, "--line", "npm run build"},
		{id, "--line", "~/x/frob *"}, {id, "--line", "npm test"},
	} {
		if out, errs, code := printed(d.command(append([]string{"remember", "change"}, args...)...)); code == 0 || out != "" {
			t.Errorf("%q: %d %s%s", args, code, out, errs)
		}
	}
	if after := d.permd(t, "remember", "list", "--json"); after != before {
		t.Errorf("what was refused has changed\n%sto\n%s", before, after)
	}
	c := d.changed(t, id, "--line", "frob build a")
	if c.Rule != "frob build a" || c.ID == id || c.Expires.IsZero() || c.Scope != "project" || c.Of != project {
		t.Errorf("changed: %+v", c)
	}
	p.is(p.bash("frob build a"), decisions.Allow, decisions.ByMemory)
	p.is(p.bash("frob build b"), decisions.Ask, decisions.ByPolicy)
	if n := d.changed(t, no, "--line", "frob push *"); n.Verdict != "deny" || n.Rule != "frob push *" {
		t.Errorf("changed: %+v", n)
	}
	p.is(p.bash("frob push --hard x"), decisions.Deny, decisions.ByMemory)
	d.permd(t, "remember", "undo")
	d.permd(t, "remember", "undo")
	p.is(p.bash("frob build b"), decisions.Allow, decisions.ByMemory)
}

// TestChangeChoice: a changed choice holds where it now should from the next request on, and
// after a crash; what cannot be changed stays as it is.
func TestChangeChoice(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestChangeLine is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n", "a/a.go": "package a\n"})
	elsewhere := filepath.Join(d.home, "elsewhere")
	writeFile(t, filepath.Join(elsewhere, ".git", "HEAD"), "ref: refs/heads/main\n")
	p, other := d.asks(t, project), d.asks(t, elsewhere)
	id := strings.Fields(d.permd(t, "remember", "add", "run", "go vet *", "--dir", project, "--for", "1h"))[0]
	p.is(p.bash("go vet ./a"), decisions.Allow, decisions.ByMemory)
	other.is(other.bash("go vet ./a"), decisions.Ask, decisions.ByPolicy)

	wide := d.changed(t, id, "--scope", "user")
	if wide.ID == id || wide.Scope != "user" || wide.Of != "" || wide.Expires.IsZero() {
		t.Errorf("with another scope: %+v", wide)
	}
	other.is(other.bash("go vet ./a"), decisions.Allow, decisions.ByMemory)
	d.kill()
	d.start(t)
	p, other = d.asks(t, project), d.asks(t, elsewhere)
	other.is(other.bash("go vet ./a"), decisions.Allow, decisions.ByMemory)
	narrow := d.changed(t, wide.ID, "--scope", "project", "--dir", project, "--for-ever")
	if narrow.Scope != "project" || narrow.Of != project || !narrow.Expires.IsZero() {
		t.Errorf("for the project, without a limit: %+v", narrow)
	}
	other.is(other.bash("go vet ./a"), decisions.Ask, decisions.ByPolicy)
	p.is(p.bash("go vet ./a"), decisions.Allow, decisions.ByMemory)

	q := p.bash("go build ./a")
	exact := p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")[0].ID
	git := strings.Fields(d.permd(t, "remember", "add", "run", "git merge main", "--dir", project))[0]
	before := d.permd(t, "remember", "list", "--json")
	for _, tt := range []struct{ args, says string }{
		{git + " --scope user", "bound to files"},
		{narrow.ID + " " + git + " --scope user", "bound to files"}, // none of them
		{exact + " --scope user", "answer again"},
		{id + " --for 1h", "no choice"},
		{narrow.ID, "nothing to change"},
		{narrow.ID + " --for 1h --for-ever", "exclude each other"},
		{narrow.ID + " --scope session", "unknown scope"},
		{narrow.ID + " --for 1ms", "at least a second"},
		{narrow.ID + " --for 999999h", "ten years"},
	} {
		out, err := d.command(append([]string{"remember", "change"}, strings.Fields(tt.args)...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: %v, %s", tt.args, err, out)
		}
	}
	for _, params := range []string{`{}`, `{"choiceIds":[],"forever":true}`, `{"choiceIds":["` + git + `"]}`, `{"choiceIds":["` + git + `"],"expiresIn":-1}`, `{"choiceIds":["` + git + `"],"scope":"project","x":1}`, `{"choiceIds":["` + git + `"],"scope":"session"}`} {
		if err := d.manage(t, admin.MethodChoicesChange, json.RawMessage(params), nil); params != `{"choiceIds":["`+git+`"],"scope":"project","x":1}` && err == nil {
			t.Errorf("%s is taken", params)
		}
	}
	if after := d.permd(t, "remember", "list", "--json"); after != before {
		t.Errorf("there were\n%s\nand are\n%s", before, after)
	}
	// Who asks cannot change.
	if err := p.Call(t.Context(), admin.MethodChoicesChange, admin.ChangedChoices{IDs: []string{git}, Forever: true}, nil); err == nil {
		t.Error("the request socket changes choices")
	}
}
