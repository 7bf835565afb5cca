package decisions

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/stamps"
	"github.com/permd/permd/decisions/underway"
)

// Bounds of the lookups recorded for one call; a call that exceeds them is not cached.
const (
	maxLookups     = 64
	maxLookupBytes = 64 << 10 // of file content
)

// recordingFS is the file system as one call sees it. It reads each thing once, so that
// all parts of a decision see the same state, and records the results, so that a later
// call can check whether they are still the same. It belongs to one call.
type recordingFS struct {
	fs effects.FS
	// ctx ends the time to look at anything; nil for none.
	ctx     context.Context
	work    *underway.Request // of the request
	shared  *sharedLooks      // with other calls of the request, nil for none
	lookups []fsLookup
	memory  *[]fsLookup     // an empty list in the memory of lookups
	paths   strings.Builder // of lookups
	bytes   int
	// uncomparable is set if a result cannot be compared later.
	uncomparable bool
	// unanswered is why something is not known that the file system was asked for, ""
	// if all is known (see unanswered).
	unanswered string
}

// fsLookup is one read access to the file system, with its result.
type fsLookup struct {
	op    lookupOp
	path  string
	limit int64 // of a read, in bytes, or of a list of names

	mode fs.FileMode
	text string // a link's target, a file's content, a folder's names, a survey
	err  error
	// listing has a folder's names, where text has them too.
	listing *paths.Listing
	// stamp is that of a folder whose names were read, if it is known to change with them.
	stamp paths.Stamp
}

// sameNames reports whether the names in a folder are known to be unchanged.
func (l *fsLookup) sameNames(fsys effects.FS) bool {
	if l.stamp == (paths.Stamp{}) {
		return false
	}
	by, ok := fsys.(stamps.FS)
	if !ok {
		return false
	}
	now, err := by.Stamp(l.path)
	return err == nil && now == l.stamp
}

type lookupOp uint8

const (
	opLstat lookupOp = iota
	opReadlink
	opReadFile
	opNames
	opChoosing
	opSurvey // limit is the length of the project's root in path
	opLinks
)

// Lstat implements effects.FS.
func (o *recordingFS) Lstat(path string) (fs.FileMode, error) {
	l := o.lookup(fsLookup{op: opLstat, path: path})
	return l.mode, l.err
}

// Readlink implements effects.FS.
func (o *recordingFS) Readlink(path string) (string, error) {
	l := o.lookup(fsLookup{op: opReadlink, path: path})
	return l.text, l.err
}

// ReadFile implements effects.FS.
func (o *recordingFS) ReadFile(path string, limit int64) ([]byte, error) {
	l := o.lookup(fsLookup{op: opReadFile, path: path, limit: limit})
	if l.err != nil {
		return nil, l.err
	}
	return []byte(l.text), nil
}

// Names implements effects.FS. The entries have only their names and types, which are
// what is compared later. They must not be changed.
func (o *recordingFS) Names(path string, limit int) ([]fs.DirEntry, error) {
	l := o.lookup(fsLookup{op: opNames, path: path, limit: int64(limit)})
	if l.err != nil {
		return nil, l.err
	}
	return l.listing.Entries, nil
}

// Owner implements effects.FS. It is not compared later.
func (o *recordingFS) Owner(path string) (uint32, error) {
	o.uncomparable = true
	if err := o.late(); err != nil {
		return 0, err
	}
	o.work.Visit(underway.AtFiles, path)
	defer o.work.Enter(underway.AtRules)
	uid, err := o.fs.Owner(path)
	o.note(path, err)
	return uid, err
}

// Identity implements paths.Identifier. It is not compared later.
func (o *recordingFS) Identity(path string) (paths.Identity, error) {
	o.uncomparable = true
	if err := o.late(); err != nil {
		return paths.Identity{}, err
	}
	if by, ok := o.fs.(paths.Identifier); ok {
		o.work.Visit(underway.AtFiles, path)
		defer o.work.Enter(underway.AtRules)
		id, err := by.Identity(path)
		o.note(path, err)
		return id, err
	}
	return paths.Identity{}, errors.ErrUnsupported
}

