// Package mounts looks at files without ever waiting for a file system that does not
// answer, such as one of a server that is gone. A system call that hangs cannot be
// ended. So what lies on a file system that is not known to answer by itself is looked
// at by another goroutine, and its caller waits for it for a short time only.
package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// Files is the file system that is looked at, without protection.
type Files interface {
	effects.FS
	paths.Identifier
	Stamp(path string) (paths.Stamp, error)
}

// patience is how long a caller waits for one look at a remote file system. One that
// answers does so in a few milliseconds.
const patience = 200 * time.Millisecond

// FS is a file system whose looks return within a bounded time. What lies on a local
// file system is looked at directly; on a machine that has only those, FS costs one
// comparison. It is safe for concurrent use.
//
// The root of the machine counts as local whatever it is: permd's own program lies
// there.
type FS struct {
	files Files
	// linked reports whether a folder on the way to a path is a symbolic link, or an
	// error if the kernel cannot say that. It is nil if there is no way to ask.
	linked   func(path string) (bool, error)
	patience time.Duration
	table    atomic.Pointer[table]

	changed chan struct{}

	mu    sync.Mutex
	pools map[string]*pool
	stuck int // looks that nobody waits for any more, of all pools
}

// New returns the file system of this machine, with what is mounted now. Watch keeps
// that up to date.
func New() *FS {
	f := newFS(paths.OSFS{})
	f.linked = linked
	f.table.Store(read())
	return f
}

// Of returns a file system of which the given mount points do not always answer. It is
// for tests.
func Of(files Files, remote ...string) *FS {
	f := newFS(files)
	t := &table{}
	for _, point := range remote {
		t.remote = append(t.remote, mount{key: point, point: point})
	}
	f.table.Store(t)
	return f
}

func newFS(files Files) *FS {
	f := &FS{files: files, patience: patience, pools: map[string]*pool{}, changed: make(chan struct{}, 1)}
	f.table.Store(&table{})
	return f
}

// Lstat implements [effects.FS].
func (f *FS) Lstat(p string) (fs.FileMode, error) {
	t := f.table.Load()
	if len(t.remote) == 0 {
		return f.files.Lstat(p)
	}
	return lookAt(f, t, p, f.files.Lstat)
}

// Readlink implements [effects.FS].
func (f *FS) Readlink(p string) (string, error) {
	t := f.table.Load()
	if len(t.remote) == 0 {
		return f.files.Readlink(p)
	}
	return lookAt(f, t, p, f.files.Readlink)
}

// ReadFile implements [effects.FS].
func (f *FS) ReadFile(p string, limit int64) ([]byte, error) {
	t := f.table.Load()
	if len(t.remote) == 0 {
		return f.files.ReadFile(p, limit)
	}
	return lookAt(f, t, p, func(p string) ([]byte, error) { return f.files.ReadFile(p, limit) })
}

// Holds implements [paths.Comparer].
func (f *FS) Holds(p string, limit int64, text string) (bool, error) {
	by, ok := f.files.(paths.Comparer)
	if !ok {
		data, err := f.ReadFile(p, limit)
		return string(data) == text, err
	}
	t := f.table.Load()
	if len(t.remote) == 0 {
		return by.Holds(p, limit, text)
	}
	return lookAt(f, t, p, func(p string) (bool, error) { return by.Holds(p, limit, text) })
}

// Names implements [effects.FS].
func (f *FS) Names(p string, limit int) ([]fs.DirEntry, error) {
	t := f.table.Load()
	if len(t.remote) == 0 {
		return f.files.Names(p, limit)
	}
	list := func(p string) ([]fs.DirEntry, error) { return f.files.Names(p, limit) }
	if t.holdsMount(p) {
		// Of a name whose type is not in the folder, the type is looked up, and the
		// name may be that of a mount point.
		return await(f, mount{key: p, point: p}, f.patience, p, list)
	}
	return lookAt(f, t, p, list)
}

