// Package stamps tells which lookups of files follow from others, so that fewer have to be
// repeated to see whether all would still find the same.
//
// Most of what a call looks for is missing, and several such names are in the same folder.
// A folder's stamp changes with each name that is added to it or removed, and with its
// permissions; so one look at a stamp that has not changed tells as much as all of them. And
// what lies in a folder that is missing needs no look at all.
package stamps

import (
	"math/bits"
	"strings"

	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// Lookup is what a lookup has found.
type Lookup struct {
	Path  string // absolute and cleaned
	Found Found
}

// Found is what a lookup has found.
type Found uint8

const (
	Other   Found = iota // which no stamp tells
	Missing              // the path does not exist: what repeats the lookup is an lstat that finds nothing
	Folder               // an lstat has found a folder, which it has not followed a link to
	Names                // the names in a folder, or some of them, with their types
)

// Set is a set of lookups, by their numbers.
type Set uint64

// Most is how many lookups a [Set] has room for.
const Most = 64

// Has reports whether a lookup is in the set.
func (s Set) Has(number int) bool { return s&(1<<number) != 0 }

// FS is a file system with stamps, as [paths.Index].
type FS interface {
	Stamp(path string) (paths.Stamp, error)
	// OldStamp returns a stamp that each later change makes another one; false if there is none.
	OldStamp(path string) (paths.Stamp, bool)
}

// Implied are the lookups of a list that follow from others. It does not change once it is
// made, and is safe for concurrent use.
type Implied struct {
	always  Set // what follows from lookups that are repeated each time
	folders []folder
	young   bool // there are folders with no stamp that is old enough
}

// folder are the lookups that follow from one stamp.
type folder struct {
	path  string
	stamp paths.Stamp
	set   Set
}

// leastImplied is how many lookups must follow from a stamp, which takes one itself.
const leastImplied = 2

// New returns what follows from the stamps that folders have now. It is valid if all of the
// lookups, at most [Most], have the same results when they are repeated afterwards. visit is
// called before each lookup, with its path.
func New(looks []Lookup, fsys FS, visit func(path string)) *Implied {
	m := new(Implied)
	for i := range looks {
		if coveredBy(looks, i) >= 0 {
			m.always |= 1 << i
		}
	}
	for i := range looks {
		if looks[i].Found != Folder {
			continue
		}
		set := impliedBy(looks, i)
		if bits.OnesCount64(uint64(set&^m.always)) < leastImplied {
			continue
		}
		visit(looks[i].Path)
		if stamp, ok := fsys.OldStamp(looks[i].Path); ok {
			m.folders = append(m.folders, folder{looks[i].Path, stamp, set})
		} else {
			m.young = true
		}
	}
	return m
}

// Check returns the lookups that would find the same, if those that are not in the set do.
// all is false if more could be known by calling [New] again; it is for nil.
func (m *Implied) Check(fsys FS, visit func(path string)) (known Set, all bool) {
	if m == nil {
		return 0, false
	}
	known, all = m.always, !m.young
	for i := range m.folders {
		f := &m.folders[i]
		visit(f.path)
		if now, err := fsys.Stamp(f.path); err == nil && now == f.stamp {
			known |= f.set
		} else {
			all = false
		}
	}
	return known, all
}

// impliedBy returns the lookups that follow from a folder's stamp: of the folder itself, of its
// names, and of what is missing in it.
func impliedBy(looks []Lookup, at int) Set {
	set := Set(1) << at
	dir := looks[at].Path
	for i := range looks {
		switch l := &looks[i]; {
		case l.Found == Missing && isIn(dir, looks[topmost(looks, i)].Path),
			l.Found == Names && l.Path == dir:
			set |= 1 << i
		}
	}
	return set
}

// isIn reports whether a path is that of a name in a folder.
func isIn(dir, p string) bool {
	i := strings.LastIndexByte(p, '/')
	return i >= 0 && len(dir) == max(i, 1) && p != "/" && strings.HasPrefix(p, dir)
}

// topmost returns the lookup of something missing that shows that another is.
func topmost(looks []Lookup, n int) int {
	for next := n; next >= 0; next = coveredBy(looks, next) {
		n = next
	}
	return n
}

// coveredBy returns a lookup that found nothing, from which it follows that another one finds
// nothing; -1 if there is none. It is that of a folder above, or an earlier one of the path
// itself, so that going from one to the next comes to an end.
func coveredBy(looks []Lookup, n int) int {
	l := &looks[n]
	if l.Found != Missing {
		return -1
	}
	for i := range looks {
		k := &looks[i]
		if k.Found == Missing && (i < n || len(k.Path) < len(l.Path)) && lexpath.In(k.Path, l.Path) {
			return i
		}
	}
	return -1
}
