package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// memoryDamaged: remembered allows are off, rejects are kept as far as they can be
// read, and the damaged file stays next to the new one.
func memoryDamaged(t *testing.T) {
	const allowed, rejected = "mcp__github__get_issue", "mcp__github__delete_issue"
	// A whole page of noise, where SQLite can do without, or from the start.
	noise := bytes.Repeat([]byte("\x07noise\xff\x00"), 512)
	over := func(t *testing.T, path string, at int64) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(noise, at); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, path string)
		reject string // what becomes of the reject
	}{
		{"one page", func(t *testing.T, path string) { over(t, path, indexPage(t, path)) }, "deny"},
		{"one letter", func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(b, []byte("delete_issue")) {
				t.Fatal("the reject is not in the file", err)
			}
			if err := os.WriteFile(path, bytes.ReplaceAll(b, []byte("delete_issue"), []byte("delete_issuf")), 0); err != nil {
				t.Fatal(err)
			}
		}, "ask"},
		{"header", func(t *testing.T, path string) { over(t, path, 0) }, "ask"},
		{"cut", func(t *testing.T, path string) {
			if err := os.Truncate(path, 5000); err != nil {
				t.Fatal(err)
			}
		}, "ask"},
		{"a log that is not its own", func(t *testing.T, path string) {
			// An empty database with a log, as after half of a backup was restored.
			if err := os.Rename(path, path+"-wal"); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "ask"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newTestDaemon(t)
			project := d.project(t, nil)
			d.start(t)
			w := d.session(t, project)
			wantAnswer(t, "nothing remembered", w.ask(t, toolLine(allowed, struct{}{})), "ask", "policy", "")
			if err := d.stop(t); err != nil {
				t.Fatal(err)
			}
			d.remember(t, map[string]decisions.Verdict{"get_issue": decisions.Allow, "delete_issue": decisions.Deny})

			d.start(t)
			w = d.session(t, project)
			if got := w.ask(t, toolLine(allowed, struct{}{})); got.Verdict != "allow" || got.By != "memory" {
				t.Fatalf("control: the answer is %+v, want allow by memory", got)
			}
			wantAnswer(t, "control", w.ask(t, toolLine(rejected, struct{}{})), "deny", "memory", "")
			if err := d.stop(t); err != nil {
				t.Fatal(err)
			}

			path := d.data("remember.db")
			tt.damage(t, path)
			damaged, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			d.start(t)
			w = d.session(t, project)
			wantAnswer(t, "allow", w.ask(t, toolLine(allowed, struct{}{})), "ask", "policy", "")
			wantAnswer(t, "reject", w.ask(t, toolLine(rejected, struct{}{})), tt.reject, "", "")
			// What policy allows may have been rejected: it asks, until a person looks.
			wantProbe(t, w, "ask", "policy", "this may have been rejected before")
			st := d.status(t)
			if !st.Degraded || !st.Memory.AllowsOff {
				t.Errorf("the status is not degraded: %+v", st.Memory)
			}
			if kept, err := os.ReadFile(st.Memory.SetAside); err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("set aside as %q: %v", st.Memory.SetAside, err)
			}
			if out, err := d.command("remember", "forget", "--all").CombinedOutput(); err != nil {
				t.Fatalf("permd remember forget --all: %v\n%s", err, out)
			}
			wantAllowed(t, w)
		})
	}
}

