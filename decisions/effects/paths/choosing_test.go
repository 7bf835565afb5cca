package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestChoosingBounds: the names of one folder, and those that an index keeps, are
// bounded.
func TestChoosingBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it makes thousands of files")
	}
	f := fsfake.New()
	for i := range maxChoosing {
		f.File(fmt.Sprintf("/a/.x%d", i), "")
	}
	if names, err := Choosing(f, "/a"); err != nil || len(names) != maxChoosing {
		t.Errorf("%d names, %v", len(names), err)
	}
	f.File("/a/.one-more", "")
	if _, err := Choosing(f, "/a"); err == nil {
		t.Error("no error for a folder with too many names")
	}
	x := NewIndex(OSFS{}, func() time.Time { return time.Now().Add(time.Hour) })
	dir := t.TempDir()
	for i := range maxShimFolders + 1 {
		sub := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Choosing(sub); err != nil {
			t.Fatal(err)
		}
	}
	if len(x.choices) != 1 {
		t.Errorf("%d folders are kept", len(x.choices))
	}
}

// TestChoosingIsNew: an index never uses names of a folder that are older than the
// call.
func TestChoosingIsNew(t *testing.T) {
	later := time.Duration(0)
	x := NewIndex(OSFS{}, func() time.Time { return time.Now().Add(later) })
	dir := t.TempDir()
	check := func(want ...string) {
		t.Helper()
		for range 2 {
			if names, err := x.Choosing(dir); err != nil || !slices.Equal(names, want) {
				t.Fatalf("%q, %v, want %q", names, err, want)
			}
		}
	}
	check()
	for range 20 {
		file := filepath.Join(dir, ".tool-versions")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		check(".tool-versions")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		check()
	}
	later = 2 * minStampAge
	check()
	if len(x.choices) != 1 {
		t.Fatal("nothing is kept of a folder that rests")
	}
	later = 0
	if err := os.WriteFile(filepath.Join(dir, "mise.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check("mise.toml")
	if err := os.Rename(filepath.Join(dir, "mise.toml"), filepath.Join(dir, ".mise.toml")); err != nil {
		t.Fatal(err)
	}
	check(".mise.toml")
	if _, err := x.Choosing(filepath.Join(dir, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
