package settings

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSettingsBounds(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "hoist-pattern[]=x%d\n", i)
		}
		return b.String()
	}
	s := &Format{read: readNpmrc, harmless: []harmlessSetting{{path: []string{"hoist-pattern", "**"}}}}
	if !s.plain(nil, []byte(many(maxSettings))) || s.plain(nil, []byte(many(maxSettings+1))) {
		t.Error("the number of entries is not bounded")
	}
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	j := &Format{read: readJSON, harmless: []harmlessSetting{{path: []string{"a", "**"}}}}
	if !j.plain(nil, []byte(deep(maxNested))) || j.plain(nil, []byte(deep(maxNested+1))) {
		t.Error("the depth is not bounded")
	}
}

func FuzzSettings(f *testing.F) {
	for _, text := range []string{
		"include-workspace-root=true\n//r.example/:_authToken=x\n", "[build]\nrustflags = [\"-O\"]\n", "a:\n  b: [1, c]\n", `{"a":{"b":[1,"c"]}}`,
		"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n", "module x\n\nrequire a.b/c v1.0.0\n", "A=b\nexport C='d'\n", "3.12\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, ok := plainText(data)
		if !ok {
			return
		}
		for name, read := range readers {
			list, err := read(text)
			if err != nil {
				continue
			}
			for _, e := range list {
				if len(e.path) == 0 {
					t.Errorf("%s: an entry that stands nowhere: %q", name, e.value)
				}
			}
		}
	})
}

func TestGitLinks(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is missing")
	}
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
		data, err := os.ReadFile(filepath.Join(dir, ".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		links, ok := gitLinks(data)
		if !ok || len(links) != 1 || links[0] != "lib/sub" {
			t.Errorf("version %s: %q, %v", version, links, ok)
		}
		for n := range data {
			gitLinks(data[:n]) // does not panic
		}
		if _, ok := gitLinks(append(slices.Clone(data), "sdir\x00\x00\x00\x00"...)); ok {
			t.Errorf("version %s: a sparse index is read", version)
		}
	}
}
