package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions"
)

// boundChanged: what a choice is bound to has another text, is gone, cannot be read or is no
// file of its kind, or another file is taken in its place: the call asks, and an answer that
// cannot be stored renews nothing.
func boundChanged(t *testing.T) {
	d := newTestDaemon(t)
	const scripts = `{"scripts": {"test": "vitest"}}`
	const tasks = "[tasks.lint]\nrun = \"true\"\n"
	project := d.project(t, map[string]string{"package.json": scripts, "Makefile": "test:\n\ttrue\n", "mise.toml": tasks})
	d.start(t)
	p := d.asks(t, project)
	p.exactly("npm test")
	p.exactly("make test")
	p.exactly("mise run lint")
	is := func(what, command string, want decisions.Verdict) *decisions.Decision {
		t.Helper()
		got := p.bash(command)
		if got.Verdict != want {
			t.Errorf("%s: %s: %s by %s (%s)", what, command, got.Verdict, got.By, got.Reason)
		}
		return got
	}
	file := filepath.Join(project, "package.json")
	for _, c := range []struct {
		what   string
		change func() error
	}{
		{"another text", func() error { return os.WriteFile(file, []byte(`{"scripts": {"test": "evil"}}`), 0o600) }},
		{"no JSON", func() error { return os.WriteFile(file, []byte(`{"scripts": {"test": "vitest"}`), 0o600) }},
		{"two scripts of a name", func() error {
			return os.WriteFile(file, []byte(`{"scripts": {"test": "vitest"}, "scripts": {"test": "evil"}}`), 0o600)
		}},
		{"a script that is no text", func() error { return os.WriteFile(file, []byte(`{"scripts": {"test": ["vitest"]}}`), 0o600) }},
		{"more than is read", func() error { return os.WriteFile(file, append([]byte(scripts), make([]byte, 2<<20)...), 0o600) }},
		{"gone", func() error { return os.Remove(file) }},
		{"a folder", func() error { return os.Mkdir(file, 0o700) }},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		is(c.what, "npm test", decisions.Ask)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	put(t, project, "package.json", scripts)
	is("the text of before", "npm test", decisions.Allow)
	for name, text := range map[string]string{".npmrc": "script-shell=./x\n", ".tool-versions": "nodejs path:./x\n"} {
		put(t, project, name, text)
		is("settings that name another program", "npm test", decisions.Ask)
		if err := os.Remove(filepath.Join(project, name)); err != nil {
			t.Fatal(err)
		}
	}
	is("without such settings", "npm test", decisions.Allow)
	is("the makefile of before", "make test", decisions.Allow)
	put(t, project, "Makefile.sh", "test: ; evil\n")
	is("the makefile may be made anew", "make test", decisions.Ask)
	if err := os.Remove(filepath.Join(project, "Makefile.sh")); err != nil {
		t.Fatal(err)
	}
	put(t, project, "GNUmakefile", "test:\n\tevil\n")
	is("another makefile is taken", "make test", decisions.Ask)
	is("the tasks of before", "mise run lint", decisions.Allow)
	put(t, project, "mise.toml", tasks+"depends = [\"evil\"]\n")
	is("another task", "mise run lint", decisions.Ask)
	put(t, project, "mise.toml", tasks)
	put(t, project, "mise.local.toml", "[tasks.lint]\nrun = \"evil\"\n")
	is("another file of tasks", "mise run lint", decisions.Ask)

	put(t, project, "package.json", `{"scripts": {"test": "vitest run"}}`)
	q := is("to be renewed", "npm test", decisions.Ask)
	release := d.lockDatabase(t, "remember.db")
	p.choose(q, map[string]any{"width": q.Widths[0].ID}, "could not be stored")
	release()
	is("not renewed", "npm test", decisions.Ask)
	put(t, project, "package.json", scripts)
	is("not renewed, with the text of before", "npm test", decisions.Allow)
}
