// Package lookups is the file system as the calls of one request see it: what was looked up is
// kept with its result, so that all parts of a decision see one state, the calls of a request
// share it, and a later call can tell whether it is still the same.
package lookups

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/underway"
)

// Bounds of the lookups recorded for one call; a call that exceeds them is not cached.
const (
	// maxLookups is how many lookups of a call are recorded.
	maxLookups = 64
	maxBytes   = 64 << 10 // of file content
)

// Recorder is the file system as one call sees it. It reads each thing once, so that
// all parts of a decision see the same state, and records the results, so that a later
// call can check whether they are still the same. It belongs to one call.
type Recorder struct {
	fs effects.FS
	// ctx ends the time to look at anything; nil for none.
	ctx     context.Context
	work    *underway.Request // of the request
	shared  *Shared           // with other calls of the request, nil for none
	lookups []Lookup
	memory  *[]Lookup       // an empty list in the memory of lookups
	paths   strings.Builder // of lookups
	bytes   int
	// uncomparable is set if a result cannot be compared later.
	uncomparable bool
	// unanswered is why something is not known that the file system was asked for, ""
	// if all is known.
	unanswered string
}

// Begin makes r the recorder of a call: what it looks at is fs, until ctx ends, if that is not
// nil. Shared, if not nil, is what the calls of its request share.
func (r *Recorder) Begin(ctx context.Context, fsys effects.FS, shared *Shared) {
	*r = Recorder{fs: fsys, ctx: ctx, shared: shared}
	if ctx != nil {
		r.work = underway.Of(ctx)
	}
}

// Lookups returns a copy of what was recorded, and how many bytes it holds. It reports false if
// some of it cannot be compared later.
func (r *Recorder) Lookups() (list []Lookup, bytes int, ok bool) {
	return slices.Clone(r.lookups), r.bytes, !r.uncomparable
}

// Unanswered says why something is not known that the file system was asked for, "" if all is.
func (r *Recorder) Unanswered() string { return r.unanswered }

// Lstat implements effects.FS.
func (r *Recorder) Lstat(path string) (fs.FileMode, error) {
	l := r.lookup(Lookup{op: opLstat, path: path})
	return l.mode, l.err
}

// Readlink implements effects.FS.
func (r *Recorder) Readlink(path string) (string, error) {
	l := r.lookup(Lookup{op: opReadlink, path: path})
	return l.text, l.err
}

// ReadFile implements effects.FS.
func (r *Recorder) ReadFile(path string, limit int64) ([]byte, error) {
	l := r.lookup(Lookup{op: opReadFile, path: path, limit: limit})
	if l.err != nil {
		return nil, l.err
	}
	return []byte(l.text), nil
}

// Names implements effects.FS. The entries have only their names and types, which are
// what is compared later. They must not be changed.
func (r *Recorder) Names(path string, limit int) ([]fs.DirEntry, error) {
	l := r.lookup(Lookup{op: opNames, path: path, limit: int64(limit)})
	if l.err != nil {
		return nil, l.err
	}
	return l.listing.Entries, nil
}

// Owner implements effects.FS. It is not compared later.
func (r *Recorder) Owner(path string) (uint32, error) {
	r.uncomparable = true
	if err := r.late(); err != nil {
		return 0, err
	}
	r.work.Visit(underway.AtFiles, path)
	defer r.work.Enter(underway.AtRules)
	uid, err := r.fs.Owner(path)
	r.note(path, err)
	return uid, err
}

// Identity implements paths.Identifier. It is not compared later.
func (r *Recorder) Identity(path string) (paths.Identity, error) {
	r.uncomparable = true
	if err := r.late(); err != nil {
		return paths.Identity{}, err
	}
	if by, ok := r.fs.(paths.Identifier); ok {
		r.work.Visit(underway.AtFiles, path)
		defer r.work.Enter(underway.AtRules)
		id, err := by.Identity(path)
		r.note(path, err)
		return id, err
	}
	return paths.Identity{}, errors.ErrUnsupported
}

// Survey implements paths.Surveyor. For a file system that does not, it returns an
// empty, complete survey.
func (r *Recorder) Survey(root, dir string) paths.Survey {
	if !strings.HasPrefix(dir, root) {
		return paths.Survey{Incomplete: true, Nested: []string{dir}}
	}
	l := r.lookup(Lookup{op: opSurvey, path: dir, limit: int64(len(root))})
	var s paths.Survey
	s.Incomplete = strings.HasPrefix(l.text, incompleteMark)
	secrets, rest, _ := strings.Cut(strings.TrimPrefix(l.text, incompleteMark), surveyNested)
	nested, ignores, _ := strings.Cut(rest, surveyNested)
	s.Secrets, s.Nested, s.Ignores = splitNames(secrets), splitNames(nested), splitNames(ignores)
	return s
}

