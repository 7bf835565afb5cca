package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// declaredTools are tools of an agent that nobody has heard of.
var declaredTools = []any{
	map[string]any{"name": "run_command", "members": map[string]string{"cmd": "command", "why": "harmless"}},
	map[string]any{"name": "open_file", "members": map[string]string{"file": "read"}},
	map[string]any{"name": "find_text", "members": map[string]string{"needle": "harmless", "folder": "tree"}},
	map[string]any{"name": "files", "members": map[string]string{"pattern": "glob"}},
	map[string]any{"name": "change_file", "members": map[string]string{"file": "write", "text": "harmless"}},
}

// declares is the declaration of session s1 with tools, which may be nil.
func declares(agent, cwd string, tools any) string {
	session := map[string]any{"sessionId": "s1", "cwd": cwd, "agent": map[string]string{"name": agent}}
	if tools != nil {
		session["tools"] = tools
	}
	return request("permd/session", session)
}

// TestDeclaredTools walks the calls of an agent without a profile, whose client declares
// its tools, through a real daemon: what reads is allowed, everything else asks, rules of
// the person see both, and the journal says by which declaration.
func TestDeclaredTools(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"main.go": "package main\n", ".env": "KEY=canary\n", "go.mod": "module m\n", "notes": "x\n",
		"docs/a.md": "x\n", "hidden/.env": "KEY=canary\n", ".gitignore": ".env\n"})
	writeFile(t, filepath.Join(d.home, ".netrc"), "canary\n")
	if err := os.MkdirAll(filepath.Join(project, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(d.home, ".netrc"), filepath.Join(project, "sub", "notes")); err != nil {
		t.Fatal(err)
	}
	d.policy(t, "mine.rego", `# METADATA
# custom:
#   id: mine.docs
allow contains "docs" if {
	input.effect.kind == "write"
	input.effect.declared == true
	startswith(input.effect.project_path, "docs/")
}

# METADATA
# custom:
#   id: mine.wc
deny contains "no wc" if {
	input.effect.program == "wc"
	input.effect.declared == true
}
`)
	d.start(t)
	w := d.wire(t)
	fresh := strings.Replace(declares("helper", project, declaredTools), `"cwd"`, `"atShell":true,"cwd"`, 1)
	if got := w.ask(t, fresh); got != (answer{}) {
		t.Fatalf("permd/session: %+v", got)
	}
	sh := func(text string) string { return toolLine("run_command", map[string]string{"cmd": text, "why": "x"}) }
	file := func(tool, path string) string { return toolLine(tool, map[string]string{"file": path}) }
	for line, want := range map[string]string{
		sh("git log --oneline | head -3 2>/dev/null"): "allow",
		sh("ls; cat main.go"):                         "allow",
		sh("bash -c 'cat main.go'"):                   "allow",
		file("open_file", "main.go"):                  "allow",
		file("open_file", ".env"):                     "ask",
		// Nobody knows whether these leave out what git ignores, or follow links.
		toolLine("find_text", map[string]string{"needle": "x", "folder": "docs"}):   "allow",
		toolLine("find_text", map[string]string{"needle": "x", "folder": "hidden"}): "ask",
		toolLine("find_text", map[string]string{"needle": "x", "folder": "sub"}):    "ask",
		toolLine("find_text", map[string]string{"needle": "x"}):                     "ask",
		toolLine("files", map[string]string{"pattern": "docs/*"}):                   "allow",
		toolLine("files", map[string]string{"pattern": "hidden/*"}):                 "ask",
		file("open_file", "/etc/passwd"):                                            "ask",
		file("change_file", "main.go"):                                              "ask",
		file("change_file", "docs/a.md"):                                            "allow",
		sh("cat .env"):                                                              "ask",
		sh("go test ./..."):                                                         "ask",
		sh("mkdir new"):                                                             "ask",
		sh("sed -i s/a/b/ main.go"):                                                 "ask",
		sh("echo x > main.go"):                                                      "ask",
		sh("rm main.go"):                                                            "ask",
		sh("curl https://example.com"):                                              "ask",
		sh("cd /etc"):                                                               "ask",
		sh("wc main.go"):                                                            "deny",
		sh("rm -rf ~"):                                                              "deny",
		toolLine("run_command", map[string]any{"cmd": "ls", "as": "root"}):          "ask",
		toolLine("run_command", map[string]any{"why": "x"}):                         "ask",
		toolLine("open_files", map[string]string{"file": "main.go"}):                "ask",
		strings.Replace(file("open_file", "main.go"), `"name":"open_file"`, `"name":"open_file","server":"files"`, 1): "ask",
	} {
		if got := w.ask(t, line); got.Verdict != want {
			t.Errorf("%s: %+v, want %s", line, got, want)
		}
	}
	// Its shell may stay alive: where a cd may have moved it is looked at too, unless the
	// client says that it does not.
	live := d.wire(t)
	for _, step := range []struct{ line, want string }{
		{declares("helper", project, declaredTools), ""},
		{sh("cat notes"), "allow"}, {sh("cd sub"), "allow"}, {sh("cat notes"), "ask"},
		{fresh, ""}, {sh("cat notes"), "allow"},
	} {
		if got := live.ask(t, step.line); got.Verdict != step.want {
			t.Errorf("%s: %+v, want %s", step.line, got, step.want)
		}
	}
	recorded := false
	for _, r := range d.recordsThat(t, decisions.RecordFilter{Tool: "run_command"}) {
		recorded = recorded || r.Declared == "run_command(cmd: command, why: harmless)" && r.Decision.Effects[0].Declared
	}
	if !recorded {
		t.Error("the journal does not say what was declared")
	}

	// The setting counts for what was declared before, too.
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "refuse_declared = true\n")
	d.reload(t)
	wantAnswer(t, "declared before the setting", w.ask(t, file("open_file", "main.go")), "ask", "", "cannot look into")
	if got := d.wire(t).ask(t, declares("helper", project, declaredTools)); got.Code != -32602 || !strings.Contains(got.Text, "settings") {
		t.Errorf("declared by that setting: %+v", got)
	}
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "")
	d.reload(t)
	if got := w.ask(t, file("open_file", "main.go")); got.Verdict != "allow" {
		t.Errorf("without the setting again: %+v", got)
	}
}

