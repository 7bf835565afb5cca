package decisions

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/lookups"
)

// stampedFS is a file system whose folders have stamps. It counts what it is asked.
type stampedFS struct {
	effects.FS
	files, dirs map[string]int64 // dirs with their stamps
	now         int64
	// young are folders that have changed so lately that the next change may leave their stamp as
	// it is.
	young map[string]bool
	asked int
}

func (f *stampedFS) Lstat(p string) (fs.FileMode, error) {
	f.asked++
	if _, ok := f.files[p]; ok {
		return 0o644, nil
	}
	if _, ok := f.dirs[p]; ok {
		return fs.ModeDir | 0o755, nil
	}
	return 0, fs.ErrNotExist
}

func (f *stampedFS) Stamp(p string) (paths.Stamp, error) {
	f.asked++
	if changed, ok := f.dirs[p]; ok {
		return paths.Stamp{Device: 1, File: uint64(len(p)), Changed: changed}, nil
	}
	return paths.Stamp{}, fs.ErrNotExist
}

func (f *stampedFS) OldStamp(p string) (paths.Stamp, bool) {
	s, err := f.Stamp(p)
	return s, err == nil && !f.young[p]
}

func (f *stampedFS) Names(p string, _ int) ([]fs.DirEntry, error) {
	f.asked++
	fake := fsfake.New(p + "/")
	for file := range f.files {
		if path.Dir(file) == p {
			fake.File(file, "")
		}
	}
	if _, ok := f.dirs[p]; !ok {
		return nil, fs.ErrNotExist
	}
	for dir := range f.dirs {
		if path.Dir(dir) == p && dir != "/" {
			fake.Dir(dir)
		}
	}
	return fake.Names(p, 100)
}

// change adds or removes a name, of which the stamp of its folder tells unless it is young.
func (f *stampedFS) change(r *rand.Rand) {
	dirs := slices.Sorted(maps.Keys(f.dirs))
	dir := dirs[r.IntN(len(dirs))]
	p := path.Join(dir, string(rune('a'+r.IntN(4))))
	_, isFile := f.files[p]
	_, isDir := f.dirs[p]
	switch {
	case isFile:
		delete(f.files, p)
	case isDir:
		for below := range f.dirs {
			if path.Dir(below) == p {
				return // it is not empty
			}
		}
		for below := range f.files {
			if path.Dir(below) == p {
				return
			}
		}
		delete(f.dirs, p)
	case r.IntN(2) == 0:
		f.files[p] = 0
	default:
		f.now++
		f.dirs[p] = f.now
	}
	if !f.young[dir] {
		f.now++
		f.dirs[dir] = f.now
		f.young[dir] = r.IntN(3) == 0
	}
}

// recorderOf returns a recorder of a call alone, without a deadline.
func recorderOf(fsys effects.FS) *lookups.Recorder {
	r := new(lookups.Recorder)
	r.Begin(context.Background(), fsys, nil)
	return r
}

// TestImplied compares what follows from the stamps of folders with lookups that are all
// repeated, while names come and go at random.
func TestImplied(t *testing.T) {
	const rounds = 300
	spared := 0
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(1, seed))
		f := &stampedFS{files: map[string]int64{}, dirs: map[string]int64{"/": 0}, young: map[string]bool{}}
		for range 12 {
			f.change(r)
		}
		o := recorderOf(f)
		for range 14 {
			p := "/"
			for range r.IntN(4) {
				p = path.Join(p, string(rune('a'+r.IntN(4))))
			}
			switch r.IntN(4) {
			case 0:
				_, _ = o.Names(p, 100)
			default:
				_, _ = o.Lstat(p)
			}
		}
		looks, _, _ := o.Lookups()
		k := &cacheEntry{lookups: looks}
		for range 60 {
			f.asked = 0
			got := k.same(t.Context(), f)
			taken := f.asked
			f.asked = 0
			want := lookups.Unchanged(t.Context(), f, k.lookups, 0)
			if got != want {
				t.Fatalf("seed %d: the same is %v, want %v: %+v", seed, got, want, k.lookups)
			}
			if want {
				spared += f.asked - taken
			}
			switch {
			case !want || r.IntN(4) == 0:
				f.change(r)
			case r.IntN(4) == 0:
				clear(f.young)
			}
		}
	}
	if spared <= 0 {
		t.Errorf("%d lookups are spared", spared)
	}
}

// TestImpliedLooks: of what is missing in two folders, one look at each is left.
func TestImpliedLooks(t *testing.T) {
	f := &stampedFS{files: map[string]int64{}, dirs: map[string]int64{"/": 1, "/h": 2, "/h/p": 3}}
	o := recorderOf(f)
	for _, p := range []string{"/h", "/h/p", "/h/p/.git", "/h/p/.git/config", "/h/p/HEAD", "/h/.gitconfig", "/h/.config/git", "/h/.config"} {
		if _, err := o.Lstat(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	looks, _, _ := o.Lookups()
	k := &cacheEntry{lookups: looks}
	for range 2 {
		f.asked = 0
		if !k.same(t.Context(), f) {
			t.Fatal("what has not changed is not the same")
		}
	}
	if f.asked != 2 {
		t.Errorf("%d looks, want one at each folder", f.asked)
	}
}
