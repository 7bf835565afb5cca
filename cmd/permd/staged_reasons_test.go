package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStagedReasons: where a git add asks for what it would stage, the reason names that and why.
func TestStagedReasons(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for the text of reasons; TestDecideExitCode is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"a.txt": "x\n", ".gitignore": "/ignored\n"})
	git := func(dir string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git(project)
	link := func(from, to string) {
		t.Helper()
		if err := os.Symlink(from, filepath.Join(project, to)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		make             func()
		clear, add, says string
	}{
		{func() {}, "", ".", "allow: "},
		{func() { link("/etc/hosts", "lnk") }, "lnk", ".", "ask: stages ./lnk, which is a link\n"},
		{func() { link("/etc/hosts", "lnk") }, "lnk", "lnk", "ask: stages ./lnk, which is a link\n"},
		{func() { writeFile(t, filepath.Join(project, ".env"), "KEY=canary\n") }, ".env", ".", "ask: guarded: secret: read ./.env\n"},
		{func() { writeFile(t, filepath.Join(project, ".github/workflows/x.yml"), "on: push\n") }, ".github", ".", "ask: stages ./.github/workflows/x.yml, which is guarded: ci\n"},
	} {
		tt.make()
		out, _, _ := printed(d.command("try", "--in", project, "git add "+tt.add))
		if !strings.HasPrefix(out, tt.says) {
			t.Errorf("git add %s: %s, want %s", tt.add, out, tt.says)
		}
		if tt.clear == "" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(project, tt.clear)); err != nil {
			t.Fatal(err)
		}
	}
	link("/etc/hosts", "lnk")
	d.start(t)
	id := d.asks(t, project).bash("git add lnk").ID
	if out := d.permd(t, "explain", id); !strings.Contains(out, "almost   base allow: git may stage files, and make branches") || strings.Contains(out, "Formatters") {
		t.Errorf("permd explain says\n%s", out)
	}
}