// splitNames returns the names in a text of a survey.
func splitNames(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// LinksBelow implements paths.LinkFinder.
func (r *Recorder) LinksBelow(dir string, _ func() bool) (paths.Links, error) {
	l := r.lookup(Lookup{op: opLinks, path: dir})
	return paths.LinksOf(l.text), l.err
}

// Choosing implements the method by which package paths reads the names in a folder that
// may determine what a shim runs.
func (r *Recorder) Choosing(dir string) ([]string, error) {
	l := r.lookup(Lookup{op: opChoosing, path: dir})
	if l.err != nil || l.text == "" {
		return nil, l.err
	}
	return strings.Split(l.text, "\x00"), nil
}

func (r *Recorder) lookup(l Lookup) Lookup {
	for i := range r.lookups {
		if k := &r.lookups[i]; k.path == l.path && k.op == l.op && k.limit == l.limit {
			return *k
		}
	}
	if r.absent(l.path, maxAbsentFolders) {
		l.err = fs.ErrNotExist
		return l
	}
	if l.err = r.late(); l.err == nil && !r.shared.answer(&l) {
		r.work.Visit(underway.AtFiles, l.path)
		l.ask(r.ctx, r.fs)
		r.work.Enter(underway.AtRules)
		r.note(l.path, l.err)
		r.shared.add(l)
	}
	// Only fs.ErrNotExist means the same each time; other errors cannot be compared.
	if l.err != nil && !errors.Is(l.err, fs.ErrNotExist) {
		r.uncomparable = true
	}
	l.path = r.keep(l.path)
	if r.bytes += len(l.text); len(r.lookups) >= maxLookups || r.bytes > maxBytes {
		r.uncomparable = true
		return l
	}
	if r.lookups == nil {
		r.memory = lookupMemory.Get().(*[]Lookup)
		r.lookups = *r.memory
	}
	r.lookups = append(r.lookups, l)
	return l
}

// lookupMemory has empty lists for as many lookups as are recorded.
var lookupMemory = sync.Pool{New: func() any {
	list := make([]Lookup, 0, maxLookups)
	return &list
}}

// Release gives the memory of lookups back, after the last one.
func (r *Recorder) Release() {
	if r.memory == nil {
		return
	}
	clear(r.lookups)
	lookupMemory.Put(r.memory)
	r.lookups, r.memory = nil, nil
}

// maxAbsentFolders is how many folders above a path are looked for among the lookups.
const maxAbsentFolders = 3

// absent reports whether earlier lookups of the call show that a path does not exist: that
// one of its folders does not, or has no such name. Later calls compare those lookups,
// so this one needs not be recorded.
func (r *Recorder) absent(p string, folders int) bool {
	i := strings.LastIndexByte(p, '/')
	if i <= 0 || folders == 0 {
		return false
	}
	dir, name := p[:i], p[i+1:]
	for n := range r.lookups {
		k := &r.lookups[n]
		switch {
		case k.path != dir:
		case k.err != nil:
			if k.op != opChoosing && k.op != opSurvey && errors.Is(k.err, fs.ErrNotExist) {
				return true
			}
		case k.op == opNames && k.listing.Lacks(name):
			return true
		}
	}
	return r.absent(dir, folders-1)
}

// Lacks reports whether the call has read the names in a folder, and one is not among them.
func (r *Recorder) Lacks(dir, name string) bool {
	for i := range r.lookups {
		if k := &r.lookups[i]; k.op == opNames && k.err == nil && k.path == dir {
			return k.listing.Lacks(name)
		}
	}
	return false
}

// keep returns a copy of a path, which does not keep the message alive that it came in.
// The copies of one call share pieces of memory.
func (r *Recorder) keep(path string) string {
	const piece = 1 << 10
	if r.paths.Cap()-r.paths.Len() < len(path) {
		r.paths.Reset() // the copies in it stay
		r.paths.Grow(max(piece, len(path)))
	}
	start := r.paths.Len()
	r.paths.WriteString(path)
	return r.paths.String()[start:]
}
