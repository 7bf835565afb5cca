package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestHookAllowFiles: a file that a call runs, reads or names is part of the call
// that a person says yes to.
func TestHookAllowFiles(t *testing.T) {
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	project := d.project(t, nil)
	for command, file := range map[string]string{
		"./run.sh": "run.sh", "sh run.sh 1": "run.sh", "sh < in.sh": "in.sh", "cat in.sh | sh": "in.sh",
		"whatever -f data.sql": "data.sql", "make it": "Makefile",
	} {
		t.Run(command, func(t *testing.T) {
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(project, file), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			asks := func() string {
				return string(d.hook(t, "cursor", hookInput(hookShell[8].in, project, command)).Stdout)
			}
			allow := func() {
				t.Helper()
				m := allowedBy.FindStringSubmatch(asks())
				if m == nil {
					t.Fatal("no way to allow it is named")
				}
				d.permd(t, "allow", m[1])
			}
			write("it:\n\techo 1\n")
			allow()
			write("it:\n\techo 2\n")
			if said := asks(); strings.Contains(said, `"allow"`) {
				t.Errorf("what the person was not asked about runs: %s", said)
			}
			allow()
			if said := asks(); !strings.Contains(said, `"allow"`) {
				t.Errorf("it does not run, though nothing changed: %s", said)
			}
		})
	}
}

func TestContentDigest(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("abc"), 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	for _, path := range []string{file, link} {
		if sum, n, err := contentDigest(path, 3); sum != abc || n != 3 || err != nil {
			t.Errorf("%s: %s, %d, %v", path, sum, n, err)
		}
		if sum, _, err := contentDigest(path, 2); sum != "" || err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, decisions.ErrNoContent) {
			t.Errorf("%s is too long: %q, %v", path, sum, err)
		}
	}
	for _, path := range []string{dir, "/dev/zero"} {
		if sum, _, err := contentDigest(path, 3); sum != "" || !errors.Is(err, decisions.ErrNoContent) {
			t.Errorf("%s: %q, %v", path, sum, err)
		}
	}
	if _, _, err := contentDigest(filepath.Join(dir, "none"), 2); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
