package paths

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestChild: a path that is kept is the same as one that is joined, and there are not more
// than the bounds.
func TestChild(t *testing.T) {
	c := childPaths{byFolder: map[string][]string{}}
	long := "/" + strings.Repeat("a", maxChildPath)
	var at sync.WaitGroup
	for range 4 {
		at.Go(func() {
			for i := range 3 * maxChildFolders {
				for _, dir := range []string{"/", "", "/a", "/a/b", fmt.Sprint("/p", i), long, long[:maxChildPath-5]} {
					for _, name := range []string{".git", "git", "a/.git", "", "/.git", "config", fmt.Sprint("n", i)} {
						if got, want := c.path(dir, name), Joined(dir, name); got != want {
							t.Errorf("path(%q, %q) = %q, want %q", dir, name, got, want)
						}
					}
				}
			}
		})
	}
	at.Wait()
	if n := len(c.byFolder); n == 0 || n > maxChildFolders {
		t.Errorf("%d folders, want at most %d", n, maxChildFolders)
	}
	for dir, list := range c.byFolder {
		if len(list) > maxChildNames+4 { // each of those that add at the same time one more
			t.Errorf("%d names of %s", len(list), dir)
		}
		for _, p := range list {
			if len(p) > maxChildPath {
				t.Errorf("%d bytes: %s", len(p), p)
			}
		}
	}
}
