package paths

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/internal/lexpath"
)

func always() bool { return true }

// walkedFS is a file system in memory whose folders get another stamp with each change
// of their names, as those of a kernel do.
type walkedFS struct {
	stampedFS
	all map[string]fs.FileMode
}

func newWalkedFS() *walkedFS {
	return &walkedFS{stampedFS{FS: fsfake.New("/p/"), stamp: Stamp{File: 1}, changed: map[string]uint64{}}, map[string]fs.FileMode{"/p": fs.ModeDir}}
}

func (f *walkedFS) add(p string, mode fs.FileMode) {
	switch mode {
	case fs.ModeDir:
		f.Dir(p)
		f.changed[p] += 1 << 32 // another one than was there before
	case fs.ModeSymlink:
		f.Link(p, "x")
	default:
		f.File(p, "")
	}
	f.all[p] = mode
	f.changed[path.Dir(p)]++
}

func (f *walkedFS) remove(p string) {
	f.Remove(p)
	for have := range f.all {
		if lexpath.In(p, have) {
			delete(f.all, have)
		}
	}
	f.changed[path.Dir(p)]++
}

// links returns all links, found without any index.
func (f *walkedFS) links() (all []string) {
	for p, mode := range f.all {
		if mode == fs.ModeSymlink {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// TestLinkTreeChanges: whatever is made, removed and replaced between two walks, the
// second one finds what is there; and if nothing is, it reads no folder.
func TestLinkTreeChanges(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := newWalkedFS()
		x := NewIndex(f, func() time.Time { return time.Unix(1e9, 0) })
		for step := range 150 {
			for range r.IntN(4) {
				var dirs, below []string
				for p, mode := range f.all {
					if mode == fs.ModeDir {
						dirs = append(dirs, p)
					}
					if p != "/p" {
						below = append(below, p)
					}
				}
				slices.Sort(dirs)
				slices.Sort(below)
				if len(below) > 0 && r.IntN(5) == 0 {
					f.remove(below[r.IntN(len(below))])
					continue
				}
				p := dirs[r.IntN(len(dirs))] + "/" + string(rune('a'+r.IntN(5)))
				f.remove(p)
				f.add(p, []fs.FileMode{fs.ModeDir, fs.ModeDir, fs.ModeSymlink, 0}[r.IntN(4)])
			}
			busy := r.IntN(4) == 0 // somebody else's walk is kept
			if busy {
				x.walking.Lock()
			}
			got, err := x.LinksBelow("/p", always)
			if busy {
				x.walking.Unlock()
			}
			slices.Sort(got.Paths)
			if diff := cmp.Diff(f.links(), got.Paths); diff != "" || err != nil || got.Incomplete || got.Denied {
				t.Fatalf("seed %d, step %d: incomplete %v, %v (-want +got)\n%s", seed, step, got.Incomplete, err, diff)
			}
			before := f.names
			if again, _ := x.LinksBelow("/p", always); !busy && f.names != before || again.Text() == "?" {
				t.Fatalf("seed %d, step %d: %d folders were read again", seed, step, f.names-before)
			}
		}
	}
}

// TestLinkTreeYoung: a folder that has changed just before it was read is read again, as
// a link may be made without another change of its stamp.
func TestLinkTreeYoung(t *testing.T) {
	now := time.Unix(1e9, 5)
	for name, tt := range map[string]struct {
		changed time.Time
		again   int
	}{
		"old":                        {now.Add(-time.Second), 0},
		"a moment ago":               {now.Add(-minStampAge), 1},
		"in the future":              {now.Add(time.Hour), 1},
		"whole seconds":              {now.Add(-2 * time.Second).Truncate(time.Second), 1},
		"whole seconds, long before": {now.Add(-time.Minute).Truncate(time.Second), 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWalkedFS()
			f.stamp.Changed = tt.changed.UnixNano()
			x := NewIndex(f, func() time.Time { return now })
			for range 2 {
				f.names = 0
				if _, err := x.LinksBelow("/p", always); err != nil {
					t.Fatal(err)
				}
			}
			if f.names != tt.again {
				t.Errorf("%d folders were read again, want %d", f.names, tt.again)
			}
		})
	}
}

// TestLinkTreeBounds: beyond its bounds a tree is not walked, for a while; what is at a
// bound is complete.
func TestLinkTreeBounds(t *testing.T) {
	for name, tt := range map[string]struct {
		make  func(f *fsfake.FS, n int)
		bound int
	}{
		"names": {func(f *fsfake.FS, n int) { many(f, "/p/%d", n, false) }, maxFolderNames},
		"links": {func(f *fsfake.FS, n int) {
			for i := range n {
				f.Link(fmt.Sprintf("/p/%d/%d", i/1000, i), "x")
			}
		}, maxTreeLinks},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1e9, 0)
			f := &stampedFS{FS: fsfake.New("/p/"), stamp: Stamp{File: 1}}
			x := NewIndex(f, func() time.Time { return now })
			tt.make(f.FS, tt.bound)
			if got, err := x.LinksBelow("/p", always); got.Incomplete || err != nil {
				t.Errorf("at the bound: %v", err)
			}
			tt.make(f.FS, tt.bound+1)
			f.stamp.File++
			if got, err := x.LinksBelow("/p", always); !got.Incomplete || err != nil {
				t.Errorf("beyond the bound: complete, %v", err)
			}
			f.names = 0
			if got, _ := x.LinksBelow("/p", always); !got.Incomplete || f.names > 0 {
				t.Errorf("a moment later: incomplete %v, %d folders read", got.Incomplete, f.names)
			}
			f.Remove("/p")
			tt.make(f.FS, 1)
			now = now.Add(tooLargeFor)
			if got, err := x.LinksBelow("/p", always); got.Incomplete || err != nil {
				t.Errorf("when it has become smaller: %v", err)
			}
		})
	}
}

// endless is a folder with a folder in it, and so on, each with a link; it takes some
// time to look at each.
type endless struct {
	walkedFS
	clock time.Time
	took  time.Duration
	deny  string
	err   error
}

func (e *endless) Stamp(string) (Stamp, error) {
	e.clock = e.clock.Add(e.took)
	return Stamp{File: 1, Changed: 5}, nil
}

func (e *endless) Names(p string, _ int) ([]fs.DirEntry, error) {
	e.names++
	e.clock = e.clock.Add(e.took)
	if p == e.deny {
		return nil, e.err
	}
	if strings.Count(p, "/") > 400 {
		return nil, nil
	}
	return fsfake.New("/d/d/", "/d/l -> x").Names("/d", 2)
}

// TestLinkTreeFolders: a tree with too many folders is not walked to its end.
func TestLinkTreeFolders(t *testing.T) {
	f := &wide{}
	x := NewIndex(f, func() time.Time { return time.Unix(1e9, 0) })
	for _, want := range []int{maxTreeFolders, 0} {
		f.names = 0
		if got, err := x.LinksBelow("/p", always); !got.Incomplete || err != nil || f.names != want {
			t.Errorf("%d folders read, want %d; incomplete %v, %v", f.names, want, got.Incomplete, err)
		}
	}
}

// wide is a million folders.
type wide struct {
	stampedFS
	list [100]fs.DirEntry
}

func (w *wide) Stamp(string) (Stamp, error) { return Stamp{File: 1, Changed: 5}, nil }

func (w *wide) Names(p string, _ int) ([]fs.DirEntry, error) {
	w.names++
	if strings.Count(p, "/") > 3 {
		return nil, nil
	}
	if w.list[0] == nil {
		f := fsfake.New()
		for n := range w.list {
			f.Dir(fmt.Sprintf("/%d", n))
		}
		names, err := f.Names("/", len(w.list))
		if err != nil {
			return nil, err
		}
		copy(w.list[:], names)
	}
	return w.list[:], nil
}

// TestLinkTreeTime: a walk ends in time and says that it is not complete; the next one
// goes on where it has ended.
func TestLinkTreeTime(t *testing.T) {
	f := &endless{clock: time.Unix(1e9, 0), took: 5 * time.Millisecond}
	x := NewIndex(f, func() time.Time { return f.clock })
	read := 0
	for step := 1; ; step++ {
		began := f.clock
		got, err := x.LinksBelow("/p", always)
		if took := f.clock.Sub(began); err != nil || took > maxLinkWalk+3*foldersPerCheck*f.took {
			t.Fatalf("it took %v, %v", took, err)
		}
		if !got.Incomplete {
			if len(got.Paths) != 400 || step < 3 {
				t.Errorf("%d links after %d walks", len(got.Paths), step)
			}
			break
		}
		if f.names == read || step > 10 {
			t.Fatalf("the walk does not go on after %d folders", read)
		}
		read = f.names
		f.took = f.took * 3 / 4 // as it is in the cache of the kernel now
	}
	// One whose stamps cannot be read in time is left alone for a while.
	f.took = maxLinkWalk / 100
	for _, c := range []struct{ pause, most time.Duration }{{0, 2 * maxLinkWalk}, {0, 0}, {tooSlowFor, 2 * maxLinkWalk}} {
		f.clock = f.clock.Add(c.pause)
		began := f.clock
		got, _ := x.LinksBelow("/p", always)
		if took := f.clock.Sub(began); !got.Incomplete || took > c.most || c.most > 0 && took == 0 {
			t.Errorf("incomplete: %v, after %v", got.Incomplete, took)
		}
	}
	calls := 0
	if got, _ := NewIndex(f, func() time.Time { return f.clock }).LinksBelow("/p", func() bool { calls++; return false }); !got.Incomplete || calls != 1 {
		t.Errorf("incomplete: %v, after %d questions whether there is time", got.Incomplete, calls)
	}
}

