package paths

import (
	"io/fs"

	"github.com/permd/permd/decisions/effects"
)

// statCache caches what a call read from the file system. Each path is read once, so
// that all effects of the call see the same state. Nearly all calls use a handful of
// paths, for which a list is faster than a map and a tenth of its size.
type statCache struct {
	entries []statEntry
	byPath  map[string]int // where in few, of all, when there are more than a few
	memory  [maxScannedStats / 2]statEntry
}

type statEntry struct {
	path   string
	mode   fs.FileMode
	err    error
	target string // of a link, once it was read
}

const maxScannedStats = 24

// find returns the index of a path, -1 if it is not cached.
func (s *statCache) find(p string) int {
	if s.byPath != nil {
		if i, ok := s.byPath[p]; ok {
			return i
		}
		return -1
	}
	for i := range s.entries {
		if s.entries[i].path == p {
			return i
		}
	}
	return -1
}

func (s *statCache) add(new statEntry) {
	if s.entries == nil {
		s.entries = s.memory[:0]
	}
	s.entries = append(s.entries, new)
	switch n := len(s.entries); {
	case s.byPath != nil:
		s.byPath[new.path] = n - 1
	case n > maxScannedStats:
		s.byPath = make(map[string]int, 4*n)
		for i := range s.entries {
			s.byPath[s.entries[i].path] = i
		}
	}
}

// Lstat returns the mode of a path, read once in a call.
func (r *Resolver) Lstat(p string) (fs.FileMode, error) {
	if i := r.stats.find(p); i >= 0 {
		return r.stats.entries[i].mode, r.stats.entries[i].err
	}
	mode, err := r.fs.Lstat(p)
	r.stats.add(statEntry{path: p, mode: mode, err: err})
	return mode, err
}

// readlink returns the target of a link that Lstat found, "" if it cannot be read.
func (r *Resolver) readlink(p string) string {
	s := &r.stats.entries[r.stats.find(p)]
	if s.target == "" && s.err == nil {
		s.target, s.err = r.fs.Readlink(p)
		if s.err != nil {
			s.target = ""
		}
	}
	return s.target
}

// base is a resolved working folder.
type base struct {
	cwd    string
	at     place
	why    string
	tags   effects.Tags
	tagged bool
}

// maxBases is how many working folders are cached.
const maxBases = 8

// base resolves a working folder.
func (r *Resolver) base(cwd string) (place, string) {
	b := r.baseOf(cwd)
	return b.at, b.why
}

// WorkingFolder returns a working folder with links resolved, "" if it is not known.
func (r *Resolver) WorkingFolder(cwd string) string {
	at, why := r.base(cwd)
	if why != "" {
		return ""
	}
	return at.Path
}

// baseOf returns a working folder, resolved once as long as nothing is disturbed. It is
// valid until the next call.
func (r *Resolver) baseOf(cwd string) *base {
	for i := range r.Bases {
		if r.Bases[i].cwd == cwd {
			return &r.Bases[i]
		}
	}
	b := base{cwd: cwd}
	b.resolve(r)
	if r.Bases == nil {
		r.Bases = r.basesMemory[:0]
	}
	if len(r.Bases) < maxBases {
		r.Bases = append(r.Bases, b)
		return &r.Bases[len(r.Bases)-1]
	}
	r.next = (r.next + 1) % maxBases
	r.Bases[r.next] = b
	return &r.Bases[r.next]
}
