package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestOwnDataFailures: where a repository cannot be read whole, or is not what it was when it was
// read before, a commit asks, also one that was allowed a moment ago.
func TestOwnDataFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it goes through a table of failures; TestOwnDataRepository of decisions/effects/shell is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{
		"a.txt": "a\n", ".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\trepositoryformatversion = 0\n", ".git/refs/heads/main": aCommit,
		".git/objects/info/packs": "", ".git/logs/HEAD": "x\n",
	})
	d.start(t)
	w := d.wire(t)
	if got := w.ask(t, declares("claude-agent-acp", project, nil)); got != (answer{}) {
		t.Fatalf("permd/session: %+v", got)
	}
	at := func(name string) string { return filepath.Join(project, ".git", name) }
	text := func(name, text string) func() error {
		return func() error { return os.WriteFile(at(name), []byte(text), 0o600) }
	}
	want := func(what, verdict string) {
		t.Helper()
		for _, command := range []string{"git add a.txt", "git add .", "git add -u", "git commit -m x", "git checkout -b x"} {
			if got := w.ask(t, toolLine("Bash", map[string]string{"command": command})); got.Verdict != verdict {
				t.Errorf("%s: %s: %+v, want %s", what, command, got, verdict)
			}
		}
	}
	want("plain", "allow")
	for what, harm := range map[string]func() error{
		"a folder that is a file":        text("hooks", "x"),
		"an index that is broken":        text("index", "DIRC\x00"),
		"an index that is cut off":       text("index", "DIRC\x00\x00\x00\x02\x00\x00\x00\x09"+strings.Repeat("x", 40)),
		"a packed list that is a folder": func() error { return os.Mkdir(at("packed-refs"), 0o700) },
		"a pipe":                         func() error { return syscall.Mkfifo(at("FETCH_HEAD"), 0o600) },
		"a link to itself":               func() error { return os.Symlink("info", at("info")) },
		"a hook":                         func() error { return os.MkdirAll(at("hooks/post-commit"), 0o700) },
		"a file of another program":      text("gc.pid", "1\n"),
	} {
		before, err := os.ReadDir(at(""))
		if err != nil {
			t.Fatal(err)
		}
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		want(what, "ask")
		had := map[string]bool{}
		for _, e := range before {
			had[e.Name()] = true
		}
		after, err := os.ReadDir(at(""))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range after {
			if had[e.Name()] {
				continue
			}
			if err := os.RemoveAll(at(e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		want("plain again after "+what, "allow")
	}
	// What git add would take of folders.
	wantAll := func(what, verdict string) {
		t.Helper()
		for _, command := range []string{"git add .", "git add -A"} {
			if got := w.ask(t, toolLine("Bash", map[string]string{"command": command})); got.Verdict != verdict {
				t.Errorf("%s: %s: %+v, want %s", what, command, got, verdict)
			}
		}
	}
	for what, harm := range map[string]func(file string) error{
		"a new link":          func(file string) error { return os.Symlink("a.txt", file) },
		"a new pipe":          func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"a repository":        func(file string) error { return os.MkdirAll(filepath.Join(file, ".git"), 0o700) },
		"a file's other name": func(file string) error { return os.Link(filepath.Join(project, "a.txt"), file) },
		"too many names": func(file string) error {
			for i := range 1<<13 + 1 {
				if err := os.MkdirAll(filepath.Join(file, strconv.Itoa(i)), 0o700); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		file := filepath.Join(project, "new")
		if err := harm(file); err != nil {
			t.Fatal(err)
		}
		wantAll(what, "ask")
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		wantAll("plain again after "+what, "allow")
	}
	// What is too much to be looked at.
	if err := os.WriteFile(at("config"), []byte(strings.Repeat("#", 64<<10)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("settings that are too long", "ask")
}