// TestLinkTreeErrors: what cannot be read makes a walk incomplete, and is tried again.
func TestLinkTreeErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error
		want   Links
		failed bool
	}{
		"forbidden": {fs.ErrPermission, Links{Paths: []string{"/p/l"}, Denied: true}, false},
		"gone":      {fs.ErrNotExist, Links{Paths: []string{"/p/l"}}, false},
		"an error":  {syscall.EIO, Links{Incomplete: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &endless{clock: time.Unix(1e9, 0), deny: "/p/d", err: tt.err}
			x := NewIndex(f, func() time.Time { return f.clock })
			for range 2 {
				got, err := x.LinksBelow("/p", always)
				if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != tt.failed {
					t.Errorf("%v (-want +got)\n%s", err, diff)
				}
			}
			f.deny = ""
			if got, err := x.LinksBelow("/p", always); len(got.Paths) != 400 || got.Denied || err != nil {
				t.Errorf("afterwards: %d links, %v", len(got.Paths), err)
			}
		})
	}
}

// mountedFS has file systems whose stamps are not to be trusted: all of it, or what is
// mounted at a folder.
type mountedFS struct {
	walkedFS
	all   bool
	point string
}

func (m *mountedFS) KeepsStamps(string) bool { return !m.all }

func (m *mountedFS) Stamp(p string) (Stamp, error) {
	stamp, err := m.walkedFS.Stamp(p)
	if p == m.point {
		stamp.Device++
	}
	return stamp, err
}

// TestLinkTreeOfMounts: folders of file systems that may keep the stamp of a folder when
// it changes are read each time.
func TestLinkTreeOfMounts(t *testing.T) {
	for name, tt := range map[string]struct {
		all   bool
		point string
		again int
	}{
		"none": {false, "", 0}, "a folder": {false, "/p/a", 1}, "all": {true, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := &mountedFS{*newWalkedFS(), tt.all, tt.point}
			f.add("/p/a", fs.ModeDir)
			x := NewIndex(f, func() time.Time { return time.Unix(1e9, 0) })
			for range 2 {
				f.names = 0
				if got, err := x.LinksBelow("/p", always); err != nil || got.Incomplete {
					t.Error(got, err)
				}
			}
			if f.names != tt.again {
				t.Errorf("%d folders were read again, want %d", f.names, tt.again)
			}
			f.Link("/p/a/l", "x") // the stamps stay
			if got, _ := x.LinksBelow("/p", always); len(got.Paths) != min(tt.again, 1) {
				t.Errorf("links %q", got.Paths)
			}
		})
	}
}

// TestLinkTreesKept: only so many trees, with so many folders, are kept: those that were
// used last.
func TestLinkTreesKept(t *testing.T) {
	x := NewIndex(fsfake.New(), time.Now)
	for i := range maxTrees + 1 {
		x.keepTree(&linkTree{dir: fmt.Sprint(i)})
		x.keptTree("0")
	}
	if x.keptTree("0") == nil || x.keptTree("1") != nil || len(x.trees) != maxTrees {
		t.Errorf("%d trees are kept", len(x.trees))
	}
	x.keepTree(&linkTree{dir: "a", folders: make([]linkFolder, maxKeptFolders)})
	if len(x.trees) != maxTrees {
		t.Errorf("%d trees are kept, of which one has folders", len(x.trees))
	}
	x.keepTree(&linkTree{dir: "b", folders: make([]linkFolder, maxTreeFolders)})
	if x.keptTree("a") != nil || x.keptTree("b") == nil {
		t.Error("too many folders are kept")
	}
}

// TestLinksText: all of a search is in its text.
func TestLinksText(t *testing.T) {
	for _, want := range []Links{{}, {Incomplete: true}, {Denied: true}, {Paths: []string{"/a"}}, {[]string{"/a", "/b/?"}, true, true}} {
		if diff := cmp.Diff(want, LinksOf(want.Text())); diff != "" {
			t.Errorf("%s", diff)
		}
	}
}
