package decisions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// BenchmarkLinks looks for the links that grep -R follows in a project with packages, as
// each call does: of a tree that was not walked before, and again.
func BenchmarkLinks(b *testing.B) {
	for _, folders := range []int{2_000, 20_000, 200_000} {
		b.Run(fmt.Sprint(folders), func(b *testing.B) {
			if folders > 100_000 && testing.Short() {
				b.Skip("long: it makes 200,000 folders")
			}
			root := packages(b, folders)
			index := paths.NewIndex(paths.OSFS{}, time.Now)
			look := func() (n int, complete bool) {
				r := paths.NewResolver(paths.Environment{FS: recorderOf(index)}, &effects.Call{Cwd: root, User: effects.User{Home: filepath.Dir(root)}})
				links, complete := r.Links(root, &paths.LinkWalk{})
				return len(links), complete
			}
			began := time.Now()
			n, complete := look()
			first, walks := time.Since(began), 1
			for ; !complete && walks < 3; walks++ {
				n, complete = look()
			}
			for b.Loop() {
				_, complete = look()
			}
			b.ReportMetric(float64(first.Milliseconds()), "ms-first")
			b.ReportMetric(float64(n), "links")
			if !complete {
				walks = 0
			}
			b.ReportMetric(float64(walks), "walks-until-complete")
		})
	}
}

// packages makes a project with so many folders, of which each tenth has a link.
func packages(b *testing.B, folders int) string {
	b.Helper()
	root, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	root = filepath.Join(root, "home/project")
	if err := os.MkdirAll(filepath.Join(root, ".git"), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".git/HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	for n := 0; n < folders; n++ {
		dir := filepath.Join(root, "node_modules", fmt.Sprintf("scope%d/package%d", n/400, n/20), strings.Repeat("lib/", n%4), fmt.Sprintf("part%d", n%20))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		if n%10 == 0 {
			if err := os.Symlink("../link", filepath.Join(dir, "link")); err != nil {
				b.Fatal(err)
			}
		}
	}
	return root
}
