package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// undoLine runs a command of permd and returns the command that it says takes it back.
func (d *testDaemon) undoLine(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := d.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("permd %v: %v\n%s", args, err, &errs)
	}
	_, line, ok := strings.Cut(errs.String(), "to undo this: permd ")
	if !ok {
		t.Fatalf("permd %v says no way back: %s", args, &errs)
	}
	return strings.Fields(line)
}

// TestUndoHints: what a command names to take it back does so, and the other way round.
func TestUndoHints(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs each command and its opposite; TestUndoAll is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n", "package.json": `{"scripts": {"test": "echo 1"}}`})
	add := func(args ...string) string {
		return strings.Fields(d.permd(t, append(append([]string{"remember", "add"}, args...), "--dir", project)...))[0]
	}
	a, b := add("run", "go vet *"), add("--reject", "run", "frob")
	add("write", "./docs/**")
	bound := add("run", "npm test")
	p := d.asks(t, project)
	passing := p.bash("go build ./a")
	session := p.choose(passing, map[string]any{"width": passing.Widths[0].ID, "scope": "session"}, "")[0].ID
	list := func() string { return d.choiceLines(t) }
	cases := testload.WithShort(t, 2, [][]string{
		{"remember", "add", "run", "go test *", "--dir", project},
		{"remember", "add", "--reject", "connect", "evil.example", "--scope", "user"},
		{"remember", "change", a, b, "--for", "1h"},
		{"remember", "change", a, "--scope", "user"},
		{"remember", "forget", a},
		{"remember", "forget", a, b, session},
		{"remember", "forget", "--kind", "run"},
		{"remember", "forget", "--project", project},
		{"remember", "undo"},
	})
	cases = append(cases, []string{"remember", "forget", "--all"}) // erases the text of bound
	for _, args := range cases {
		before := list()
		back := d.undoLine(t, args...)
		after := list()
		if before == after {
			t.Fatalf("permd %v has changed nothing", args)
		}
		again := d.undoLine(t, back...)
		if now := withoutText(list()); now != withoutText(before) {
			t.Errorf("permd %v, taken back by %v: there were\n%s\nand are\n%s", args, back, before, now)
		}
		once := d.undoLine(t, again...)
		if now := withoutText(list()); now != withoutText(after) {
			t.Errorf("permd %v, taken back twice: there were\n%s\nand are\n%s", args, after, now)
		}
		d.permd(t, once...)
	}
	p.is(p.bash("go vet ./a"), decisions.Allow, decisions.ByMemory)
	p.is(p.bash("frob"), decisions.Deny, decisions.ByMemory)
	p.is(p.bash("go build ./a"), decisions.Allow, decisions.ByMemory)
	p.is(p.bash("npm test"), decisions.Allow, decisions.ByMemory)
	if out := d.permd(t, "remember", "show", bound); strings.Contains(out, "echo 1") {
		t.Errorf("a text that was erased is shown: %s", out)
	}
	back := d.undoLine(t, "remember", "forget", bound)
	if out := d.permd(t, append(back, "--dry-run")...); !strings.Contains(out, "would hold again: allow run npm test") || !strings.Contains(out, "still bound to script test of ./package.json; its old text cannot be shown") {
		t.Errorf("the preview: %s", out)
	}
	// An equal choice that was there is no change.
	if out, _ := d.command("remember", "add", "run", "go vet *", "--dir", project).CombinedOutput(); strings.Contains(string(out), "undo") {
		t.Errorf("nothing was added: %s", out)
	}
	// What was taken back is in the journal, with who did it.
	var logged int
	for _, r := range d.records(t) {
		if r.Tool == "permd remember undo" && r.Protocol == "admin" && r.Peer.PID != 0 && strings.Contains(r.Decision.Reason, "is taken back") {
			logged++
		}
	}
	if logged < 2*len(cases) {
		t.Errorf("%d are in the journal", logged)
	}
}

// choiceLines are the remembered choices as permd remember list --json prints them, without a
// process for each list.
func (d *testDaemon) choiceLines(t *testing.T) string {
	t.Helper()
	var list struct {
		Choices []json.RawMessage `json:"choices"`
	}
	if err := d.manage(t, admin.MethodChoicesList, struct{}{}, &list); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range list.Choices {
		b.Write(append(c, '\n'))
	}
	return b.String()
}

// withoutText is a list without what is erased for good.
func withoutText(list string) string {
	var b strings.Builder
	for line := range strings.Lines(list) {
		var c admin.Choice
		if json.Unmarshal([]byte(line), &c) == nil {
			c.BoundText = ""
			c.Covers, c.CoveredBy = nil, ""
			out, _ := json.Marshal(c)
			b.Write(append(out, '\n'))
		}
	}
	return b.String()
}

