package paths

import (
	"io/fs"

	"github.com/permd/permd/decisions/effects"
)

// seen is what a call saw of the file system. Each path is asked for once, so
// that all effects of the call speak of the same moment. Nearly all calls look
// at a handful of paths, for which a list is faster than a map and a tenth of
// its size.
type seen struct {
	few  []sight
	many map[string]int // where in few, of all, when there are more than a few
}

type sight struct {
	path   string
	mode   fs.FileMode
	err    error
	target string // of a link, once it was read
}

const fewSights = 24

// find is the index of a path, -1 when it was not looked at.
func (s *seen) find(p string) int {
	if s.many != nil {
		if i, ok := s.many[p]; ok {
			return i
		}
		return -1
	}
	for i := range s.few {
		if s.few[i].path == p {
			return i
		}
	}
	return -1
}

func (s *seen) add(new sight) {
	if s.few == nil {
		s.few = make([]sight, 0, fewSights/2)
	}
	s.few = append(s.few, new)
	switch n := len(s.few); {
	case s.many != nil:
		s.many[new.path] = n - 1
	case n > fewSights:
		s.many = make(map[string]int, 4*n)
		for i := range s.few {
			s.many[s.few[i].path] = i
		}
	}
}

// Lstat asks the file system what lies at a path.
func (r *Resolver) Lstat(p string) (fs.FileMode, error) {
	if i := r.seen.find(p); i >= 0 {
		return r.seen.few[i].mode, r.seen.few[i].err
	}
	mode, err := r.fs.Lstat(p)
	r.seen.add(sight{path: p, mode: mode, err: err})
	return mode, err
}

// readlink returns the target of a link that lstat saw, "" when it cannot be
// read.
func (r *Resolver) readlink(p string) string {
	s := &r.seen.few[r.seen.find(p)]
	if s.target == "" && s.err == nil {
		s.target, s.err = r.fs.Readlink(p)
		if s.err != nil {
			s.target = ""
		}
	}
	return s.target
}

// base is a working folder that was resolved.
type base struct {
	cwd    string
	at     place
	why    string
	tags   effects.Tags
	tagged bool
}

// mostBases is how many working folders are kept.
const mostBases = 8

// base resolves a working folder.
func (r *Resolver) base(cwd string) (place, string) {
	b := r.baseOf(cwd)
	return b.at, b.why
}

// WorkingFolder returns where a working folder really is, "" if that is not known.
func (r *Resolver) WorkingFolder(cwd string) string {
	at, why := r.base(cwd)
	if why != "" {
		return ""
	}
	return at.Path
}

// baseOf is a working folder, resolved once as long as nothing is disturbed. It
// is valid until the next call.
func (r *Resolver) baseOf(cwd string) *base {
	for i := range r.Bases {
		if r.Bases[i].cwd == cwd {
			return &r.Bases[i]
		}
	}
	b := base{cwd: cwd}
	b.resolve(r)
	if len(r.Bases) < mostBases {
		r.Bases = append(r.Bases, b)
		return &r.Bases[len(r.Bases)-1]
	}
	r.next = (r.next + 1) % mostBases
	r.Bases[r.next] = b
	return &r.Bases[r.next]
}
