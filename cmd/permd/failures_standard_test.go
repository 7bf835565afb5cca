package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/permd/permd/socket/admin"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/native"
)

// TestStandardNames walks the calls of an agent without a profile, whose client declares
// nothing, through a real daemon: rules about files and programs speak of tools with usual
// names, and of what the agent claims over ACP; without them all of it asks.
func TestStandardNames(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"main.go": "package main\n", ".env": "KEY=canary\n", "docs/a.md": "x\n"})
	if err := os.Symlink(filepath.Join(d.home, ".netrc"), filepath.Join(project, "docs", "link")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(d.home, ".netrc"), "canary\n")
	d.start(t)
	w := d.wire(t)
	if got := w.ask(t, declares("helper", project, nil)); got != (answer{}) {
		t.Fatalf("permd/session: %+v", got)
	}
	acp := func(call map[string]any) string {
		call["toolCallId"] = "t1"
		return request("session/request_permission", map[string]any{"sessionId": "s1", "toolCall": call, "options": []any{
			map[string]string{"optionId": "allow", "name": "Yes", "kind": "allow_once"}, map[string]string{"optionId": "reject", "name": "No", "kind": "reject_once"},
		}})
	}
	file := func(tool, path string) string { return toolLine(tool, map[string]string{"path": path}) }
	at := func(kind, path string) string {
		return acp(map[string]any{"kind": kind, "title": "look at docs", "locations": []any{map[string]string{"path": filepath.Join(project, path)}}})
	}
	diff := func(path string) string {
		return acp(map[string]any{"kind": "edit", "title": "edit docs", "content": []any{
			map[string]string{"type": "diff", "path": filepath.Join(project, path), "oldText": "a", "newText": "b"}}})
	}
	steps := []struct{ line, without, with string }{
		{file("read_file", "docs/a.md"), "ask", "allow"},
		{file("read_file", "main.go"), "ask", "ask"},
		{file("read_file", "docs/link"), "ask", "ask"},
		{toolLine("edit", map[string]string{"path": "docs/a.md", "old_string": "a", "new_string": "b"}), "ask", "allow"},
		{toolLine("edit", map[string]string{"path": "main.go", "old_string": "a", "new_string": "b"}), "ask", "ask"},
		{toolLine("edit", map[string]string{"path": "docs/a.md", "also": "main.go"}), "ask", "ask"},
		{toolLine("bash", map[string]string{"command": "cat docs/a.md"}), "ask", "allow"},
		{toolLine("bash", map[string]string{"command": "cat docs/a.md; ls"}), "ask", "ask"},
		{toolLine("bash", map[string]string{"command": "cat docs/a.md", "cwd": "/"}), "ask", "ask"},
		{toolLine("bash", map[string]string{"command": "rm -rf ~"}), "deny", "deny"},
		{toolLine("grep", map[string]string{"pattern": "x", "path": "docs"}), "ask", "deny"},
		{strings.Replace(file("read_file", "docs/a.md"), `"name":"read_file"`, `"name":"read_file","server":"files"`, 1), "ask", "ask"},
		{at("read", "docs/a.md"), "ask", "allow"},
		{at("read", "main.go"), "ask", "ask"},
		{at("delete", "docs/a.md"), "ask", "ask"},
		{at("execute", "docs/a.md"), "ask", "ask"},
		{diff("docs/a.md"), "ask", "allow"},
		{diff(".env"), "ask", "ask"},
	}
	check := func(what string, want func(i int) string) {
		t.Helper()
		for i, s := range steps {
			if got := w.ask(t, s.line); got.allowed() != (want(i) == "allow") || got.Verdict != "" && got.Verdict != want(i) {
				t.Errorf("%s: %s: %+v, want %s", what, s.line, got, want(i))
			}
		}
	}
	check("without rules", func(i int) string { return steps[i].without })
	d.policy(t, "mine.rego", `allow contains "docs" if {
	input.effect.kind in {"read", "write"}
	startswith(input.effect.project_path, "docs/")
}

allow contains "cat" if {
	input.effect.kind == "run"
	input.effect.program == "cat"
	input.effect.claimed == true
}

deny contains "no searches" if {
	input.effect.kind == "read"
	input.effect.recursive == true
}
`)
	d.reload(t)
	check("with rules", func(i int) string { return steps[i].with })
}

// brokenProfiles: a file with profiles of agents that is broken, too large, cannot be read
// or is taken away never makes an answer milder than the last good one, or than none.
func brokenProfiles(t *testing.T) {
	const good = "version: 1\nagents:\n  - id: helper\n    names: [helper]\n    tools: {usual_read: [open_file]}\n"
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"main.go": "package main\n"})
	file := filepath.Join(d.home, ".config", "permd", "policy.d", "profiles.yaml")
	line := toolLine("open_file", map[string]string{"path": "main.go"})
	writeFile(t, file, "version: 1\nagents: [\n")
	d.start(t)
	w := d.wire(t)
	if got := w.ask(t, declares("helper", project, nil)); got != (answer{}) {
		t.Fatalf("permd/session: %+v", got)
	}
	wantAnswer(t, "never good", w.ask(t, line), "ask", "failure", "profiles.yaml:")
	writeFile(t, file, good)
	d.reload(t)
	allowed := func(what string) {
		t.Helper()
		if got := w.ask(t, line); got.Verdict != "allow" {
			t.Errorf("%s: %+v", what, got)
		}
	}
	allowed("good")
	// Each version takes the place of the former one at once: while the file is empty or
	// gone, be it for a moment on a slow machine, its allows do not count.
	next := filepath.Join(d.home, "next")
	replace := func() {
		t.Helper()
		if err := os.Rename(next, file); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string) {
		t.Helper()
		if err := d.manage(t, admin.MethodReload, struct{}{}, nil); err == nil {
			t.Errorf("%s: it is read", what)
		}
	}
	for what, text := range map[string]string{
		"broken":          "version: 1\nagents:\n  - id: helper\n    names: [claude-code]\n    tools: {usual_read: [Bash]}\n",
		"too large":       "version: 1\n# " + strings.Repeat("x", 2<<20),
		"nested too deep": "version: 1\nagents: " + strings.Repeat("[", 1<<16),
	} {
		writeFile(t, next, text)
		replace()
		refused(what)
		allowed(what + ": the last good one")
		if got := w.ask(t, declares("claude-code", project, nil)); got != (answer{}) {
			t.Fatalf("permd/session: %+v", got)
		}
		if got := w.ask(t, toolLine("Bash", map[string]string{"path": "main.go"})); got.allowed() {
			t.Errorf("%s: a tool of a shipped agent: %+v", what, got)
		}
		if got := w.ask(t, declares("helper", project, nil)); got != (answer{}) {
			t.Fatalf("permd/session: %+v", got)
		}
	}
	// What blocks who opens it is no file.
	if err := syscall.Mkfifo(next, 0o600); err != nil {
		t.Fatal(err)
	}
	replace()
	refused("a pipe")
	allowed("a pipe: the last good one")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	d.reload(t)
	if got := w.ask(t, line); got.allowed() {
		t.Errorf("taken away: %+v", got)
	}
}

// TestClaimedWidths: what is offered for a tool with a usual name is about the file that it
// names, or about its command, and not about the tool.
func TestClaimedWidths(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"main.go": "package main\n", "docs/a.md": "x\n", "docs/b.md": "x\n", ".env": "KEY=canary\n"})
	d.start(t)
	p := &person{d.dial(t), t}
	if err := p.Call(t.Context(), native.MethodSession, map[string]any{"sessionId": "s", "cwd": project, "agent": map[string]string{"name": "helper"}}, nil); err != nil {
		t.Fatal(err)
	}
	file := func(path string) map[string]string { return map[string]string{"path": path} }
	shell := func(command string) map[string]string { return map[string]string{"command": command} }
	for _, tt := range []struct {
		tool  string
		input map[string]string
		rule  string            // that is offered and chosen, "" for none
		also  map[string]string // another input that is then decided
		want  decisions.Verdict
	}{
		{"read_file", file("docs/a.md"), "read ./docs/a.md", file("docs/b.md"), decisions.Ask},
		{"read", file("docs/a.md"), "", nil, decisions.Allow}, // what was chosen is about the file
		{"write_file", file("docs/a.md"), "write ./docs/a.md", file("main.go"), decisions.Ask},
		{"bash", shell("git log -3"), "run git log -3", shell("git log -4"), decisions.Ask},
		{"bash", shell("cat docs/a.md && wc -l docs/b.md"), "run cat docs/a.md\nrun wc -l docs/b.md\nread ./docs/b.md", shell("cat main.go"), decisions.Ask},
		{"deploy", file("docs/a.md"), "use deploy (with these arguments)", file("docs/b.md"), decisions.Ask},
	} {
		q := p.ask("s", tt.tool, tt.input)
		if tt.rule == "" {
			if q.Verdict != tt.want {
				t.Errorf("%s %v: %s, want %s", tt.tool, tt.input, q.Verdict, tt.want)
			}
			continue
		}
		if q.Verdict != decisions.Ask || len(q.Widths) == 0 {
			t.Errorf("%s %v: %s with %+v, %s", tt.tool, tt.input, q.Verdict, q.Widths, q.NotRemembered)
			continue
		}
		if w := q.Widths[0]; w.Rule != tt.rule {
			t.Errorf("%s %v: %q is offered, want %q", tt.tool, tt.input, w.Rule, tt.rule)
		}
		p.choose(q, map[string]any{"width": q.Widths[0].ID, "scope": cmp.Or(q.Widths[0].Scope, "session")}, "")
		if again := p.ask("s", tt.tool, tt.input); again.Verdict != decisions.Allow || again.By != decisions.ByMemory {
			t.Errorf("%s %v again: %s by %s: %s", tt.tool, tt.input, again.Verdict, again.By, again.Reason)
		}
		if other := p.ask("s", tt.tool, tt.also); other.Verdict != tt.want {
			t.Errorf("%s %v: %s, want %s", tt.tool, tt.also, other.Verdict, tt.want)
		}
	}
}