// wrongDeclarations: a declaration that is wrong is refused as a whole, its session is not
// declared, and the tools stay those of somebody else.
func wrongDeclarations(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"main.go": "package main\n"})
	d.start(t)
	tool := func(name string, members ...string) any {
		all := map[string]string{}
		for i := 0; i+1 < len(members); i += 2 {
			all[members[i]] = members[i+1]
		}
		return map[string]any{"name": name, "members": all}
	}
	var many []any
	for i := range 65 {
		many = append(many, tool(fmt.Sprint("tool", i), "file", "read"))
	}
	reads := toolLine("open_file", map[string]string{"file": "main.go"})
	for name, tt := range map[string]struct {
		agent string
		tools any
		says  string
	}{
		"too many":                  {"helper", many, "more than 64 tools"},
		"unknown meaning":           {"helper", []any{tool("open_file", "file", "reads")}, "meaning that is not known"},
		"duplicate name":            {"helper", []any{tool("open_file", "file", "read"), tool("open_file", "file", "read")}, "repeats an earlier one"},
		"name of a server's tool":   {"helper", []any{tool("open_file", "file", "read"), tool("mcp__files__read", "file", "read")}, "server's tool"},
		"a command that is nothing": {"helper", []any{tool("open_file", "file", "read", "command", "harmless")}, "less than its name"},
		"an agent with a profile":   {"claude-code", []any{tool("open_file", "file", "read")}, "has a profile"},
		"not a list":                {"helper", map[string]any{"open_file": "read"}, "params"},
	} {
		w := d.wire(t)
		if got := w.ask(t, declares(tt.agent, project, tt.tools)); got.Code != -32602 || !strings.Contains(got.Text, tt.says) {
			t.Errorf("%s: %+v, want a refusal with %q", name, got, tt.says)
		}
		if got := w.ask(t, reads); got.allowed() || got.Code != -32602 {
			t.Errorf("%s: a call in the session that was refused: %+v", name, got)
		}
	}

	w := d.wire(t)
	w.ask(t, declares("helper", project, declaredTools))
	if got := w.ask(t, reads); got.Verdict != "allow" {
		t.Fatalf("control: %+v", got)
	}
	if got := w.ask(t, declares("helper", project, []any{tool("change_file", "file", "read")})); got.Code != -32602 || !strings.Contains(got.Text, "declared before") {
		t.Errorf("second declaration: %+v", got)
	}
	wantAnswer(t, "after a second declaration", w.ask(t, toolLine("change_file", map[string]string{"file": "main.go"})), "ask", "", "")
	if got := w.ask(t, reads); got.Verdict != "allow" {
		t.Errorf("after a second declaration: %+v", got)
	}
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	w = d.wire(t)
	w.ask(t, declares("helper", project, nil))
	wantAnswer(t, "after a restart, before it is declared again", w.ask(t, reads), "ask", "", "cannot look into")
	w.ask(t, declares("helper", project, declaredTools))
	if got := w.ask(t, reads); got.Verdict != "allow" {
		t.Errorf("after a restart: %+v", got)
	}
}

// TestExampleTools runs the example of a client that declares its tools, as it is.
func TestExampleTools(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts the example once for each call; TestExampleClients is the quick one")
	}
	t.Parallel()
	python, script := pythonExample(t, "tools.py")
	d := startDaemon(t)
	project := d.project(t, map[string]string{"main.go": "package main\n"})
	for call, want := range map[string]string{
		`{"tool":"run_command","input":{"cmd":"git log | head","why":"look"}}`: "allow: ",
		`{"tool":"open_file","input":{"file":"main.go"}}`:                      "allow: ",
		`{"tool":"change_file","input":{"file":"main.go","text":"x"}}`:         "ask: ",
		`{"tool":"run_command","input":{"cmd":"rm -rf ~"}}`:                    "deny: ",
		`{"tool":"open_file","input":{"file":"main.go","as":"root"}}`:          "ask: ",
		`{"tool":"open_file","input":{"file":"/etc/shadow","file":"main.go"}}`: "undecided: ",
		`{"tool":"another","input":{"file":"main.go"}}`:                        "ask: ",
		`{"tool":`: "undecided: ",
	} {
		cmd := exec.Command(python, script)
		cmd.Dir, cmd.Stdin, cmd.Env = project, strings.NewReader(call), []string{"PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + d.run}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%s: %v, %s, want %q", call, err, out, want)
		}
	}
}
