package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Bounds of a folder of rules. They are far above any real policy and keep a
// hostile or broken folder from filling memory.
const (
	maxFileSize = 1 << 20
	maxFiles    = 4096
	maxTreeSize = 64 << 20
	maxDepth    = 8
	maxEntries  = 65536 // names looked at, of files that are no rules too
	maxFolders  = 1024  // each is watched, and the system allows so many watches
)

// listName is the file of plain lists beside the .rego files.
const listName = "rules.yaml"

// source is one file, read once: what was hashed is what gets compiled.
type source struct {
	name string // as messages show it: the path, or base/… for embedded ones
	rel  string // within its layer, slash-separated
	dir  string // the folder it was found in, "" for embedded ones
	data []byte
	mod  time.Time // when it was written last, zero for embedded ones
}

func (s source) isTest() bool { return strings.HasSuffix(s.rel, "_test.rego") }
func (s source) isList() bool { return path.Base(s.rel) == listName }

// tree is what was read of one folder.
type tree struct {
	absent bool
	files  []source // in the order of names
	dirs   []string // all folders, to watch
	// stamps are identities, sizes and times of all that was looked at: when
	// they are the same later, nothing was changed in between.
	stamps []string
	newest time.Time // the latest change
}

// stamp takes down what a file or folder was when it was looked at.
func (t *tree) stamp(rel string, info fs.FileInfo) {
	inode := uint64(0)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = st.Ino
	}
	t.stamps = append(t.stamps, fmt.Sprintf("%s %d %d %d", rel, inode, info.Size(), info.ModTime().UnixNano()))
	// A time in the future was set by hand or by another machine's clock.
	if at := info.ModTime(); at.After(t.newest) && at.Before(time.Now().Add(calm)) {
		t.newest = at
	}
}

// treeRules say whom a folder must belong to.
type treeRules struct {
	owners    []uint32              // nil: anybody
	writable  bool                  // others may write
	private   func(gid uint32) bool // a group that may write; nil: none
	listsOnly bool                  // read rules.yaml of the folder itself and nothing else
}

// readTree reads a folder's rules: regular files that end in .rego or are named
// rules.yaml, at any depth, and *.yaml in folders named programs. Links are followed only within the folder, and
// links to folders only in the form that a Kubernetes ConfigMap has (through
// "..data"), because everything else has surprised somebody. A folder that does
// not exist is not an error. With an error the tree is what was read up to it.
func readTree(dir string, rules treeRules) (*tree, error) {
	// The slash and dot make the kernel refuse what is no folder: opening a FIFO
	// would wait for its other end, and whoever may write to a project can make
	// one.
	root, err := os.OpenRoot(dir + "/.")
	if errors.Is(err, fs.ErrNotExist) {
		return &tree{absent: true}, nil
	}
	if err != nil {
		return &tree{}, Problem{File: dir, Text: "opening the folder: " + plainErr(err)}.asError()
	}
	defer func() { _ = root.Close() }() // nothing was written
	// The parent matters as well: who can write there can put another folder
	// in this one's place.
	if parent, err := os.Stat(filepath.Dir(dir)); err == nil {
		if err := rules.check(filepath.Dir(dir), parent, true); err != nil {
			return &tree{}, err
		}
	}
	r := &treeReader{root: root, dir: dir, rules: rules, tree: &tree{}}
	if err := r.walk(".", 0); err != nil {
		return r.tree, err
	}
	slices.SortFunc(r.tree.files, func(a, b source) int { return strings.Compare(a.rel, b.rel) })
	return r.tree, nil
}

type treeReader struct {
	root    *os.Root
	dir     string
	rules   treeRules
	tree    *tree
	entries int
	size    int64
}

