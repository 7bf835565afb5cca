package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// person is a client that asks permd and sends the person's answers.
type person struct {
	*client.Client
	t *testing.T
}

// asks opens a connection with a session "s" in a folder.
func (d *testDaemon) asks(t *testing.T, dir string) *person {
	t.Helper()
	p := &person{d.dial(t), t}
	p.session("s", dir, "")
	return p
}

func (p *person) session(id, dir, parent string) {
	p.t.Helper()
	params := map[string]any{"sessionId": id, "cwd": dir, "agent": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"}}
	if parent != "" {
		params["parent"] = parent
	}
	if err := p.Call(p.t.Context(), native.MethodSession, params, nil); err != nil {
		p.t.Fatal(err)
	}
}

// ask decides a call of a tool in a session.
func (p *person) ask(session, tool string, input map[string]string) *decisions.Decision {
	p.t.Helper()
	var got struct {
		Decisions []*decisions.Decision `json:"decisions"`
	}
	err := p.Call(p.t.Context(), native.MethodDecide, map[string]any{
		"sessionId": session,
		"calls":     []any{map[string]any{"callId": "1", "tool": map[string]string{"name": tool}, "input": input}},
	}, &got)
	if err != nil || len(got.Decisions) != 1 {
		p.t.Fatalf("deciding %v: %v, %v", input, got.Decisions, err)
	}
	return got.Decisions[0]
}

func (p *person) bash(command string) *decisions.Decision {
	p.t.Helper()
	return p.ask("s", "Bash", map[string]string{"command": command})
}

type answered struct {
	Stored []decisions.StoredChoice `json:"stored"`
}

// choose answers a question. says is the text that an error must contain, "" for no
// error.
func (p *person) choose(d *decisions.Decision, members map[string]any, says string) []decisions.StoredChoice {
	p.t.Helper()
	params := map[string]any{"decisionId": d.ID, "verdict": "allow"}
	for name, v := range members {
		params[name] = v
	}
	var got answered
	err := p.Call(p.t.Context(), native.MethodChoose, params, &got)
	switch e, ok := errors.AsType[*client.Error](err); {
	case says == "" && err != nil:
		p.t.Fatalf("choosing %v: %v", members, err)
	case says != "" && (!ok || !strings.Contains(e.Message, says)):
		p.t.Fatalf("choosing %v: %v and %v, want %q", members, got.Stored, err, says)
	}
	return got.Stored
}

// is checks the verdict and the decider.
func (p *person) is(d *decisions.Decision, v decisions.Verdict, by decisions.DecidedBy) {
	p.t.Helper()
	if d.Verdict != v || d.By != by {
		p.t.Fatalf("%s by %s (%s), want %s by %s: %+v", d.Verdict, d.By, d.Reason, v, by, d.Effects)
	}
}

func (d *testDaemon) permd(t *testing.T, args ...string) string {
	t.Helper()
	out, err := d.command(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("permd %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestRemember: after a question and the person's "always", the same call is
// allowed by memory, after a restart too, but not in another project, and not after
// the choice is forgotten.
func TestRemember(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n", "a/a.go": "package a\n", "b/b.go": "package b\n"})
	p := d.asks(t, project)

	first := p.bash("go build ./a")
	if first.Verdict != decisions.Ask || len(first.Widths) < 2 {
		t.Fatalf("%s with the widths %+v", first.Verdict, first.Widths)
	}
	if w := first.Widths[0]; w.Rule != "run go build ./a" || w.Scope != "project" || w.Label != "exactly this" {
		t.Errorf("the narrowest width is %+v", w)
	}
	if w := first.Widths[1]; w.Rule != "run go build *" || w.Label != "any `go build` with harmless options (in this project)" {
		t.Errorf("the second width is %+v", w)
	}
	p.choose(first, map[string]any{"width": "none"}, "no width of that id")
	p.choose(first, map[string]any{"width": first.Widths[0].ID, "scope": "world"}, "scopes are")
	p.choose(first, map[string]any{"width": first.Widths[0].ID, "expiresIn": 0}, "at least 1")
	p.choose(first, map[string]any{"width": first.Widths[0].ID, "verdict": "deny"}, "belongs to an allow")
	other := d.asks(t, project)
	other.choose(first, map[string]any{"width": first.Widths[0].ID}, "no question")

	exact := p.choose(first, map[string]any{"width": first.Widths[0].ID}, "")
	if len(exact) != 1 || exact[0].Label != "run go build ./a" || exact[0].Scope != "project" {
		t.Fatalf("stored %+v", exact)
	}
	p.choose(first, map[string]any{"width": first.Widths[0].ID}, "no question")
	for _, rec := range d.records(t) {
		if said := rec.Answer; rec.Decision.ID == first.ID && (said == nil || said.Verdict != decisions.Allow || len(said.Choices) != 1 || said.Choices[0] != exact[0].ID) {
			t.Errorf("the journal has the answer %+v", said)
		}
	}
	again := p.bash("go build ./a")
	p.is(again, decisions.Allow, decisions.ByMemory)
	if again.Effects[0].ChoiceID != exact[0].ID {
		t.Errorf("the choice is %q, want %q", again.Effects[0].ChoiceID, exact[0].ID)
	}
	if got := p.bash("go build ./b"); got.Verdict != decisions.Ask {
		t.Errorf("another package: %s", got.Verdict)
	}
	if got := p.bash("go build ./a && go build ./b"); got.Verdict != decisions.Ask {
		t.Errorf("with something else: %s", got.Verdict)
	}

	// Variables reach what runs, and are no part of what was allowed.
	for _, command := range []string{"CI=1 go build ./a", "env CI=1 go build ./a", "CI=1 timeout 9 go build ./a", "CI=1 bash -c 'go build ./a'"} {
		if got := p.bash(command); got.Verdict != decisions.Ask {
			t.Errorf("%s: %s", command, got.Verdict)
		}
	}
	with := p.bash("CI=1 go build ./a")
	kept := p.choose(with, map[string]any{"width": with.Widths[0].ID}, "")
	if len(kept) != 1 || kept[0].Label != "run CI=1 go build ./a" {
		t.Errorf("stored %+v", kept)
	}
	p.is(p.bash("env CI=1 go build ./a"), decisions.Allow, decisions.ByMemory)
	p.is(p.bash("go build ./a"), decisions.Allow, decisions.ByMemory)
	if got := p.bash("CI=0 go build ./a"); got.Verdict != decisions.Ask {
		t.Errorf("with another value: %s", got.Verdict)
	}
	if got := p.bash("CI=1 go version && go build ./b"); got.Verdict != decisions.Ask {
		t.Errorf("a later command: %s", got.Verdict)
	}

	wide := p.bash("go build ./b")
	prefix := p.choose(wide, map[string]any{"width": wide.Widths[1].ID}, "")
	p.is(p.bash("go build ./a ./b"), decisions.Allow, decisions.ByMemory)
	for _, command := range []string{"go build -toolexec ./x ./a", "go build -o /tmp/x ./a", "go test ./a", "cd / && go build ./a"} {
		if got := p.bash(command); got.Verdict == decisions.Allow {
			t.Errorf("%s: allowed by %+v", command, got.Effects)
		}
	}

	// Another project, and this one after a restart.
	elsewhere := filepath.Join(d.home, "elsewhere")
	if err := os.MkdirAll(filepath.Join(elsewhere, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := d.asks(t, elsewhere).bash("go build ./a"); got.Verdict != decisions.Ask {
		t.Errorf("in another project: %s", got.Verdict)
	}
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	p = d.asks(t, project)
	p.is(p.bash("go build ./a"), decisions.Allow, decisions.ByMemory)

	list := d.permd(t, "remember", "list")
	for _, want := range []string{exact[0].ID, prefix[0].ID, "go build *", project} {
		if !strings.Contains(list, want) {
			t.Errorf("permd remember list lacks %q:\n%s", want, list)
		}
	}
	out := d.permd(t, "remember", "forget", exact[0].ID, prefix[0].ID, kept[0].ID)
	if !strings.Contains(out, "hint: to undo this: permd remember undo ") {
		t.Errorf("no hint how to undo it:\n%s", out)
	}
	if got := p.bash("go build ./a"); got.Verdict != decisions.Ask {
		t.Errorf("forgotten: %s", got.Verdict)
	}
	if list := d.permd(t, "remember", "list"); !strings.Contains(list, "nothing is remembered") {
		t.Errorf("still listed:\n%s", list)
	}
}

// TestRememberSessions: choices for a session end with it.
func TestRememberSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for sessions alone; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n"})
	p := d.asks(t, project)
	p.session("child", project, "s")
	keep := func(scope string) {
		t.Helper()
		q := p.bash("go build ./a")
		p.choose(q, map[string]any{"width": q.Widths[0].ID, "scope": scope}, "")
	}
	in := func(session string) decisions.Verdict {
		t.Helper()
		return p.ask(session, "Bash", map[string]string{"command": "go build ./a"}).Verdict
	}
	keep("session")
	if in("s") != decisions.Allow || in("child") != decisions.Ask {
		t.Errorf("session: %s, its child %s", in("s"), in("child"))
	}
	if err := p.Call(t.Context(), native.MethodClose, map[string]string{"sessionId": "s"}, nil); err != nil {
		t.Fatal(err)
	}
	p.session("s", project, "")
	p.session("child", project, "s")
	if v := in("s"); v != decisions.Ask {
		t.Errorf("closed and declared again: %s", v)
	}
	keep("session+children")
	if in("s") != decisions.Allow || in("child") != decisions.Allow {
		t.Errorf("with its children: %s, child %s", in("s"), in("child"))
	}
	if other := d.asks(t, project); other.bash("go build ./a").Verdict != decisions.Ask {
		t.Error("another connection has the session's choice")
	}
}

// TestRememberGuarded: for guarded effects a choice from a client is not enough,
// but a line on the command line is.
func TestRememberGuarded(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for one kind of choice; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"x": ""})
	p := d.asks(t, project)
	hook := map[string]string{"file_path": filepath.Join(project, ".git/hooks/pre-commit"), "content": "x"}
	write := func() *decisions.Decision { return p.ask("s", "Write", hook) }
	q := write()
	if q.Verdict != decisions.Ask || len(q.Widths) != 1 {
		t.Fatalf("%s with the widths %+v", q.Verdict, q.Widths)
	}
	kept := p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
	if len(kept) != 1 || !kept[0].Unconfirmed {
		t.Fatalf("stored %+v", kept)
	}
	if got := write(); got.Verdict != decisions.Ask {
		t.Errorf("not confirmed: %s", got.Verdict)
	}
	d.permd(t, "remember", "confirm", kept[0].ID)
	p.is(write(), decisions.Allow, decisions.ByMemory)
	d.permd(t, "remember", "forget", kept[0].ID)
	if got := write(); got.Verdict != decisions.Ask {
		t.Errorf("forgotten: %s", got.Verdict)
	}

	d.permd(t, "remember", "add", "write", "./**", "--dir", project)
	p.is(p.ask("s", "Write", map[string]string{"file_path": filepath.Join(project, "y"), "content": "x"}), decisions.Allow, decisions.ByMemory)
	if got := write(); got.Verdict != decisions.Ask {
		t.Errorf("a subtree covers what is guarded: %s", got.Verdict)
	}
	d.permd(t, "remember", "add", "write", "./.git/hooks/pre-commit", "--dir", project)
	p.is(write(), decisions.Allow, decisions.ByMemory)
}

// TestRememberAlways: the agent's own "always" is remembered by permd, in the
// narrowest width, while the agent gets its option for once.
func TestRememberAlways(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	p := d.asks(t, d.project(t, map[string]string{"go.mod": "module canary\n"}))
	request := map[string]any{
		"sessionId": "s",
		"toolCall": map[string]any{
			"toolCallId": "1", "title": "go build ./a", "kind": "execute", "rawInput": map[string]string{"command": "go build ./a"},
			"_meta": map[string]any{"claudeCode": map[string]string{"toolName": "Bash"}},
		},
		"options": []map[string]string{
			{"optionId": "y!", "name": "Always Allow", "kind": "allow_always"},
			{"optionId": "y", "name": "Allow", "kind": "allow_once"},
			{"optionId": "n", "name": "Reject", "kind": "reject_once"},
			{"optionId": "n!", "name": "Never", "kind": "reject_always"},
		},
	}
	var outcome struct {
		Outcome struct {
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	ask := func() *decisions.Decision {
		t.Helper()
		err := p.Call(t.Context(), "session/request_permission", request, &outcome)
		e, ok := errors.AsType[*client.Error](err)
		if !ok {
			t.Fatalf("no question: %v, %v", outcome, err)
		}
		var q decisions.Decision
		if err := json.Unmarshal(e.Data, &q); err != nil {
			t.Fatal(err)
		}
		return &q
	}
	pick := func(q *decisions.Decision, option, want string) []decisions.StoredChoice {
		t.Helper()
		var got struct {
			answered
			Result struct {
				Outcome struct {
					OptionID string `json:"optionId"`
				} `json:"outcome"`
			} `json:"result"`
		}
		if err := p.Call(t.Context(), native.MethodChoose, map[string]string{"decisionId": q.ID, "optionId": option}, &got); err != nil {
			t.Fatal(err)
		}
		if id := got.Result.Outcome.OptionID; id != want || len(got.Stored) != 1 {
			t.Fatalf("the agent gets %q, stored %+v", id, got.Stored)
		}
		return got.Stored
	}
	q := ask()
	if len(q.Widths) < 2 {
		t.Fatalf("the widths are %+v", q.Widths)
	}
	kept := pick(q, "y!", "y")
	if kept[0].Label != q.Widths[0].Rule || kept[0].Verdict != decisions.Allow {
		t.Errorf("stored %+v", kept)
	}
	if err := p.Call(t.Context(), "session/request_permission", request, &outcome); err != nil || outcome.Outcome.OptionID != "y" {
		t.Errorf("again: %q, %v", outcome.Outcome.OptionID, err)
	}
	d.permd(t, "remember", "forget", "--all")
	pick(ask(), "n!", "n")
	if err := p.Call(t.Context(), "session/request_permission", request, &outcome); err != nil || outcome.Outcome.OptionID != "n" {
		t.Errorf("never again: %q, %v", outcome.Outcome.OptionID, err)
	}
}

// TestRememberConfirm: if the settings say so, an allow that a client reports must
// be confirmed by a person; a reject need not.
func TestRememberConfirm(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestRemember is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	if err := os.MkdirAll(filepath.Join(d.home, ".config/permd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.home, ".config/permd/permd.toml"), []byte("confirm = \"always\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	p := d.asks(t, d.project(t, map[string]string{"go.mod": "module canary\n"}))
	q := p.bash("go build ./a")
	kept := p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
	if len(kept) != 1 || !kept[0].Unconfirmed {
		t.Fatalf("stored %+v", kept)
	}
	if got := p.bash("go build ./a"); got.Verdict != decisions.Ask {
		t.Errorf("not confirmed: %s", got.Verdict)
	}
	if list := d.permd(t, "remember", "list"); !strings.Contains(list, "not confirmed") {
		t.Errorf("the list does not say that it waits:\n%s", list)
	}
	d.permd(t, "remember", "confirm", kept[0].ID)
	p.is(p.bash("go build ./a"), decisions.Allow, decisions.ByMemory)
	p.choose(p.bash("go vet ./a"), map[string]any{"verdict": "deny", "scope": "project"}, "")
	p.is(p.bash("go vet ./a"), decisions.Deny, decisions.ByMemory)
}
