// Package fsfake is a file system in memory for tests and benchmarks of the
// code that makes effects, and for people's tests of their rules (package calltest). It implements effects.FS and
// nothing more: there are no times, only folders, files, links, devices and
// components that cannot be read. Owners and permissions are only told.
package fsfake

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"syscall"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// FS is a tree in memory. Make one with [New]. It is safe for concurrent use.
type FS struct {
	mu    sync.RWMutex
	nodes map[string]node
	calls int
}

type node struct {
	mode   fs.FileMode
	data   []byte
	target string
	err    error
	uid    uint32
}

// New returns a file system that holds the root folder and the given paths,
// each with its parent folders: "/a/b/" is a folder, "/a/b" a file, and
// "/a/b -> target" a link.
func New(paths ...string) *FS {
	f := &FS{nodes: map[string]node{"/": {mode: fs.ModeDir | 0o755}}}
	for _, p := range paths {
		if link, target, ok := strings.Cut(p, " -> "); ok {
			f.Link(link, target)
		} else if strings.HasSuffix(p, "/") {
			f.Dir(p)
		} else {
			f.File(p, "")
		}
	}
	return f
}

func (f *FS) put(p string, n node) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	p = path.Clean(p)
	if p[0] != '/' {
		panic("fsfake: path is not absolute: " + p)
	}
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		if _, ok := f.nodes[dir]; ok {
			break
		}
		f.nodes[dir] = node{mode: fs.ModeDir | 0o755}
	}
	f.nodes[p] = n
	return f
}

// Dir adds a folder. Like the other methods that add, it makes missing parents,
// replaces what was there and returns f.
func (f *FS) Dir(p string) *FS { return f.put(p, node{mode: fs.ModeDir | 0o755}) }

// File adds a regular file.
func (f *FS) File(p, data string) *FS { return f.put(p, node{mode: 0o644, data: []byte(data)}) }

// Linked adds a regular file that has another name, which is not known.
func (f *FS) Linked(p, data string) *FS {
	return f.put(p, node{mode: 0o644 | effects.ModeLinked, data: []byte(data)})
}

// Link adds a symbolic link; target is stored as written.
func (f *FS) Link(p, target string) *FS {
	return f.put(p, node{mode: fs.ModeSymlink | 0o777, target: target})
}

// Device adds a character device.
func (f *FS) Device(p string) *FS {
	return f.put(p, node{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666})
}

// Deny adds a folder that cannot be searched: everything below it fails with
// fs.ErrPermission, as on a real system.
func (f *FS) Deny(p string) *FS {
	return f.put(p, node{mode: fs.ModeDir, err: fs.ErrPermission})
}

// Own gives what lies at a path an owner and permissions; without it all is
// root's. Nobody is kept from anything by that.
func (f *FS) Own(p string, uid uint32, perm fs.FileMode) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.nodes[path.Clean(p)]
	if !ok {
		panic("fsfake: nothing to own: " + p)
	}
	n.uid, n.mode = uid, n.mode.Type()|perm
	f.nodes[path.Clean(p)] = n
	return f
}

// Remove takes a path and everything below it away.
func (f *FS) Remove(p string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p = path.Clean(p)
	for have := range f.nodes {
		if lexpath.In(p, have) {
			delete(f.nodes, have)
		}
	}
}

// Calls returns how many times Lstat, Readlink and ReadFile were called.
func (f *FS) Calls() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.calls
}

func (f *FS) find(op, p string) (node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	fail := func(err error) (node, error) { return node{}, &fs.PathError{Op: op, Path: p, Err: err} }
	// The parents are walked as a kernel does, so links among them count.
	dir, rest := "/", strings.TrimPrefix(p, "/")
	straight := true // neither a link nor .. was passed
	for links := 0; ; {
		name, more, deeper := strings.Cut(rest, "/")
		here := dir
		switch {
		case name == "..":
			here, straight = path.Dir(dir), false
		case name == "" || name == ".":
			straight = false
		case straight:
			here = p[:len(p)-len(rest)+len(name)]
		default:
			here = path.Join(dir, name)
		}
		n, ok := f.nodes[here]
		switch {
		case f.nodes[dir].err != nil && here != dir:
			return fail(f.nodes[dir].err)
		case !ok:
			return fail(fs.ErrNotExist)
		case !deeper:
			return n, nil
		case n.mode&fs.ModeSymlink != 0:
			if links++; links > 40 {
				return fail(errors.New("too many levels of symbolic links"))
			}
			rest, straight = n.target+"/"+more, false
			if strings.HasPrefix(rest, "/") {
				dir, rest = "/", rest[1:]
			}
			continue
		case !n.mode.IsDir():
			return fail(syscall.ENOTDIR)
		}
		dir, rest = here, more
	}
}

// Lstat implements effects.FS.
func (f *FS) Lstat(p string) (fs.FileMode, error) {
	n, err := f.find("lstat", p)
	return n.mode, err
}

// Readlink implements effects.FS.
func (f *FS) Readlink(p string) (string, error) {
	n, err := f.find("readlink", p)
	if err != nil {
		return "", err
	}
	if n.mode&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "readlink", Path: p, Err: fs.ErrInvalid}
	}
	return n.target, nil
}

// ReadFile implements effects.FS.
func (f *FS) ReadFile(p string, limit int64) ([]byte, error) {
	n, err := f.find("open", p)
	switch {
	case err != nil:
		return nil, err
	case !n.mode.IsRegular():
		return nil, errors.New("not a regular file")
	case int64(len(n.data)) > limit:
		return nil, fmt.Errorf("file is larger than %d bytes", limit)
	}
	return n.data, nil
}

// Owner implements effects.FS.
func (f *FS) Owner(p string) (uid uint32, err error) {
	n, err := f.find("lstat", p)
	return n.uid, err
}

// Names implements effects.FS.
func (f *FS) Names(p string, limit int) ([]fs.DirEntry, error) {
	n, err := f.find("open", p)
	if err == nil {
		err = n.err
	}
	if err == nil && !n.mode.IsDir() {
		err = &fs.PathError{Op: "readdir", Path: p, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, err
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	var names []fs.DirEntry
	for have, n := range f.nodes {
		if have != "/" && path.Dir(have) == path.Clean(p) {
			names = append(names, entry{path.Base(have), n.mode})
		}
	}
	if len(names) > limit {
		return nil, fmt.Errorf("folder has more than %d names", limit)
	}
	return names, nil
}

// entry is a name in a folder.
type entry struct {
	name string
	mode fs.FileMode
}

func (e entry) Name() string               { return e.name }
func (e entry) IsDir() bool                { return e.mode.IsDir() }
func (e entry) Type() fs.FileMode          { return e.mode.Type() }
func (e entry) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }
