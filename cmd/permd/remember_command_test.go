package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// TestRememberCommand checks what the command refuses and prints.
func TestRememberCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs a process for each use of the command; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"add", "run", "bash *", "--dir", project}, "runs code"},
		{[]string{"add", "run", "sudo ls", "--dir", project}, "runs other programs"},
		{[]string{"add", "run", "./x.sh", "--dir", project}, "without its path"},
		{[]string{"add", "run", "npm test", "--dir", project}, "npm runs what the project's files say, which is only remembered with their content; an answer to it would not be remembered either: what it runs could not be told from the project's files"},
		{[]string{"add", "run", "*", "--dir", project}, "must not have a *"},
		{[]string{"add", "run", "git status", "--scope", "user"}, "bound to the project"},
		{[]string{"add", "run", "go vet *", "--dir", "/"}, "belongs to no project"},
		{[]string{"add", "connect", "*.com", "--scope", "user"}, "public suffix"},
		{[]string{"add", "state", "x", "--scope", "user"}, "kinds are"},
		{[]string{"add", "run", "go vet", "--scope", "session"}, "unknown scope"},
		{[]string{"add", "run", "curl https://ada:canary@example.com/", "--dir", project}, "secret"},
		{[]string{"forget"}, "give the ids of choices"},
		{[]string{"forget", "none"}, "no choice of that id"},
		{[]string{"forget", "none", "--all"}, "give the ids of choices"},
		{[]string{"show", "none"}, "no choice of that id"},
		{[]string{"list", "--kind", "walk"}, "unknown kind"},
	} {
		out, err := d.command(append([]string{"remember"}, tt.args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.says) {
			t.Errorf("permd remember %v: %v, want %q\n%s", tt.args, err, tt.says, out)
		}
	}
	d.permd(t, "remember", "add", "run", "go vet *", "--dir", project)
	d.permd(t, "remember", "add", "run", "go version", "--scope", "user", "--for", "8h")
	d.permd(t, "remember", "add", "--reject", "connect", "*.example.com", "--scope", "user")
	export := d.permd(t, "remember", "export")
	for _, want := range []string{"allow:\n  run:\n    - 'go vet *'  # project " + project, "deny:\n  connect:\n    - '*.example.com'  # user", "# Left out: 1 choice with a time limit"} {
		if !strings.Contains(export, want) {
			t.Errorf("export lacks %q:\n%s", want, export)
		}
	}
	p := d.asks(t, project)
	p.is(p.bash("go vet ./a"), decisions.Allow, decisions.ByMemory)
	p.is(p.bash("curl https://api.example.com/x"), decisions.Deny, decisions.ByMemory)
	if out := d.permd(t, "remember", "forget", "--all"); strings.Count(out, "forgotten: ") != 3 {
		t.Errorf("forgotten:\n%s", out)
	}
	var got admin.Choices
	c, err := client.Dial(t.Context(), d.adminSocket(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, params := range []string{`{}`, `{"choiceIds":[]}`, `{"choiceIds":[1]}`, `{"choiceIds":["x"]}`} {
		if err := c.Call(t.Context(), admin.MethodChoicesForget, []byte(params), &got); err == nil {
			t.Errorf("forgetting %s: no error", params)
		}
	}
}

// TestRememberAddFirst: a line that is bound to a script is added before any session has
// been declared in a project that has rules of its own.
func TestRememberAddFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it adds a line in a daemon of its own; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"package.json": `{"scripts": {"test": "jest"}}`, ".permd/rules.yaml": "ask:\n  run: [make *]\n"})
	if out := d.permd(t, "remember", "add", "run", "npm test", "--dir", project); !strings.Contains(out, "bound to") {
		t.Errorf("it says %s", out)
	}
}
