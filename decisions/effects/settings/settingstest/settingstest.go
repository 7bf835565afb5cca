// Package settingstest has what tests of settings share.
package settingstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Index is a list of tracked files of git's.
type Index struct {
	Version string
	Format  string // of the checksums
	Data    []byte
}

// GitIndexes are lists of tracked files with the submodule lib/sub, written by
// git in each of its versions and formats of checksums.
func GitIndexes(t testing.TB) (all []Index) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is missing")
	}
	for _, kind := range []Index{{"2", "sha1", nil}, {"3", "sha1", nil}, {"4", "sha1", nil}, {"2", "sha256", nil}, {"3", "sha256", nil}, {"4", "sha256", nil}} {
		dir, version := t.TempDir(), kind.Version
		run := func(args ...string) {
			t.Helper()
			cmd := exec.Command(git, args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
		}
		run("init", "-q", "--object-format="+kind.Format)
		for _, name := range []string{"a.txt", "lib/z.txt", "zz/y.txt"} {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run("add", ".")
		run("update-index", "--add", "--cacheinfo", "160000,e78c95773254a2e20915c292b4c3752d53bcf9a3"+map[string]string{"sha256": "e78c95773254a2e20915c292"}[kind.Format]+",lib/sub")
		if version == "3" {
			run("add", "-N", "zz/y.txt") // a flag that only version 3 has
		}
		run("update-index", "--index-version", version)
		if kind.Data, err = os.ReadFile(filepath.Join(dir, ".git/index")); err != nil {
			t.Fatal(err)
		}
		all = append(all, kind)
	}
	return all
}
