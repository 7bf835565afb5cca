// Package source reads the files of a layer of rules from a folder: it
// determines which of them are rules, who may own them, how large they may be,
// and which links are followed. It does not interpret their contents.
package source

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

	"github.com/permd/permd/policy/diag"
)

// Bounds of a folder of rules. They are far above any real policy and keep a
// hostile or broken folder from filling memory.
const (
	maxFileSize = MaxFile
	maxFiles    = MaxFiles // rules, tests, lists and program files together
	maxTreeSize = MaxTree
	maxDepth    = 8
	maxEntries  = 65536 // names examined, including files that are not rules
	maxFolders  = 1024  // each is watched, and the system limits the number of watches
)

// Bounds of the files of a layer, wherever they come from: the size of one, their number,
// and their size together, in bytes.
const (
	MaxFile  = 1 << 20
	MaxFiles = 4096
	MaxTree  = 64 << 20
)

// maxAhead is how far the time of a file may be ahead of the clock and still be
// trusted.
const maxAhead = 100 * time.Millisecond

// File is one file, read once: the contents that are hashed are the ones
// compiled.
type File struct {
	Name    string // as messages show it: the path, or base/… for embedded ones
	Rel     string // within its layer, slash-separated
	Dir     string // the folder it was found in, "" for embedded ones
	Data    []byte
	ModTime time.Time // modification time, zero for embedded ones
	Owner   uint32    // user that it belongs to, 0 for embedded ones
	Link    bool      // it was found by a link
}

// Tree is the contents of one folder.
type Tree struct {
	Files []File   // ordered by name
	Dirs  []string // all folders, to watch
	// Stamps are identities, sizes and times of everything examined: if they
	// are the same later, nothing has changed.
	Stamps []string
	Newest time.Time // the latest change
	// Unread are the files that are not read, if Access.ListUnread is set. Of folders
	// whose names begin with a dot only the folder is listed.
	Unread []string
}

// stamp records the identity of a file or folder when it was examined.
func (t *Tree) stamp(rel string, info fs.FileInfo) {
	inode := uint64(0)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = st.Ino
	}
	t.Stamps = append(t.Stamps, fmt.Sprintf("%s %d %d %d", rel, inode, info.Size(), info.ModTime().UnixNano()))
	// A time in the future was set by hand or by another machine's clock.
	if at := info.ModTime(); at.After(t.Newest) && at.Before(time.Now().Add(maxAhead)) {
		t.Newest = at
	}
}

// Access describes who may own and write a folder.
type Access struct {
	Owners       []uint32              // nil: anybody
	Writable     bool                  // others may write
	PrivateGroup func(gid uint32) bool // a group that may write; nil: none
	ListsOnly    bool                  // read only rules.yaml of the folder itself
	NoLink       bool                  // the folder must not be a symbolic link
	ListUnread   bool                  // say which files are not read
}

// Read reads a folder's rules: regular files that end in .rego or _test.yaml or are
// named rules.yaml or profiles.yaml, at any depth, and *.yaml in folders named programs. Links are
// followed only within the folder, and links to folders only in the form that a
// Kubernetes ConfigMap uses (through "..data"); anything else would surprise
// people. A folder that does not exist is not an error. On an error the tree
// holds what was read so far.
func Read(dir string, rules Access) (*Tree, error) {
	root, err := openFolder(dir, rules.NoLink)
	if errors.Is(err, fs.ErrNotExist) {
		return &Tree{}, nil
	}
	if errors.Is(err, errLink) {
		return &Tree{}, diag.Problem{File: dir, Text: "is a link, which is not followed", Hint: "put the folder itself here"}.AsError()
	}
	if err != nil {
		return &Tree{}, diag.Problem{File: dir, Text: "opening the folder: " + diag.WithoutPath(err)}.AsError()
	}
	defer func() { _ = root.Close() }() // nothing was written
	// The parent matters too: who can write there can replace this folder.
	if parent, err := os.Stat(filepath.Dir(dir)); err == nil {
		if err := rules.check(filepath.Dir(dir), parent, true); err != nil {
			return &Tree{}, err
		}
	}
	r := &reader{root: root, dir: dir, access: rules, tree: &Tree{}}
	if err := r.walk(".", 0); err != nil {
		return r.tree, err
	}
	slices.SortFunc(r.tree.Files, func(a, b File) int { return strings.Compare(a.Rel, b.Rel) })
	return r.tree, nil
}

type reader struct {
	root    *os.Root
	dir     string
	access  Access
	tree    *Tree
	entries int
	size    int64
}

func (r *reader) walk(rel string, depth int) error {
	shown := filepath.Join(r.dir, rel)
	if depth > maxDepth {
		return diag.Problem{File: shown, Text: fmt.Sprintf("folders are nested more than %d deep", maxDepth)}.AsError()
	}
	f, err := r.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return diag.Problem{File: shown, Text: "opening the folder: " + diag.WithoutPath(err)}.AsError()
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return diag.Problem{File: shown, Text: "reading the folder: " + diag.WithoutPath(err)}.AsError()
	}
	if !info.IsDir() {
		return diag.Problem{File: shown, Text: "is not a folder"}.AsError()
	}
	if err := r.access.check(shown, info, false); err != nil {
		return err
	}
	if r.tree.Dirs = append(r.tree.Dirs, shown); len(r.tree.Dirs) > maxFolders {
		return diag.Problem{File: r.dir, Text: fmt.Sprintf("holds more than %d folders", maxFolders)}.AsError()
	}
	r.tree.stamp(rel, info)
	names, err := f.Readdirnames(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return diag.Problem{File: shown, Text: "listing the folder: " + diag.WithoutPath(err)}.AsError()
	}
	if r.entries += len(names); r.entries > maxEntries {
		return diag.Problem{File: shown, Text: fmt.Sprintf("holds more than %d names", maxEntries)}.AsError()
	}
	slices.Sort(names)
	for _, name := range names {
		// Hidden files are editors' and version control's; "..data" and the
		// like are a ConfigMap's own, reached through the links in the same folder.
		if strings.HasPrefix(name, ".") {
			r.unread(path.Join(rel, name))
			continue
		}
		if err := r.entry(path.Join(rel, name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) unread(rel string) {
	if r.access.ListUnread {
		r.tree.Unread = append(r.tree.Unread, rel)
	}
}

func (r *reader) entry(rel string, depth int) error {
	shown := filepath.Join(r.dir, rel)
	info, err := r.root.Lstat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone since it was listed; the next event triggers another read
	}
	if err != nil {
		return diag.Problem{File: shown, Text: diag.WithoutPath(err)}.AsError()
	}
	isRules := IsRead(rel)
	if r.access.ListsOnly {
		if rel != ListName {
			return nil
		}
	} else if hint := NotRead(rel); hint != "" {
		return diag.Problem{File: shown, Text: "is not read", Hint: hint}.AsError()
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		if r.access.ListsOnly {
			return nil
		}
		return r.walk(rel, depth+1)
	case mode&fs.ModeSymlink != 0:
		target, err := r.root.Readlink(rel)
		if err != nil {
			return diag.Problem{File: shown, Text: diag.WithoutPath(err)}.AsError()
		}
		to, err := r.root.Stat(rel)
		switch {
		case err == nil && to.IsDir() && strings.HasPrefix(target, "..data/"):
			return r.walk(rel, depth+1)
		case err == nil && to.IsDir():
			return diag.Problem{File: shown, Text: "links to a folder, which is not followed", Hint: "put the folder itself here"}.AsError()
		case !isRules:
			r.unread(rel)
			return nil
		case err != nil:
			return diag.Problem{File: shown, Text: "is a link that is broken or leads out of the folder", Hint: "put the file itself here"}.AsError()
		}
	case !isRules:
		r.unread(rel)
		return nil
	case !mode.IsRegular():
		return diag.Problem{File: shown, Text: "is not a regular file"}.AsError()
	}
	return r.read(rel, info.Mode()&fs.ModeSymlink != 0)
}

func (r *reader) read(rel string, link bool) error {
	shown := filepath.Join(r.dir, rel)
	if len(r.tree.Files) >= maxFiles {
		return diag.Problem{File: r.dir, Text: fmt.Sprintf("holds more than %d files that permd reads (rules, tests, lists, programs and profiles)", maxFiles)}.AsError()
	}
	// Non-blocking: a FIFO put here since it was listed must not block the
	// daemon.
	f, err := r.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return diag.Problem{File: shown, Text: "opening the file: " + diag.WithoutPath(err)}.AsError()
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return diag.Problem{File: shown, Text: "reading the file: " + diag.WithoutPath(err)}.AsError()
	}
	if !info.Mode().IsRegular() {
		return diag.Problem{File: shown, Text: "is not a regular file"}.AsError()
	}
	if err := r.access.check(shown, info, false); err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return diag.Problem{File: shown, Text: "reading the file: " + diag.WithoutPath(err)}.AsError()
	}
	if r.size += int64(len(data)); len(data) > maxFileSize || r.size > maxTreeSize {
		return diag.Problem{File: shown, Text: fmt.Sprintf("is larger than %d MiB, or the folder than %d MiB", maxFileSize>>20, maxTreeSize>>20)}.AsError()
	}
	r.tree.stamp(rel, info)
	file := File{Name: shown, Rel: rel, Dir: r.dir, Data: data, ModTime: info.ModTime(), Link: link, Owner: ^uint32(0)}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		file.Owner = st.Uid
	}
	r.tree.Files = append(r.tree.Files, file)
	return nil
}

// Digest hashes names and contents, each with its length, so that different
// sets of files never hash the same input.
func Digest(extra []string, files []File) string {
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
		put([]byte(f.Name))
		put(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
