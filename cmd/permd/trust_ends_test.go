package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrustEnds: trust ends in a folder that is gone or is no project of its own any more, what cannot be
// trusted is said before the list is shown, and no name reaches the terminal as it is.
func TestTrustEnds(t *testing.T) {
	t.Parallel()
	const rules = "allow:\n  run: [make check]\n"
	d := newTestDaemon(t)
	root := t.TempDir()
	d.start(t, "--root", root)
	run := func(code int, want string, args ...string) string {
		t.Helper()
		out, errs, got := printed(d.command(append([]string{"trust"}, args...)...))
		if all := out + errs; got != code || !strings.Contains(all, want) || strings.ContainsRune(all, '\x1b') {
			t.Errorf("permd trust %q ends with %d:\n%s\nwant %d and %q", args, got, all, code, want)
		}
		return out
	}
	project := d.project(t, map[string]string{".permd/rules.yaml": rules, "inner/.git/HEAD": "ref: refs/heads/main\n", "inner/.permd/rules.yaml": rules})
	inner := filepath.Join(project, "inner")

	run(1, "is not trusted", "--revoke", project)
	run(2, "cannot be used together", "--show", "--revoke", project)
	if out := run(2, "not for 400 days", "--for", "400d", "--yes", project); out != "" {
		t.Errorf("it is shown before:\n%s", out)
	}
	run(0, "are trusted until", "--yes", inner)
	for _, name := range []string{".git", ".permd"} {
		if err := os.RemoveAll(filepath.Join(inner, name)); err != nil {
			t.Fatal(err)
		}
	}
	run(0, "changed", "--list")
	run(0, "the rules of "+inner+" are not trusted any more", "--revoke", inner)

	run(1, `a\u{1b}[2Jb`, "--revoke", filepath.Join(project, "a\x1b[2Jb"))
	gone := filepath.Join(project, "gone")
	writeFile(t, filepath.Join(gone, ".git", "HEAD"), "ref: refs/heads/main\n")
	writeFile(t, filepath.Join(gone, ".permd", "rules.yaml"), rules)
	run(0, "are trusted until", "--yes", gone)
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	run(0, "  gone", "--list")
	run(1, `there is no folder `, "--show", gone)
	run(0, "are not trusted any more", "--revoke", gone)
	run(0, "no project is trusted", "--list")

	writeFile(t, filepath.Join(root, "etc", "permd", "permd.toml"), "project_trust = \"approved\"\n")
	d.permd(t, "reload")
	if out := run(1, "it must approve digest ", "--yes", project); out != "" {
		t.Errorf("it is shown before:\n%s", out)
	}
	run(0, "only lists that the organisation approves by their digest are trusted", "--show", project)
}