// Owner implements [effects.FS].
func (f *FS) Owner(p string) (uint32, error) {
	t := f.table.Load()
	if len(t.remote) == 0 {
		return f.files.Owner(p)
	}
	return lookAt(f, t, p, f.files.Owner)
}

// Stamp returns when the names in a folder changed last, as that of [paths.OSFS].
func (f *FS) Stamp(p string) (paths.Stamp, error) {
	t := f.table.Load()
	if len(t.remote) == 0 {
		return f.files.Stamp(p)
	}
	return lookAt(f, t, p, f.files.Stamp)
}

// KeepsStamps reports whether each change in a folder is known to change its stamp. Some
// file systems of other machines and processes have no time of the change that programs
// cannot set.
func (f *FS) KeepsStamps(p string) bool { return f.table.Load().keepsStamps(p) }

// Identity implements [paths.Identifier].
func (f *FS) Identity(p string) (paths.Identity, error) {
	t := f.table.Load()
	if len(t.remote) == 0 {
		return f.files.Identity(p)
	}
	return lookAt(f, t, p, f.files.Identity)
}

// Look does something else with what a path leads to, all links followed. It may still
// do it when Look has returned.
func Look[T any](f *FS, p string, do func(string) (T, error)) (T, error) {
	t := f.table.Load()
	if len(t.remote) == 0 {
		return do(p)
	}
	var none T
	if p != path.Clean(p) {
		return none, errNotClean
	}
	// The last component is resolved as if it were a folder.
	to, err := f.real(t, p+"/.")
	if err != nil {
		return none, err
	}
	return direct(f, t, path.Clean(to), do)
}

// lookAt looks at a path: directly, if all that the kernel passes on the way to it is
// local.
func lookAt[T any](f *FS, t *table, p string, do func(string) (T, error)) (T, error) {
	var none T
	if p != path.Clean(p) {
		return none, errNotClean
	}
	if m := t.of(p); m != nil {
		return await(f, *m, f.patience, p, do)
	}
	if f.linked != nil {
		if links, err := f.linked(p); err == nil && !links {
			return do(p)
		}
	}
	to, err := f.real(t, p)
	if err != nil {
		return none, err
	}
	return direct(f, t, to, do)
}

var (
	errNotClean = errors.New("the path is not clean")
	errLinks    = fmt.Errorf("too many links, or links in a circle: %w", syscall.ELOOP)
	errMagic    = errors.New("a link below /proc is no path")
)

// maxLinks is how many links are followed for one path, as in the kernel.
const maxLinks = 40

// real resolves the links of all folders on the way to a path, each component by a
// look of its own, as the kernel would do without a time limit. With an error it
// returns how far it came.
func (f *FS) real(t *table, p string) (string, error) {
	at, rest := "/", p[1:]
	for links := 0; ; {
		name, more := first(rest)
		next := paths.Joined(at, name)
		switch {
		case name == "..":
			at, rest = path.Dir(at), more
			continue
		case more == "":
			return next, nil
		case name == "." || name == "":
			rest = more
			continue
		}
		mode, err := direct(f, t, next, f.files.Lstat)
		if err != nil {
			return next, err
		}
		rest = more
		if mode&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if t.magic(next) {
			return next, errMagic
		}
		if links++; links > maxLinks {
			return next, errLinks
		}
		target, err := direct(f, t, next, f.files.Readlink)
		switch {
		case err != nil:
			return next, err
		case target == "":
			return next, errLinks
		case target[0] == '/':
			at = "/"
		}
		if rest = target + "/" + more; len(rest) > paths.MaxPath {
			return next, errLinks
		}
	}
}

// first cuts the first component off a path without a leading slash. more is "" only
// after the last one.
func first(rest string) (name, more string) {
	for i := range len(rest) {
		if rest[i] == '/' {
			return rest[:i], rest[i+1:]
		}
	}
	return rest, ""
}

// direct looks at a path whose folders are no links.
func direct[T any](f *FS, t *table, p string, do func(string) (T, error)) (T, error) {
	if m := t.of(p); m != nil {
		return await(f, *m, f.patience, p, do)
	}
	return do(p)
}
