package decisions

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCachedListings: a decision that depends on the names in a folder, as for git
// and patterns, is cached as long as the names are the same.
func TestCachedListings(t *testing.T) {
	for command, added := range map[string]string{
		"git status": ".git/commondir",
		"cat *.md":   "-n.md",
	} {
		t.Run(command, func(t *testing.T) {
			p, _, _, e := newCached(t)
			req := bash(t, command)
			dir := req.Call.Cwd
			if err := os.MkdirAll(filepath.Join(dir, ".git/objects/pack"), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a.md", ".git/HEAD", ".git/config"} {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for n := range 3 {
				if _, asked := p.again(t, e, req); asked != (n == 0) {
					t.Errorf("rules were asked is %v at time %d", asked, n)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, added), []byte("../x"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, asked := p.again(t, e, req); !asked {
				t.Errorf("with %s added, rules were not asked", added)
			}
		})
	}
}
