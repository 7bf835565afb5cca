package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

// put writes a file of the project.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestAskAgain: what a remembered choice is bound to has changed. The question says what,
// with the difference where the text is short, and one answer renews the choice.
func TestAskAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestOutdated is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{
		"package.json": `{"scripts": {"test": "vitest", "start": "node a.js", "lint": "eslint src"}}`,
		"Makefile":     "lint:\n\tgo vet ./...\ntest:\n\tgo test ./...\n", "gen.js": "1\n", "run.sh": "echo 1\n",
		"compose.yaml": "services:\n",
	})
	var kept []decisions.StoredChoice // of the command before
	for _, tt := range []struct{ command, file, text, says, was, now string }{
		{"npm test", "package.json", `{"scripts": {"test": "vitest run", "start": "node a.js"}}`,
			`script test of ./package.json has changed since`, "test: vitest\n", "test: vitest run\n"},
		{"npm start", "package.json", `{"scripts": {"test": "vitest run", "start": "node b.js"}}`,
			`"start: node a.js" is now "start: node b.js"`, "start: node a.js\n", "start: node b.js\n"},
		{"make lint", "Makefile", "lint:\n\tgo vet -all ./...\ntest:\n\tgo test ./...\n",
			`target lint of ./Makefile has changed`, "lint:\ngo vet ./...\n", "lint:\ngo vet -all ./...\n"},
		{"make lint", "Makefile", "lint:\n\tgo vet -all ./...\ntest:\n\tgo test -v ./...\n",
			`outside of what is shown of it`, "lint:\ngo vet -all ./...\n", "lint:\ngo vet -all ./...\n"},
		{"node gen.js", "gen.js", "2\n", "./gen.js has changed since", "", ""},
		{"bash run.sh", "run.sh", "echo 2\n", "./run.sh has changed since", "", ""},
		{"docker compose up", "compose.yaml", "services:\n  a:\n    image: a\n", "./compose.yaml has changed since", "", ""},
		{"python3 -m mytool", "mytool.py", "1\n", "module mytool in . has changed since", "", ""},
	} {
		p := d.asks(t, project)
		if p.bash(tt.command).Verdict == decisions.Ask {
			kept = p.exactly(tt.command)
		}
		p.is(p.bash(tt.command), decisions.Allow, decisions.ByMemory)
		put(t, project, tt.file, tt.text)
		q := p.bash(tt.command)
		if q.Verdict != decisions.Ask || !strings.HasPrefix(q.Reason, "asks again: ") || !strings.Contains(q.Reason, tt.says) {
			t.Errorf("%s: %s: %s, want %q", tt.command, q.Verdict, q.Reason, tt.says)
			continue
		}
		o := q.Effects[0].Outdated
		if o == nil || o.ChoiceID != kept[0].ID || o.Was != tt.was || o.Now != tt.now {
			t.Errorf("%s: outdated: %+v, want %q and %q", tt.command, o, tt.was, tt.now)
		}
		for _, of := range []string{d.permd(t, "log", "show", q.ID), d.permd(t, "explain", q.ID)} {
			if !strings.Contains(of, "asks again: ") || !strings.Contains(of, kept[0].ID) {
				t.Errorf("%s: not shown:\n%s", tt.command, of)
			}
		}
		for line := range strings.Lines(tt.was) {
			if out := d.permd(t, "explain", q.ID); !strings.Contains(out, strings.TrimSpace(line)) {
				t.Errorf("%s: explain lacks %q:\n%s", tt.command, line, out)
			}
		}
		before := kept
		kept = p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
		p.is(p.bash(tt.command), decisions.Allow, decisions.ByMemory)
		if out, err := d.command("remember", "show", before[0].ID).CombinedOutput(); err == nil {
			t.Errorf("%s: the earlier choice is still there:\n%s", tt.command, out)
		}
		if kept[0].Scope != before[0].Scope || kept[0].Label != before[0].Label {
			t.Errorf("%s: %+v renews %+v", tt.command, kept[0], before[0])
		}
	}
}

