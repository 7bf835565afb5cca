package paths

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/internal/lexpath"
)

// TestLinks: a program that follows links finds all those of the folders that it walks,
// however deep and whatever the folders are called. A walk that ends at a bound says so.
func TestLinks(t *testing.T) {
	const project = "/home/ana/p"
	deep := strings.Repeat("/d", 40)
	for name, tt := range map[string]struct {
		fs       func(*fsfake.FS)
		dir      string
		links    []string
		complete bool
	}{
		"none":                  {func(*fsfake.FS) {}, "src", nil, true},
		"a file":                {func(f *fsfake.FS) { f.File(project+"/src", "") }, "src", nil, true},
		"packages":              {func(f *fsfake.FS) { f.Link(project+"/node_modules/a/l", "x") }, "node_modules", []string{"node_modules/a/l"}, true},
		"below packages":        {func(f *fsfake.FS) { f.Link(project+"/src/vendor/l", "x") }, "src", []string{"src/vendor/l"}, true},
		"of the repository":     {func(f *fsfake.FS) { f.Link(project+"/.git/l", "x") }, "", []string{".git/l"}, true},
		"deep":                  {func(f *fsfake.FS) { f.Link(project+"/src"+deep+"/l", "x") }, "src", []string{"src" + deep + "/l"}, true},
		"elsewhere":             {func(f *fsfake.FS) { f.Link(project+"/docs/l", "x") }, "src", nil, true},
		"a folder of somebody":  {func(f *fsfake.FS) { f.Deny(project+"/src/locked").Link(project+"/src/l", "x") }, "src", []string{"src/l"}, true},
		"too many in one":       {func(f *fsfake.FS) { many(f, project+"/src/%d", maxFolderNames+1, false) }, "src", nil, false},
		"as many links":         {func(f *fsfake.FS) { many(f, project+"/src/%d", maxWalkedLinks, true) }, "src", numbered("src/%d", maxWalkedLinks), true},
		"too many links":        {func(f *fsfake.FS) { many(f, project+"/src/%d", maxWalkedLinks+1, true) }, "src", nil, false},
		"no folder of sessions": {func(f *fsfake.FS) { f.Link("/opt/l", "x") }, "/opt", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			fs := fsfake.New(project+"/.git/HEAD", project+"/a")
			tt.fs(fs)
			r := NewResolver(Environment{FS: fs}, &effects.Call{Cwd: project, User: effects.User{UID: 1000, Home: "/home/ana"}})
			dir := tt.dir
			if !strings.HasPrefix(dir, "/") {
				dir = strings.TrimSuffix(project+"/"+dir, "/")
			}
			links, complete := r.Links(dir, &LinkWalk{})
			if complete != tt.complete {
				t.Errorf("complete: %v, want %v", complete, tt.complete)
			}
			for i := range links {
				if rel, ok := lexpath.RelBelow(project, links[i]); ok {
					links[i] = rel
				}
			}
			if tt.complete && !slices.Equal(links, tt.links) {
				t.Errorf("%q, want %q", links, tt.links)
			}
		})
	}
}

func many(f *fsfake.FS, pattern string, n int, links bool) {
	for _, p := range numbered(pattern, n) {
		if links {
			f.Link(p, "x")
		} else {
			f.File(p, "")
		}
	}
}

func numbered(pattern string, n int) []string {
	all := make([]string, n)
	for i := range n {
		all[i] = fmt.Sprintf(pattern, i)
	}
	slices.Sort(all)
	return all
}
