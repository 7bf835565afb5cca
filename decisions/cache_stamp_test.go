package decisions

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects/paths"
)

// TestCachedStamps: where the file system says when a folder has changed, its names are
// not read again until then, and each change is noticed. The content of files is
// always compared.
func TestCachedStamps(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"a name more":     func(dir string) error { return os.WriteFile(filepath.Join(dir, "-n.md"), nil, 0o600) },
		"a name less":     func(dir string) error { return os.Remove(filepath.Join(dir, "b.md")) },
		"another name":    func(dir string) error { return os.Rename(filepath.Join(dir, "b.md"), filepath.Join(dir, "c.md")) },
		"another type":    func(dir string) error { return os.Rename(filepath.Join(dir, "link"), filepath.Join(dir, "b.md")) },
		"another content": func(dir string) error { return os.WriteFile(filepath.Join(dir, ".git/config"), []byte("[a]\n"), 0o600) },
		"no content":      func(dir string) error { return os.Truncate(filepath.Join(dir, ".git/config"), 0) },
		"no file":         func(dir string) error { return os.Remove(filepath.Join(dir, ".git/config")) },
	} {
		t.Run(name, func(t *testing.T) {
			p, _, _, e := newCached(t)
			// Stamps of folders that were just made are trusted at once.
			e.fs = paths.NewIndex(paths.OSFS{}, func() time.Time { return time.Now().Add(time.Hour) })
			req := bash(t, "cat *.md && git status")
			dir := req.Call.Cwd
			if err := os.MkdirAll(filepath.Join(dir, ".git/objects/pack"), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a.md", "b.md", ".git/HEAD", ".git/config"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("[core]\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("a.md", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				if _, asked := p.again(t, e, req); asked != (n == 0) {
					t.Errorf("rules were asked is %v at time %d", asked, n)
				}
			}
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			if _, asked := p.again(t, e, req); !asked {
				t.Error("after the change rules were not asked")
			}
		})
	}
}
