package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

// Upper bounds of the questions of two ordinary days, as they are measured. They may only
// become lower.
const (
	dayOneQuestions = 52
	dayTwoQuestions = 3 // without those that the edits between the days explain
)

const aCommit = "0123456789012345678901234567890123456789\n"

// dayFiles are the files of the two projects of testdata/days/calls.txt.
var dayFiles = map[string]map[string]string{
	"shop": {
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\trepositoryformatversion = 0\n", ".git/refs/heads/main": aCommit, ".git/objects/info/packs": "",
		"go.mod": "module example.com/shop\n", "go.sum": "", "README.md": "# shop\n", "main.go": "package main\n\nfunc main() {}\n",
		"cmd/shop/main.go": "package main\n\nfunc main() {}\n", "c.out": "mode: set\n",
		"internal/cart/cart.go": "package cart\n", "internal/cart/cart_test.go": "package cart\n", "internal/cart/old.go": "package cart\n",
		"Makefile":           "build:\n\tgo build ./...\ntest:\n\tgo test ./...\nlint:\n\tgo vet ./...\n",
		"docker-compose.yml": "services:\n  shop:\n    image: shop\n", "scripts/seed.sh": "#!/bin/sh\ncurl -s localhost:8080/seed\n",
	},
	"web": {
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\trepositoryformatversion = 0\n", ".git/refs/heads/main": aCommit, ".git/objects/info/packs": "",
		"package.json": `{"name":"web","scripts":{"build":"vite build","test":"vitest","lint":"eslint src","dev":"vite"}}` + "\n",
		"src/app.js":   "let a = 1\n", "src/cart.js": "let b = 2\n", "scripts/gen.js": "console.log(1)\n", "api/main.py": "print(1)\n",
		"tests/test_api.py": "def test_api(): pass\n", "requirements.txt": "pytest\n", "pyproject.toml": "[project]\nname = \"web\"\n",
		"node_modules/vite/package.json": "{}\n", "dist/app.js": "\n", "Makefile": "lint:\n\truff check .\n",
		"docker-compose.yml": "services:\n  web:\n    image: web\n", "tsconfig.json": "{}\n",
	},
}

// dayEdits are the person's edits between the days.
var dayEdits = map[string]map[string]string{
	"shop": {
		"internal/cart/cart.go": "package cart\n\nfunc Total() int { return 1 }\n", "cmd/shop/main.go": "package main\n\nfunc main() { println() }\n",
		"README.md": "# shop\n\nSells things.\n",
	},
	"web": {
		"package.json": `{"name":"web","scripts":{"build":"vite build","test":"vitest run","lint":"eslint src","dev":"vite"}}` + "\n",
		"src/app.js":   "let a = 2\n", "scripts/gen.js": "console.log(2)\n", "tests/test_api.py": "def test_api(): assert True\n",
	},
}

// dayCall is one line of testdata/days/calls.txt.
type dayCall struct {
	project, answer, tool, arg string
	edited                     bool // the edits explain a question of the second day
}

func dayCalls(t *testing.T) []dayCall {
	t.Helper()
	text, err := os.ReadFile("testdata/days/calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []dayCall
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		part := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(part) != 4 {
			t.Fatalf("%q has too few words", line)
		}
		answer, edited := strings.CutSuffix(part[1], "+edited")
		list = append(list, dayCall{part[0], answer, part[2], part[3], edited})
	}
	return list
}

// input is what Claude Code sends to its hook.
func (c *dayCall) input(root string) string {
	var in map[string]string
	file := filepath.Join(root, c.arg)
	switch c.tool {
	case "Bash":
		in = map[string]string{"command": c.arg}
	case "Read":
		in = map[string]string{"file_path": file}
	case "Edit":
		in = map[string]string{"file_path": file, "old_string": "a", "new_string": "b"}
	case "Write":
		in = map[string]string{"file_path": file, "content": "package tax\n"}
	case "Grep", "Glob":
		in = map[string]string{"pattern": c.arg}
	}
	text, err := json.Marshal(map[string]any{
		"session_id": c.project, "cwd": root, "permission_mode": "bypassPermissions", "hook_event_name": "PreToolUse",
		"tool_name": c.tool, "tool_input": in, "tool_use_id": "t",
	})
	if err != nil {
		panic(err) // nothing but strings
	}
	return string(text)
}