func (r *treeReader) walk(rel string, depth int) error {
	shown := filepath.Join(r.dir, rel)
	if depth > maxDepth {
		return Problem{File: shown, Text: fmt.Sprintf("folders are nested more than %d deep", maxDepth)}.asError()
	}
	f, err := r.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return Problem{File: shown, Text: "opening the folder: " + plainErr(err)}.asError()
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return Problem{File: shown, Text: "reading the folder: " + plainErr(err)}.asError()
	}
	if !info.IsDir() {
		return Problem{File: shown, Text: "is not a folder"}.asError()
	}
	if err := r.rules.check(shown, info, false); err != nil {
		return err
	}
	if r.tree.dirs = append(r.tree.dirs, shown); len(r.tree.dirs) > maxFolders {
		return Problem{File: r.dir, Text: fmt.Sprintf("holds more than %d folders", maxFolders)}.asError()
	}
	r.tree.stamp(rel, info)
	names, err := f.Readdirnames(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return Problem{File: shown, Text: "listing the folder: " + plainErr(err)}.asError()
	}
	if r.entries += len(names); r.entries > maxEntries {
		return Problem{File: shown, Text: fmt.Sprintf("holds more than %d names", maxEntries)}.asError()
	}
	slices.Sort(names)
	for _, name := range names {
		// Hidden files are editors' and version control's; "..data" and the
		// like are a ConfigMap's own, reached through the links beside them.
		if strings.HasPrefix(name, ".") {
			continue
		}
		if err := r.entry(path.Join(rel, name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (r *treeReader) entry(rel string, depth int) error {
	shown := filepath.Join(r.dir, rel)
	info, err := r.root.Lstat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone since it was listed; the next event brings us back
	}
	if err != nil {
		return Problem{File: shown, Text: plainErr(err)}.asError()
	}
	isRules := strings.HasSuffix(rel, ".rego") || path.Base(rel) == listName || isPrograms(rel)
	if r.rules.listsOnly {
		if rel != listName {
			return nil
		}
	} else if name := path.Base(rel); name == "rules.yml" {
		return Problem{File: shown, Text: "is not read", Hint: "name it " + listName}.asError()
	} else if hint := strayPrograms(rel); hint != "" {
		return Problem{File: shown, Text: "is not read", Hint: hint}.asError()
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		if r.rules.listsOnly {
			return nil
		}
		return r.walk(rel, depth+1)
	case mode&fs.ModeSymlink != 0:
		target, err := r.root.Readlink(rel)
		if err != nil {
			return Problem{File: shown, Text: plainErr(err)}.asError()
		}
		to, err := r.root.Stat(rel)
		switch {
		case err == nil && to.IsDir() && strings.HasPrefix(target, "..data/"):
			return r.walk(rel, depth+1)
		case err == nil && to.IsDir():
			return Problem{File: shown, Text: "links to a folder, which is not followed", Hint: "put the folder itself here"}.asError()
		case !isRules:
			return nil
		case err != nil:
			return Problem{File: shown, Text: "is a link that is broken or leads out of the folder", Hint: "put the file itself here"}.asError()
		}
	case !isRules:
		return nil
	case !mode.IsRegular():
		return Problem{File: shown, Text: "is not a regular file"}.asError()
	}
	return r.read(rel)
}

func (r *treeReader) read(rel string) error {
	shown := filepath.Join(r.dir, rel)
	if len(r.tree.files) >= maxFiles {
		return Problem{File: r.dir, Text: fmt.Sprintf("holds more than %d files of rules", maxFiles)}.asError()
	}
	// Not blocking: a FIFO put here between the look and the open must not
	// hold the daemon.
	f, err := r.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return Problem{File: shown, Text: "opening the file: " + plainErr(err)}.asError()
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return Problem{File: shown, Text: "reading the file: " + plainErr(err)}.asError()
	}
	if !info.Mode().IsRegular() {
		return Problem{File: shown, Text: "is not a regular file"}.asError()
	}
	if err := r.rules.check(shown, info, false); err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return Problem{File: shown, Text: "reading the file: " + plainErr(err)}.asError()
	}
	if r.size += int64(len(data)); len(data) > maxFileSize || r.size > maxTreeSize {
		return Problem{File: shown, Text: "is larger than 1 MiB, or the folder than 64 MiB"}.asError()
	}
	r.tree.stamp(rel, info)
	r.tree.files = append(r.tree.files, source{name: shown, rel: rel, dir: r.dir, data: data, mod: info.ModTime()})
	return nil
}

// problemError carries a problem as an error out of the reader.
type problemError struct{ p Problem }

func (e *problemError) Error() string { return e.p.String() }

func (p Problem) asError() error {
	p.Severity = SeverityError
	return &problemError{p}
}

func (ps *problems) err1(err error) {
	if pe, ok := errors.AsType[*problemError](err); ok {
		*ps = append(*ps, pe.p)
		return
	}
	*ps = append(*ps, Problem{Severity: SeverityError, Text: err.Error()})
}

// plainErr is an error without the path, which the problem has already.
func plainErr(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

// digestOf hashes names and contents, each with its length, so that no two
// different sets of files look alike.
func digestOf(extra []string, files []source) string {
	h := sha256.New()
	put := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	for _, s := range extra {
		put([]byte(s))
	}
	for _, f := range files {
		put([]byte(f.name))
		put(f.data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
