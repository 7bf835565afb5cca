package mounts

import (
	"time"

	"github.com/permd/permd/internal/lexpath"
)

// Tree does something with a folder and what is below it, all links of its path
// followed, and waits for that for as long as given where a remote file system is
// involved. With apart set it does not wait for longer for a local one either: whoever
// can write to the folder may make a link of what is being walked. It may still be done
// when Tree has returned.
func Tree[T any](f *FS, dir string, patience time.Duration, apart bool, do func(string) (T, error)) (T, error) {
	if t := f.table.Load(); len(t.remote) > 0 {
		to, err := f.real(t, dir+"/.")
		if err != nil {
			var none T
			return none, err
		}
		if m := t.within(to); m != nil {
			return await(f, *m, patience, dir, do)
		}
	}
	if apart {
		return await(f, mount{key: "folder " + dir, point: dir}, patience, dir, do)
	}
	return do(dir)
}

// Local reports whether a path, all links followed as far as there is something, leads
// to a local file system.
func (f *FS) Local(p string) bool {
	t := f.table.Load()
	if len(t.remote) == 0 {
		return true
	}
	to, _ := f.real(t, p+"/.")
	return to != "" && t.of(to) == nil
}

// within returns a remote mount that a folder lies in, or that lies in the folder; nil
// if there is none.
func (t *table) within(dir string) *mount {
	if m := t.of(dir); m != nil {
		return m
	}
	for i := range t.remote {
		if lexpath.In(dir, t.remote[i].point) {
			return &t.remote[i]
		}
	}
	return nil
}
