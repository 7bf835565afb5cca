package paths

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/permd/permd/decisions/effects"
)

// Listing is what a folder holds: names with their types, as Names returns them. It is
// not changed once it is made.
type Listing struct {
	// Text has the type and name of each entry, in the order of the names. Two
	// listings with the same text are the same.
	Text    string
	Entries []fs.DirEntry // in the order of the names; without more than name and type

	ascii bool // all names are ASCII
}

// Lister is implemented by file systems that keep listings.
type Lister interface {
	// Listing is Names, with the stamp that the folder had before it was read if that is known to
	// change with the names.
	Listing(path string, limit int) (*Listing, Stamp, error)
}

// ListingOf reads the names in a folder.
func ListingOf(fsys effects.FS, path string, limit int) (*Listing, error) {
	entries, err := fsys.Names(path, limit)
	if err != nil {
		return nil, err
	}
	return newListing(entries), nil
}

// newListing returns the listing of some entries. A name contains neither a slash nor a
// NUL.
func newListing(entries []fs.DirEntry) *Listing {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	size := 0
	for _, e := range entries {
		size += len(e.Name()) + 10
	}
	var text strings.Builder
	text.Grow(size)
	l := &Listing{Entries: entries, ascii: true}
	listed := make([]listedEntry, len(entries))
	for i, e := range entries {
		if i > 0 {
			text.WriteByte(0)
		}
		var kind [8]byte
		text.Write(strconv.AppendUint(kind[:0], uint64(e.Type()), 16))
		text.WriteByte('/')
		start := text.Len()
		text.WriteString(e.Name())
		listed[i] = listedEntry{text.String()[start:], e.Type()} // the builder does not grow
		entries[i] = &listed[i]
	}
	l.Text = text.String()
	for i := range len(l.Text) {
		l.ascii = l.ascii && l.Text[i] < 0x80
	}
	return l
}

// Lacks reports whether no entry has a name, whether or not the file system takes
// upper and lower case for the same. It is false if that cannot be told by the
// names: file systems differ in what they take for the same beyond ASCII.
func (l *Listing) Lacks(name string) bool {
	if !l.ascii || name == "" || name == "." || name == ".." {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	if strings.HasSuffix(name, ".") {
		return false
	}
	return !slices.ContainsFunc(l.Entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), name) })
}

// size returns about how many bytes a listing takes.
func (l *Listing) size() int {
	return len(l.Text) + len(l.Entries)*int(unsafe.Sizeof(listedEntry{})+unsafe.Sizeof(fs.DirEntry(nil)))
}

// listedEntry is a name in a folder with its type.
type listedEntry struct {
	name string
	mode fs.FileMode
}

func (e *listedEntry) Name() string               { return e.name }
func (e *listedEntry) Type() fs.FileMode          { return e.mode }
func (e *listedEntry) IsDir() bool                { return e.mode.IsDir() }
func (e *listedEntry) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }
