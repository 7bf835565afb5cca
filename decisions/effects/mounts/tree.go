package mounts

import (
	"time"

	"github.com/permd/permd/internal/lexpath"
)

// Tree calls do with a folder whose whole tree do reads, and returns its results. If the
// folder, its links followed, is on a remote file system, or has one below it, Tree
// returns after timeout with an error, although do may still run. If always is set, the
// timeout applies to local folders too: a link to another file system may be put into
// the tree while do reads it.
func Tree[T any](f *FS, dir string, timeout time.Duration, always bool, do func(string) (T, error)) (T, error) {
	if t := f.table.Load(); len(t.remote) > 0 {
		to, err := f.real(t, dir+"/.")
		if err != nil {
			var none T
			return none, err
		}
		if m := t.within(to); m != nil {
			return await(f, *m, timeout, dir, do)
		}
	}
	if always {
		return await(f, mount{key: "folder " + dir, point: dir}, timeout, dir, do)
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