// Survey implements paths.Surveyor. For a file system that does not, it returns an
// empty, complete survey.
func (o *recordingFS) Survey(root, dir string) paths.Survey {
	if !strings.HasPrefix(dir, root) {
		return paths.Survey{Incomplete: true, Nested: []string{dir}}
	}
	l := o.lookup(fsLookup{op: opSurvey, path: dir, limit: int64(len(root))})
	var s paths.Survey
	s.Incomplete = strings.HasPrefix(l.text, incompleteMark)
	secrets, nested, _ := strings.Cut(strings.TrimPrefix(l.text, incompleteMark), surveyNested)
	s.Secrets, s.Nested = splitNames(secrets), splitNames(nested)
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
func (o *recordingFS) LinksBelow(dir string, _ func() bool) (paths.Links, error) {
	l := o.lookup(fsLookup{op: opLinks, path: dir})
	return paths.LinksOf(l.text), l.err
}

// Choosing implements the method by which package paths reads the names in a folder that
// may determine what a shim runs.
func (o *recordingFS) Choosing(dir string) ([]string, error) {
	l := o.lookup(fsLookup{op: opChoosing, path: dir})
	if l.err != nil || l.text == "" {
		return nil, l.err
	}
	return strings.Split(l.text, "\x00"), nil
}

// choosing reads these names as one text.
func choosing(fsys effects.FS, path string) (string, error) {
	names, err := paths.Choosing(fsys, path)
	return strings.Join(names, "\x00"), err
}

// linksText reads the links below a folder as one text.
func linksText(ctx context.Context, fsys effects.FS, path string) (string, error) {
	by, ok := fsys.(paths.LinkFinder)
	if !ok {
		by = paths.NewIndex(fsys, time.Now)
	}
	links, err := by.LinksBelow(path, func() bool { return ctx == nil || goesOn(ctx) })
	return links.Text(), err
}

// Marks in the text of a survey, which otherwise has absolute paths.
const (
	incompleteMark = "?"        // begins that of an incomplete one
	surveyNested   = "\x00\x00" // between secrets and folders with repositories
)

// surveyText reads a survey as one text: absolute paths contain no NUL.
func surveyText(fsys effects.FS, path string, root int64) string {
	by, ok := fsys.(paths.Surveyor)
	if !ok {
		return ""
	}
	s := by.Survey(path[:root], path)
	text := strings.Join(s.Secrets, "\x00")
	if len(s.Nested) > 0 {
		text += surveyNested + strings.Join(s.Nested, "\x00")
	}
	if s.Incomplete {
		text = incompleteMark + text
	}
	return text
}

func (o *recordingFS) lookup(l fsLookup) fsLookup {
	for i := range o.lookups {
		if k := &o.lookups[i]; k.path == l.path && k.op == l.op && k.limit == l.limit {
			return *k
		}
	}
	if o.absent(l.path, maxAbsentFolders) {
		l.err = fs.ErrNotExist
		return l
	}
	if l.err = o.late(); l.err == nil && !o.shared.answer(&l) {
		o.work.Visit(underway.AtFiles, l.path)
		l.ask(o.ctx, o.fs)
		o.work.Enter(underway.AtRules)
		o.note(l.path, l.err)
		o.shared.add(l)
	}
	// Only fs.ErrNotExist means the same each time; other errors cannot be compared.
	if l.err != nil && !errors.Is(l.err, fs.ErrNotExist) {
		o.uncomparable = true
	}
	l.path = o.keep(l.path)
	if o.bytes += len(l.text); len(o.lookups) >= maxLookups || o.bytes > maxLookupBytes {
		o.uncomparable = true
		return l
	}
	if o.lookups == nil {
		o.memory = lookupMemory.Get().(*[]fsLookup)
		o.lookups = *o.memory
	}
	o.lookups = append(o.lookups, l)
	return l
}

// lookupMemory has empty lists for as many lookups as are recorded.
var lookupMemory = sync.Pool{New: func() any {
	list := make([]fsLookup, 0, maxLookups)
	return &list
}}

// release gives the memory of lookups back, after the last one.
func (o *recordingFS) release() {
	if o.memory == nil {
		return
	}
	clear(o.lookups)
	lookupMemory.Put(o.memory)
	o.lookups, o.memory = nil, nil
}

// maxAbsentFolders is how many folders above a path are looked for among the lookups.
const maxAbsentFolders = 3

// absent reports whether earlier lookups of the call show that a path does not exist: that
// one of its folders does not, or has no such name. Later calls compare those lookups,
// so this one needs not be recorded.
func (o *recordingFS) absent(p string, folders int) bool {
	i := strings.LastIndexByte(p, '/')
	if i <= 0 || folders == 0 {
		return false
	}
	dir, name := p[:i], p[i+1:]
	for n := range o.lookups {
		k := &o.lookups[n]
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
	return o.absent(dir, folders-1)
}

// Lacks reports whether the call has read the names in a folder, and one is not among them.
func (o *recordingFS) Lacks(dir, name string) bool {
	for i := range o.lookups {
		if k := &o.lookups[i]; k.op == opNames && k.err == nil && k.path == dir {
			return k.listing.Lacks(name)
		}
	}
	return false
}

// keep returns a copy of a path, which does not keep the message alive that it came in.
// The copies of one call share pieces of memory.
func (o *recordingFS) keep(path string) string {
	const piece = 1 << 10
	if o.paths.Cap()-o.paths.Len() < len(path) {
		o.paths.Reset() // the copies in it stay
		o.paths.Grow(max(piece, len(path)))
	}
	start := o.paths.Len()
	o.paths.WriteString(path)
	return o.paths.String()[start:]
}

// ask performs the lookup.
func (l *fsLookup) ask(ctx context.Context, fsys effects.FS) {
	if by, ok := fsys.(stamps.FS); ok && l.op == opChoosing {
		// Before the names, so that a change in between makes the stamp outdated.
		if stamp, ok := by.OldStamp(l.path); ok {
			l.stamp = stamp
		}
	}
	switch l.op {
	case opLstat:
		l.mode, l.err = fsys.Lstat(l.path)
	case opReadlink:
		l.text, l.err = fsys.Readlink(l.path)
	case opReadFile:
		var data []byte
		data, l.err = fsys.ReadFile(l.path, l.limit)
		l.text = string(data)
	case opNames:
		if by, ok := fsys.(paths.Lister); ok {
			l.listing, l.stamp, l.err = by.Listing(l.path, int(l.limit))
		} else {
			l.listing, l.err = paths.ListingOf(fsys, l.path, int(l.limit))
		}
		if l.err == nil {
			l.text = l.listing.Text
		}
	case opChoosing:
		l.text, l.err = choosing(fsys, l.path)
	case opSurvey:
		l.text = surveyText(fsys, l.path, l.limit)
	case opLinks:
		l.text, l.err = linksText(ctx, fsys, l.path)
	}
	if l.err != nil {
		l.stamp = paths.Stamp{}
	}
}
