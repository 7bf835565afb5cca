// Package settingstest has what tests of settings share.
package settingstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// GitIndexes are lists of tracked files with the submodule lib/sub, written by
// git in each of its versions.
func GitIndexes(t testing.TB) map[string][]byte {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is missing")
	}
	all := map[string][]byte{}
	for _, version := range []string{"2", "3", "4"} {
		dir := t.TempDir()
		run := func(args ...string) {
			t.Helper()
			cmd := exec.Command(git, args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
		}
		run("init", "-q")
		for _, name := range []string{"a.txt", "lib/z.txt", "zz/y.txt"} {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run("add", ".")
		run("update-index", "--add", "--cacheinfo", "160000,e78c95773254a2e20915c292b4c3752d53bcf9a3,lib/sub")
		if version == "3" {
			run("add", "-N", "zz/y.txt") // a flag that only version 3 has
		}
		run("update-index", "--index-version", version)
		if all[version], err = os.ReadFile(filepath.Join(dir, ".git/index")); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