// asked is a question of a day.
type asked struct {
	dayCall
	reason string
	widths []decisions.Width
}

// day makes all calls through Claude's hook, has the person answer, and returns the
// questions.
func (d *testDaemon) day(t *testing.T, calls []dayCall) []asked {
	t.Helper()
	var list []asked
	for _, c := range calls {
		out := d.hook(t, "claude", c.input(filepath.Join(d.home, c.project)))
		m := allowedBy.FindSubmatch(out.Stdout)
		if m == nil {
			if !strings.Contains(string(out.Stdout), `"permissionDecision":"allow"`) {
				t.Errorf("%s: %+v", c.arg, out)
			}
			continue
		}
		var got admin.Questions
		if err := d.manage(t, admin.MethodQuestionsList, struct{}{}, &got); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(got.Questions, func(q admin.Question) bool { return q.DecisionID == string(m[1]) })
		if i < 0 {
			t.Fatalf("%s: the question does not wait", c.arg)
		}
		q := got.Questions[i]
		list = append(list, asked{c, q.Reason, q.Widths})
		if c.answer == "once" || len(q.Widths) == 0 {
			continue
		}
		width := q.Widths[0]
		if c.answer == "wider" {
			width = q.Widths[len(q.Widths)-1]
		}
		var done admin.Approved
		if err := d.manage(t, admin.MethodQuestionsAllow, admin.Approval{DecisionID: q.DecisionID, Width: width.ID}, &done); err != nil {
			t.Fatalf("%s: %v", c.arg, err)
		}
		if len(done.Stored) == 0 {
			t.Errorf("%s: the person said always, and nothing is stored", c.arg)
		}
	}
	return list
}

// TestTwoDays: a person who says "always" where it is sensible is asked little on the
// next day. For the questions: go test ./cmd/permd -run TestTwoDays -v
func TestTwoDays(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a process for each call; TestRemember is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	for project, files := range dayFiles {
		for name, text := range files {
			writeFile(t, filepath.Join(d.home, project, name), text)
		}
	}
	d.start(t)
	calls := dayCalls(t)
	one := d.day(t, calls)
	for project, files := range dayEdits {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(d.home, project, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	two := d.day(t, calls)
	edited := 0
	for _, a := range two {
		if a.edited {
			edited++
			if !strings.HasPrefix(a.reason, "asks again: ") {
				t.Errorf("%s: the reason does not say what has changed: %s", a.arg, a.reason)
			}
		}
	}
	report(t, "day one", one)
	report(t, "day two", two)
	t.Logf("%d calls: %d questions on day one, %d on day two, %d of them because of the edits", len(calls), len(one), len(two), edited)
	if len(one) > dayOneQuestions || len(two)-edited > dayTwoQuestions {
		t.Errorf("more questions than the %d of day one and the %d of day two that are known", dayOneQuestions, dayTwoQuestions)
	}
}

// report prints the questions of a day by their reasons.
func report(t *testing.T, day string, list []asked) {
	t.Helper()
	reasons := map[string][]string{}
	for _, a := range list {
		text := fmt.Sprintf("%s (%s, %d widths)", a.arg, a.answer, len(a.widths))
		for _, w := range a.widths {
			text += "\n\t\t" + w.Label + " | " + strings.ReplaceAll(w.Rule, "\n", "; ")
		}
		reasons[a.reason] = append(reasons[a.reason], text)
	}
	var b strings.Builder
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(&b, "%d: %s\n\t%s\n", len(reasons[reason]), reason, strings.Join(reasons[reason], "\n\t"))
	}
	t.Logf("%s, %d questions:\n%s", day, len(list), b.String())
}