// TestUndoAll: where all changes are taken back, it is said how to make the last one again.
func TestUndoAll(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"package.json": `{"scripts": {"test": "echo 1"}}`})
	id := strings.Fields(d.permd(t, "remember", "add", "run", "npm test", "--dir", project))[0]
	undo := d.undoLine(t, "remember", "undo")[2]
	_, errs, code := printed(d.command("remember", "undo"))
	again := "permd remember undo " + undo
	if code != 1 || !strings.Contains(errs, "all changes are taken back; "+again+" makes the last one again") {
		t.Fatalf("%d %s", code, errs)
	}
	d.permd(t, strings.Fields(again)[1:]...)
	if list := d.permd(t, "remember", "undo", "--list"); strings.Contains(list, "  answer\n") || !strings.Contains(list, "  add\n") {
		t.Errorf("the list:\n%s", list)
	}
	if shown := d.permd(t, "remember", "show", id); !strings.Contains(shown, "script test of ./package.json, as on 20") || strings.Contains(shown, "echo 1") {
		t.Errorf("shown:\n%s", shown)
	}
	// What it is bound to is known again, so that a question says what has changed.
	writeFile(t, filepath.Join(project, "package.json"), `{"scripts": {"test": "echo 2"}}`)
	p := d.asks(t, project)
	if q := p.bash("npm test"); q.Verdict != decisions.Ask || !strings.Contains(q.Reason, "script test of ./package.json") {
		t.Errorf("the question: %s", q.Reason)
	}
	// With --json, too, the changes are named.
	out := d.permd(t, "remember", "add", "run", "frob", "--dir", project, "--json")
	_, line, _ := strings.Cut(out, "\n")
	var named struct{ Undo []string }
	if err := json.Unmarshal([]byte(line), &named); err != nil || len(named.Undo) != 1 {
		t.Fatalf("added: %v, %s", err, out)
	}
	d.permd(t, "remember", "undo", named.Undo[0])
	if out := d.permd(t, "remember", "list", "--kind", "connect"); out != "no choice matches\n" {
		t.Errorf("a kind of which there is none: %s", out)
	}
	if out := d.permd(t, "remember", "forget", "--kind", "connect"); out != "no choice matches\n" {
		t.Errorf("a kind of which there is none: %s", out)
	}
}

// TestUndoRefusals: what cannot be taken back says why, and changes nothing.
func TestUndoRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it undoes in a daemon of its own; TestUndoAll is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	says := func(want string, args ...string) {
		t.Helper()
		out, err := d.command(append([]string{"remember", "undo"}, args...)...).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() == 0 || !strings.Contains(string(out), want) {
			t.Errorf("permd remember undo %v: %v, %s", args, err, out)
		}
	}
	says("there is no change to take back")
	says("no change of that id", "nosuchchange")
	if out := d.permd(t, "remember", "undo", "--list"); !strings.Contains(out, "no choice was changed") {
		t.Error(out)
	}
	id := strings.Fields(d.permd(t, "remember", "add", "write", "./docs/**", "--dir", project))[0]
	added := d.undoLine(t, "remember", "change", id, "--for", "1h")
	d.permd(t, "remember", "forget", "--all")
	says("a later change has ended the choice", added[2])
	says("takes back nothing", "--list", id)
	if out := d.permd(t, "remember", "undo", "--list"); strings.Count(out, "cannot be taken back: a later change") != 2 || !strings.Contains(out, "forget\n    - allow write ./docs/** (project "+project+", until ") {
		t.Error(out)
	}
	for _, params := range []string{`[]`, `{"changeId":5}`, `{"changeId":"` + strings.Repeat("x", 5000) + `"}`} {
		if err := d.manage(t, admin.MethodChoicesUndo, json.RawMessage(params), nil); err == nil {
			t.Errorf("%.40s is taken", params)
		}
	}
	p := d.asks(t, project)
	for _, method := range []string{admin.MethodChoicesUndo, admin.MethodChoicesHistory} {
		if err := p.Call(t.Context(), method, struct{}{}, nil); err == nil {
			t.Errorf("the request socket takes %s", method)
		}
	}
}

// undoLocked: an undo that cannot be stored says so and changes nothing, also for the start
// after a crash; afterwards it can be made.
func undoLocked(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	d.permd(t, "remember", "add", "--reject", "run", "frob", "--dir", project)
	d.permd(t, "remember", "forget", "--all")
	before := d.permd(t, "remember", "list", "--json")
	release := d.lockDatabase(t, "remember.db")
	out, err := d.command("remember", "undo").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "nothing was taken back") {
		t.Errorf("%v, %s", err, out)
	}
	release()
	d.kill()
	d.start(t)
	if after := d.permd(t, "remember", "list", "--json"); after != before {
		t.Errorf("before the crash there were\n%s\nand are\n%s", before, after)
	}
	d.permd(t, "remember", "undo")
	d.kill()
	d.start(t)
	p := d.asks(t, project)
	p.is(p.bash("frob"), decisions.Deny, decisions.ByMemory)
}

// undoKilled: whenever the daemon is killed, a choice is in force or not, as the newest change
// that is recorded says, and that is the one that was acknowledged or a later one.
func undoKilled(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	id := strings.Fields(d.permd(t, "remember", "add", "--reject", "run", "frob", "--dir", project))[0]
	for round := range 6 {
		manage := d.dialAdmin(t)
		ended := make(chan bool)
		go func() {
			for {
				var err error
				for _, step := range []struct {
					method string
					params any
				}{{admin.MethodChoicesForget, map[string]any{"choiceIds": []string{id}}}, {admin.MethodChoicesUndo, admin.Undo{}}} {
					if err = manage.Call(t.Context(), step.method, step.params, nil); err != nil {
						ended <- errors.Is(err, client.ErrUnreachable)
						return
					}
				}
			}
		}()
		d.waitStored(t, d.status(t).Journal.Last+int64(round+1))
		d.kill()
		if !<-ended {
			t.Fatal("a step failed before the daemon was killed")
		}
		d.start(t)
		var past admin.Past
		if err := d.manage(t, admin.MethodChoicesHistory, struct{}{}, &past); err != nil {
			t.Fatal(err)
		}
		inForce := strings.Contains(d.permd(t, "remember", "list", "--json"), id)
		newest := past.Changes[0]
		if want := !newest.Choices[0].Ended; inForce != want {
			t.Errorf("round %d: it is in force: %t, and the newest change is %+v", round, inForce, newest)
		}
		if !inForce {
			d.permd(t, "remember", "undo")
		}
		p := d.asks(t, project)
		p.is(p.bash("frob"), decisions.Deny, decisions.ByMemory)
	}
}