// remember stores choices about tools of a server, as a person would make them.
func (d *testDaemon) remember(t *testing.T, choices map[string]decisions.Verdict) {
	t.Helper()
	store, err := remember.Open(remember.Options{Path: d.data("remember.db")})
	if err != nil {
		t.Fatal(err)
	}
	for tool, verdict := range choices {
		_, err := store.Save(t.Context(), remember.Draft{
			Verdict: verdict, Scope: remember.ForUser,
			Query: &decisions.MemoryQuery{UID: uint32(os.Geteuid()), Effect: &effects.Effect{
				Kind: effects.KindUse, Text: "github:" + tool, Use: &effects.Use{Server: "github", Tool: tool, Arguments: []byte("{}")},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// indexPage is the first page of the index of the choices' ids: its contents can be
// read from the table as well.
func indexPage(t *testing.T, path string) int64 {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var page, size int64
	if err := db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_choices_1'").Scan(&page); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow("PRAGMA page_size").Scan(&size); err != nil {
		t.Fatal(err)
	}
	return (page - 1) * size
}

// memoryFull: a choice that cannot be stored is an error and does not count, and
// its question stays open; a revocation works at once, and stays.
func memoryFull(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n"})
	d.start(t)
	p, manage := d.asks(t, project), d.dialAdmin(t)
	// So many that the log is longer than what is allowed then, while the file
	// of revocations is not.
	const before = 8
	for n := range before {
		q := p.bash(fmt.Sprintf("go vet ./before%d", n))
		p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
	}
	kept := p.bash("go build ./a && go vet ./b")
	stored := p.choose(kept, map[string]any{"width": kept.Widths[0].ID}, "")
	p.is(p.bash("go build ./a && go vet ./b"), decisions.Allow, decisions.ByMemory)
	open := p.bash("go build ./c && go vet ./d")

	limitFiles(t, d.cmd.Process.Pid, 32<<10)
	p.choose(open, map[string]any{"width": open.Widths[0].ID}, "could not be stored; nothing was")
	if n := len(choicesOf(t, manage)); n != before+len(stored) {
		t.Errorf("%d choices, want %d", n, before+len(stored))
	}
	var forgotten admin.Choices
	if err := manage.Call(t.Context(), admin.MethodChoicesForget, map[string]any{"choiceIds": []string{stored[0].ID}}, &forgotten); err != nil {
		t.Errorf("forgetting: %v", err)
	}
	// The journal cannot grow either: what memory would still allow asks.
	if got := p.bash("go build ./a"); got.Verdict == decisions.Allow {
		t.Errorf("allowed without a trace: %+v", got)
	}
	if st := d.status(t); !st.Degraded || st.Memory.Pending != 1 {
		t.Errorf("the status is not degraded: %+v", st.Memory)
	}

	d.kill() // a crash, before the disk has space again
	d.start(t)
	p = d.asks(t, project)
	if got := p.bash("go build ./a"); got.Verdict != decisions.Ask {
		t.Errorf("the revoked choice is back: %s by %s", got.Verdict, got.By)
	}
	p.is(p.bash("go vet ./b"), decisions.Allow, decisions.ByMemory)
	if got := p.bash("go build ./c"); got.Verdict != decisions.Ask || len(got.Widths) == 0 {
		t.Errorf("half of what could not be stored holds: %s", got.Verdict)
	}

	// The same daemon continues when there is space again.
	open = p.bash("go build ./c && go vet ./d")
	lift := limitFiles(t, d.cmd.Process.Pid, 4096)
	p.choose(open, map[string]any{"width": open.Widths[0].ID}, "could not be stored")
	lift()
	p.choose(open, map[string]any{"width": open.Widths[0].ID}, "")
	p.is(p.bash("go build ./c && go vet ./d"), decisions.Allow, decisions.ByMemory)
	if st := d.status(t); st.Degraded {
		t.Errorf("the status stays degraded: %+v, %+v", st.Memory, st.Journal)
	}
}

// choicesOf lists all choices.
func choicesOf(t *testing.T, manage *client.Client) (all []admin.Choice) {
	t.Helper()
	for after := ""; ; {
		var page admin.Choices
		if err := manage.Call(t.Context(), admin.MethodChoicesList, map[string]string{"after": after}, &page); err != nil {
			t.Fatalf("listing choices: %v", err)
		}
		all = append(all, page.Choices...)
		if after = page.Next; after == "" {
			return all
		}
	}
}

// memoryLogDamaged: what SQLite loses from the end of a damaged log is never a
// revocation or a reject.
func memoryLogDamaged(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n"})
	d.start(t)
	p := d.asks(t, project)
	keep := func(command string, members map[string]any) []decisions.StoredChoice {
		t.Helper()
		q := p.bash(command)
		if members["verdict"] == nil {
			members["width"] = q.Widths[0].ID
		}
		return p.choose(q, members, "")
	}
	revoked := keep("go build ./revoked", map[string]any{})
	keep("go build ./never", map[string]any{"verdict": "deny", "scope": "project"})
	d.permd(t, "remember", "forget", revoked[0].ID)
	keep("go build ./late", map[string]any{})
	d.kill()
	log := d.data("remember.db-wal")
	info, err := os.Stat(log)
	if err != nil || info.Size() == 0 {
		t.Fatalf("nothing to damage: %v", err)
	}
	if err := os.WriteFile(log, bytes.Repeat([]byte("noise\xff\x00\x07"), int(info.Size())/8), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	p = d.asks(t, project)
	if got := p.bash("go build ./revoked"); got.Verdict != decisions.Ask {
		t.Errorf("the revoked choice is back: %s by %s", got.Verdict, got.By)
	}
	p.is(p.bash("go build ./never"), decisions.Deny, decisions.ByMemory)
	p.is(p.bash("git status"), decisions.Allow, decisions.ByPolicy)
	keep("go build ./late", map[string]any{})
}

// wrongChoices: a question accepts one answer, from its own connection; an answer
// that does not fit stores nothing.
func wrongChoices(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n"})
	nowhere := filepath.Join(d.home, "nowhere")
	if err := os.MkdirAll(nowhere, 0o700); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	p, other, manage := d.asks(t, project), d.asks(t, project), d.dialAdmin(t)
	q := p.bash("go build ./a")
	foreign := *q
	foreign.ID = "019e8f4c-6a55-7b7e-8f1e-2f9d3c1a0b42"
	width := q.Widths[0].ID
	for _, tt := range []struct {
		name    string
		by      *person
		of      *decisions.Decision
		members map[string]any
		says    string
	}{
		{"a decision that does not exist", p, &foreign, map[string]any{"width": width}, "no question of that decisionId"},
		{"no decision", p, &decisions.Decision{}, map[string]any{"width": width}, "decisionId is missing"},
		{"of another connection", other, q, map[string]any{"width": width}, "no question of that decisionId"},
		{"a width that was not offered", p, q, map[string]any{"width": "w9"}, "no width of that id"},
		{"a width in other letters", p, q, map[string]any{"width": strings.ToUpper(width)}, "no width of that id"},
		{"a rule instead of a width", p, q, map[string]any{"width": "run *"}, "no width of that id"},
		{"a width of 10,000 characters", p, q, map[string]any{"width": strings.Repeat("w", 10_000)}, "no width of that id"},
		{"no such scope", p, q, map[string]any{"width": width, "scope": "everywhere"}, "the scopes are"},
		{"a scope of control characters", p, q, map[string]any{"width": width, "scope": "user\x1b[2J\u202e"}, "the scopes are"},
		{"a limit of nothing", p, q, map[string]any{"width": width, "expiresIn": 0}, "at least 1"},
		{"a limit backwards", p, q, map[string]any{"width": width, "expiresIn": -5}, "at least 1"},
		{"half a second", p, q, map[string]any{"width": width, "expiresIn": 0.5}, "at least 1"},
		{"a limit without an end", p, q, map[string]any{"width": width, "expiresIn": 1e18}, "at least 1"},
		{"longer than ten years", p, q, map[string]any{"width": width, "expiresIn": 1_000_000_000}, "at most ten years"},
		{"a verdict that is none", p, q, map[string]any{"verdict": "ask"}, "allow or deny"},
		{"an option and a verdict", p, q, map[string]any{"optionId": "x"}, "exactly one"},
		{"a reject with a width", p, q, map[string]any{"verdict": "deny", "width": width}, "belongs to an allow"},
		{"a scope without a width", p, q, map[string]any{"scope": "user"}, "none was chosen"},
	} {
		tt.by.choose(tt.of, tt.members, tt.says)
		if list := choicesOf(t, manage); len(list) != 0 {
			t.Errorf("%s: stored %+v", tt.name, list)
		}
	}
	p.choose(q, map[string]any{"width": width}, "")
	p.choose(q, map[string]any{"width": width}, "no question of that decisionId")
	p.choose(q, map[string]any{"verdict": "deny", "scope": "user"}, "no question of that decisionId")
	once := p.bash("go build ./b")
	p.choose(once, nil, "")
	p.choose(once, map[string]any{"width": width}, "no question of that decisionId")
	decided := p.bash("git status")
	p.choose(decided, map[string]any{"width": width}, "no question of that decisionId")
	if list := choicesOf(t, manage); len(list) != 1 {
		t.Errorf("stored %+v", list)
	}

	// A session that has ended has no open questions.
	late := p.bash("go build ./c")
	if err := p.Call(t.Context(), native.MethodClose, map[string]string{"sessionId": "s"}, nil); err != nil {
		t.Fatal(err)
	}
	p.choose(late, map[string]any{"width": width}, "no question of that decisionId")

	// Outside any project there is none to bind the choice to.
	lost := d.asks(t, "/")
	q = lost.ask("s", "mcp__github__get_issue", map[string]string{"n": "1"})
	if len(q.Widths) == 0 {
		t.Fatalf("no widths: %+v", q)
	}
	if q.Widths[0].Scope != "session" {
		t.Errorf("the default is %q", q.Widths[0].Scope)
	}
	lost.choose(q, map[string]any{"width": q.Widths[0].ID, "scope": "project"}, "belongs to no project")
	if list := choicesOf(t, manage); len(list) != 1 {
		t.Errorf("stored %+v", list)
	}
	lost.choose(q, map[string]any{"width": q.Widths[0].ID, "scope": "user"}, "")
	lost.is(lost.ask("s", "mcp__github__get_issue", map[string]string{"n": "1"}), decisions.Allow, decisions.ByMemory)
}
