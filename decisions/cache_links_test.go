package decisions

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// TestLinksAmongPackages: a search that follows links, of a project with thousands of
// folders, asks nothing as long as no link leads elsewhere; the first one that does is
// seen by the next call, wherever it was made, and with an earlier decision at hand.
func TestLinksAmongPackages(t *testing.T) {
	p, _, _, e := newCached(t)
	// Stamps of folders that were just made are trusted at once.
	e.fs = paths.NewIndex(paths.OSFS{}, func() time.Time { return time.Now().Add(time.Hour) })
	root, err := filepath.EvalSymlinks(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	folders := 4200
	if testing.Short() { // long: thousands
		folders = 800
	}
	for n := range folders {
		if err := os.MkdirAll(fmt.Sprintf("%s/node_modules/a%d/b%d", root, n/100, n%100), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	req := bashIn(root, "grep -R x .")
	reads := func(step string, want ...string) {
		t.Helper()
		d, _ := p.again(t, e, req)
		var got []string
		for _, eff := range d.Effects {
			if eff.Kind == effects.KindUnknown {
				t.Errorf("%s: %s", step, eff.Text)
			}
			if eff.Kind == effects.KindRead && !slices.Contains(eff.Tags, "in_project") {
				text, _, _ := strings.Cut(eff.Text, " (given as ")
				got = append(got, text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: reads %q, want %q", step, got, want)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	reads("first")
	if _, asked := p.again(t, e, req); asked {
		t.Error("rules were asked again")
	}
	link := root + "/node_modules/a7/b8/note"
	do(os.Symlink("/canary/note", link))
	reads("a link to what is not there")
	target := filepath.Join(t.TempDir(), "note")
	do(os.WriteFile(target, nil, 0o600))
	do(os.Remove(link))
	do(os.Symlink(target, link))
	reads("another target", "read "+target)
	do(os.Rename(root+"/node_modules/a7/b8", root+"/b8"))
	reads("a folder that was moved", "read "+target)
	do(os.RemoveAll(root + "/b8"))
	reads("gone")
}
