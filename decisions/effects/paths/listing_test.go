package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestListingIsNew: an index never uses names of a folder that are older than the call.
func TestListingIsNew(t *testing.T) {
	dir := t.TempDir()
	now := time.Now() // all changes are later
	x := NewIndex(OSFS{}, func() time.Time { return now })
	check := func(want string) {
		t.Helper()
		for range 2 {
			l, _, err := x.Listing(dir, 10)
			if err != nil || l.Text != want || len(l.Entries) != strings.Count(want, "/") {
				t.Fatalf("%+v, %v, want %q", l, err, want)
			}
			if want != "" && (Joined("", l.Entries[0].Name()) != "/"+strings.Split(strings.Split(want, "/")[1], "\x00")[0]) {
				t.Fatalf("entry %q, want the first of %q", l.Entries[0].Name(), want)
			}
		}
	}
	check("")
	for range 20 {
		file := filepath.Join(dir, "a")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		check("0/a")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		check("")
	}
	if len(x.listings.young) != 0 {
		t.Fatal("a listing is kept of a folder that changed a moment ago")
	}
	now = time.Now().Add(2 * minStampAge)
	check("")
	if len(x.listings.young) != 1 {
		t.Fatal("nothing is kept of a folder that rests")
	}
	if err := os.Symlink("x", filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	check("8000000/a")
	if err := os.Mkdir(filepath.Join(dir, "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	check("8000000/a\x0080000000/b")
	if _, _, err := x.Listing(filepath.Join(dir, "nothing"), 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, _, err := x.Listing(filepath.Join(dir, "a"), 10); err == nil {
		t.Error("a link was followed")
	}
}

// TestListingBounds: too many names are an error, also if they are kept, and what is kept is bounded.
func TestListingBounds(t *testing.T) {
	x := NewIndex(OSFS{}, func() time.Time { return time.Now().Add(time.Hour) })
	dir := t.TempDir()
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{3, 2, 3} {
		if _, _, err := x.Listing(dir, limit); (err == nil) != (limit == 3) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	var s listings
	for i := range 4000 {
		entries := make([]fs.DirEntry, i%100)
		for n := range entries {
			entries[n] = &listedEntry{name: fmt.Sprint("name", n)}
		}
		l := newListing(entries)
		s.add(fmt.Sprint("/folder", i%2000), keptListing{listing: l})
		bytes := 0
		for path, k := range s.young {
			bytes += 128 + len(path) + k.listing.size()
		}
		if bytes != s.bytes || bytes > maxListingsBytes {
			t.Fatalf("%d bytes are counted, %d are kept", s.bytes, bytes)
		}
	}
}

// TestLacks: a name is missing only if no file system takes one of the others for it.
func TestLacks(t *testing.T) {
	for _, c := range []struct {
		names, name string
		want        bool
	}{
		{"", "config", true},
		{"HEAD config.worktree confi", "config", true},
		{"HEAD config", "config", false},
		{"HEAD CONFIG", "config", false},
		{"Config", "config", false},
		{"con\u200cfig", "config", false}, // HFS+ ignores it
		{"ﬁ", "fi", false},
		{"x", "..", false},
		{"x", ".", false},
		{"x", "", false},
		{"x", "a~1", false},      // the short name of another
		{"x", "x:stream", false}, // part of another
		{"x", "x.", false},
		{"x", "y ", false},
		{"x", "é", false},
	} {
		var entries []fs.DirEntry
		for name := range strings.FieldsSeq(c.names) {
			entries = append(entries, &listedEntry{name: name})
		}
		if got := newListing(entries).Lacks(c.name); got != c.want {
			t.Errorf("%q lacks %q: %v, want %v", c.names, c.name, got, c.want)
		}
	}
}