// TestBoundForgotten: the text that a choice keeps holds no secret, is shown with the
// choice, and goes with it.
func TestBoundForgotten(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestOutdated is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	const token, canary = "ghp_canaryCANARYcanaryCANARYcanaryCANARY12", "canary-of-the-script"
	project := d.project(t, map[string]string{"package.json": `{"scripts": {"test": "API_TOKEN=` + token + ` vitest ` + canary + `"}}`})
	p := d.asks(t, project)
	kept := p.exactly("npm test")
	var shown admin.Choices
	if err := d.manage(t, admin.MethodChoicesShow, map[string]any{"choiceIds": []string{kept[0].ID}}, &shown); err != nil {
		t.Fatal(err)
	}
	if c := shown.Choices[0]; c.BoundTo != "script test of ./package.json" || !strings.Contains(c.BoundText, canary) || !strings.Contains(c.BoundText, "***") {
		t.Errorf("the choice: %+v", c)
	}
	for _, args := range [][]string{{"remember", "show", kept[0].ID}, {"remember", "list"}} {
		if out := d.permd(t, args...); !strings.Contains(out, "bound to") || !strings.Contains(out, "script test of ./package.json") || strings.Contains(out, token) {
			t.Errorf("permd %v:\n%s", args, out)
		}
	}
	put(t, project, "package.json", `{"scripts": {"test": "API_TOKEN=`+strings.ReplaceAll(token, "12", "13")+` vitest `+canary+`"}}`)
	q := p.bash("npm test")
	if text, err := json.Marshal(q); err != nil || bytes.Contains(text, []byte(token[:30])) || !strings.Contains(q.Reason, "outside of what is shown") {
		t.Errorf("%s, %v", text, err)
	}
	d.permd(t, "remember", "forget", kept[0].ID)
	p.Close()
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(filepath.Join(d.home, ".local"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) || bytes.Contains(data, []byte(token)) {
			t.Errorf("%s holds it", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRememberAddBound: a line about a run that executes files of the project is
// remembered with their content, as an answer would be, and says so.
func TestRememberAddBound(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs a process for each use of the command; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{
		"package.json": `{"scripts": {"test": "vitest"}}`, "Makefile": "lint:\n\tgo vet ./...\n", "run.sh": "echo 1\n", "compose.yaml": "services:\n",
	})
	p := d.asks(t, project)
	for n, tt := range []struct{ line, bound, command, file string }{
		{"npm test", "script test of ./package.json", "npm test", "package.json"},
		{"npm test *", "script test of ./package.json", "npm test -- --watch=false", "package.json"},
		{"make lint", "target lint of ./Makefile", "make lint", "Makefile"},
		{"./run.sh", "./run.sh", "./run.sh", "run.sh"},
		{"bash run.sh", "./run.sh", "bash run.sh", "run.sh"},
		{"docker compose up", "./compose.yaml", "docker compose up", "compose.yaml"},
		{"python3 -m pytest", "module pytest in .", "python3 -m pytest", "pytest.py"},
	} {
		if got := p.bash(tt.command); got.Verdict != decisions.Ask {
			t.Errorf("%s before: %s (%s)", tt.line, got.Verdict, got.Reason)
		}
		out := d.permd(t, "remember", "add", "run", tt.line, "--dir", project, "--json")
		var c admin.Choice
		if err := json.NewDecoder(strings.NewReader(out)).Decode(&c); err != nil || c.BoundTo != tt.bound || c.Unconfirmed || c.DecisionID != "" {
			t.Errorf("%s: %v, %s", tt.line, err, out)
		}
		p.is(p.bash(tt.command), decisions.Allow, decisions.ByMemory)
		if again := d.permd(t, "remember", "add", "run", tt.line, "--dir", project); !strings.Contains(again, c.ID) || !strings.Contains(again, "bound to "+tt.bound) {
			t.Errorf("%s a second time:\n%s", tt.line, again)
		}
		text := fmt.Sprintf("lint:\n\tevil %d\n", n)
		if tt.file == "package.json" {
			text = fmt.Sprintf(`{"scripts": {"test": "evil %d"}}`, n)
		}
		put(t, project, tt.file, text)
		if got := p.bash(tt.command); got.Verdict != decisions.Ask || !strings.Contains(got.Reason, "asks again: "+tt.bound) {
			t.Errorf("%s after: %s (%s)", tt.line, got.Verdict, got.Reason)
		}
	}
	for _, tt := range []struct{ line, says string }{
		{"npm * test", "a * of its own"}, {"npm --prefix=* test", "a word with a *"}, {"node -e 1", "would not be remembered"}, {"node *", "runs code"},
		{"./none.sh", "without its path"}, {"./run.sh *", "wider than"}, {"make -f other lint", "would not be remembered"},
	} {
		if out, err := d.command("remember", "add", "run", tt.line, "--dir", project).CombinedOutput(); err == nil || !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: %v, want %q\n%s", tt.line, err, tt.says, out)
		}
	}
}
