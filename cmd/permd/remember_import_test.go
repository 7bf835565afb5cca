package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/admin"
)

// meanings are what choices match, without what differs from one addition to the next.
func (d *testDaemon) meanings(t *testing.T) (list []string) {
	t.Helper()
	for line := range strings.Lines(d.choiceLines(t)) {
		var c admin.Choice
		if json.Unmarshal([]byte(line), &c) != nil {
			continue
		}
		until := ""
		if !c.Expires.IsZero() {
			until = c.Expires.Round(time.Hour).String()
		}
		// The project of a file is in its line.
		pins := slices.DeleteFunc(c.Pins, func(p string) bool { return strings.HasPrefix(p, "in the project") })
		list = append(list, strings.Join([]string{string(c.Verdict), c.Kind, c.Rule, c.Scope, c.Of, until, strings.Join(pins, "; ")}, " | "))
	}
	slices.Sort(list)
	return list
}

// TestImportChoices: what was exported and imported is in force as it was, and no wider.
func TestImportChoices(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n", "package.json": `{"scripts": {"test": "echo 1"}}`})
	for _, args := range [][]string{
		{"run", "go vet *"}, {"run", "go test ./...", "--for", "72h"}, {"write", "./docs/**"}, {"connect", "docs.example", "--scope", "user"},
		{"--reject", "run", "git push *"}, {"--reject", "read", "./secret", "--scope", "user"}, {"use", "s:t"},
	} {
		d.permd(t, append(append([]string{"remember", "add"}, args...), "--dir", project)...)
	}
	before := d.meanings(t)
	p := d.asks(t, project)
	q := p.bash("go build ./a")
	p.choose(q, map[string]any{"width": q.Widths[0].ID, "scope": "session"}, "")
	d.permd(t, "remember", "add", "run", "npm test", "--dir", project)
	export := filepath.Join(d.home, "choices.jsonl")
	text := d.permd(t, "remember", "export", "--json")
	writeFile(t, export, text)
	d.permd(t, "remember", "forget", "--all")
	dry := d.permd(t, "remember", "import", export, "--dry-run")
	if list := d.choiceLines(t); list != "" || strings.Contains(dry, "undo") {
		t.Errorf("a dry run has stored %s, and says %s", list, dry)
	}
	if strings.Count(dry, "would remember: ") != len(before) || strings.Count(dry, "left out: ") != 2 || !strings.Contains(dry, "would remember: allow run go vet * (project "+project+")\n") {
		t.Errorf("a dry run: %s", dry)
	}
	out := d.permd(t, "remember", "import", export)
	if strings.Count(out, "left out: ") != 2 || !strings.Contains(out, "it is for a session") ||
		!strings.Contains(out, "bound to files; add it again: permd remember add run 'npm test' --dir "+project+"\n") {
		t.Errorf("left out are: %s", out)
	}
	if after := d.meanings(t); !slices.Equal(after, before) {
		t.Errorf("there were\n%s\nand are\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if dry := d.permd(t, "remember", "import", export, "--dry-run"); strings.Count(dry, "already remembered, as ") < len(before)-1 {
		t.Errorf("a dry run of what is there: %s", dry)
	}
	p.is(p.bash("go vet ./a"), decisions.Allow, decisions.ByMemory)
	p.is(p.bash("git push x"), decisions.Deny, decisions.ByMemory)
	// A second time it is no change (but for the rest of a time), and an import is one change.
	writeFile(t, export, strings.Join(slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(l string) bool { return strings.Contains(l, `"expires"`) }), ""))
	if out := d.permd(t, "remember", "import", export); strings.Contains(out, "undo") || !strings.HasPrefix(out, "already remembered:\n") {
		t.Errorf("a second time: %s", out)
	}
	if past := d.permd(t, "remember", "undo", "--list"); !strings.Contains(past, "  import\n") {
		t.Error(past)
	}
	d.permd(t, "remember", "undo")
	if left := d.meanings(t); len(left) != 0 {
		t.Errorf("after the undo there are %q", left)
	}
	// As rules.yaml.
	rules := filepath.Join(d.home, "more.yaml")
	writeFile(t, rules, "allow:\n  run: ['go vet *']\ndeny:\n  connect: [evil.example]\nask:\n  run: ['go generate *']\n")
	out = d.permd(t, "remember", "import", rules, "--dir", project)
	if strings.Count(out, "left out: ") != 1 || !strings.Contains(out, "entry that asks") {
		t.Error(out)
	}
	p.is(p.bash("go vet ./a"), decisions.Allow, decisions.ByMemory)
	d.permd(t, "remember", "forget", "--all")

	// What is not what it was is left out, or the file is refused.
	inner := filepath.Join(project, "inner")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	choice := func(members string) string {
		return `{"choiceId":"x","verdict":"allow","kind":"run","rule":"go vet *","line":true,"uid":1,"created":"2026-01-01T00:00:00Z","confirmed":"2026-01-01T00:00:00Z","uses":0,` + members + `}`
	}
	type refusal struct{ text, says string }
	for _, tt := range testload.WithShort(t, 4, []refusal{
		{choice(`"scope":"project","of":"` + inner + `"`), "is no project here"},
		{choice(`"scope":"project","of":"` + filepath.Join(project, "gone") + `"`), "is no project here"},
		{choice(`"scope":"project","of":"relative"`), "no project"},
		{choice(`"scope":"user","unconfirmed":true`), "nobody has confirmed it"},
		{strings.Replace(choice(`"scope":"user"`), `"confirmed":"2026-01-01T00:00:00Z",`, "", 1), "a client reported it"},
		{choice(`"scope":"user","expires":"2026-01-02T00:00:00Z"`), "its time has passed"},
		{choice(`"scope":"user","changed":"x"`), "an earlier permd"},
		{choice(`"scope":"user","pins":["run in /p"]`), "it also says: run in /p"},
		{strings.Replace(choice(`"scope":"user"`), `"line":true`, `"line":false`, 1), "its line does not say all"},
		{strings.Replace(choice(`"scope":"user"`), `go vet *`, `git log *`, 1), "bound to the project"},
		{strings.Replace(choice(`"scope":"user"`), `go vet *`, `bash *`, 1), "left out"},
		{strings.Replace(choice(`"scope":"user"`), `"allow"`, `"ask"`, 1), "no verdict"},
		{choice(`"scope":"user","uid":2`), "is no choice"},
		{"{\"choiceId\":", "is no choice"},
		{"allow: {run: ['a *'", "reading choices"},
		{"no list\n", "the file is neither JSON nor a list of rules"},
		{"", "the file has no choices"},
	}) {
		writeFile(t, export, tt.text)
		out, _ := d.command("remember", "import", export).CombinedOutput()
		if !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: %s", tt.text, out)
		}
		if have := d.meanings(t); len(have) != 0 {
			t.Fatalf("%s: there are %q", tt.text, have)
		}
	}
	writeFile(t, export, choice(`"scope":"user"`))
	if out, _ := d.command("remember", "import", export, "--scope", "user").CombinedOutput(); !strings.Contains(string(out), "has a scope of its own") {
		t.Errorf("with a scope: %s", out)
	}
	for _, params := range []string{`{}`, `{"choices":[]}`, `{"choices":[{"verdict":"allow","kind":"run","line":"x *","scope":"session"}]}`} {
		var got admin.Imported
		if err := d.manage(t, admin.MethodChoicesImport, json.RawMessage(params), &got); err == nil && len(got.Refused) == 0 {
			t.Errorf("%s is taken", params)
		}
	}
}
