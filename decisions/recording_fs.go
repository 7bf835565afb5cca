package decisions

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// Bounds of what is kept of a call's looks at the file system; a call that
// looks at more is not kept.
const (
	maxLookups     = 64
	maxLookupBytes = 64 << 10 // of files' contents
)

// recordingFS is the file system as one call sees it. It asks for each thing once,
// so that all parts of a decision see the same moment, and it notes what
// it was told, so that a later call can find out whether it would be told the
// same. It belongs to one call.
type recordingFS struct {
	fs effects.FS
	// ctx ends the time to look at anything; nil for none.
	ctx     context.Context
	lookups []fsLookup
	bytes   int
	// uncomparable is set when something was told that cannot be compared.
	uncomparable bool
	// unanswered is why something is not known that the file system was asked for, ""
	// if all is known (see unanswered).
	unanswered string
}

// fsLookup is one question to the file system with its answer.
type fsLookup struct {
	op    lookupOp
	path  string
	limit int64 // of a read, in bytes, or of a list of names

	mode fs.FileMode
	text string // a link's target, a file's content, a folder's names, what a survey says
	err  error
}

type lookupOp uint8

const (
	opLstat lookupOp = iota
	opReadlink
	opReadFile
	opNames
	opChoosing
	opSurvey // limit is how much of the path is the project's root
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

// Names implements effects.FS. The entries know their names and types alone:
// these are what is compared later.
func (o *recordingFS) Names(path string, limit int) ([]fs.DirEntry, error) {
	l := o.lookup(fsLookup{op: opNames, path: path, limit: int64(limit)})
	if l.err != nil || l.text == "" {
		return nil, l.err
	}
	var entries []fs.DirEntry
	for line := range strings.SplitSeq(l.text, "\x00") {
		kind, name, _ := strings.Cut(line, "/")
		n, err := strconv.ParseUint(kind, 16, 32)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name, fs.FileMode(n)})
	}
	return entries, nil
}

// entry is a name in a folder with its type.
type entry struct {
	name string
	mode fs.FileMode
}

func (e entry) Name() string               { return e.name }
func (e entry) Type() fs.FileMode          { return e.mode }
func (e entry) IsDir() bool                { return e.mode.IsDir() }
func (e entry) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

// names asks for the names in a folder, as text: a name holds neither a slash
// nor a zero.
func names(fsys effects.FS, path string, limit int64) (string, error) {
	entries, err := fsys.Names(path, int(limit))
	if err != nil {
		return "", err
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		lines[i] = strconv.FormatUint(uint64(e.Type()), 16) + "/" + e.Name()
	}
	slices.SortFunc(lines, func(a, b string) int {
		_, a, _ = strings.Cut(a, "/")
		_, b, _ = strings.Cut(b, "/")
		return strings.Compare(a, b)
	})
	return strings.Join(lines, "\x00"), nil
}

// Owner implements effects.FS. It is not compared later.
func (o *recordingFS) Owner(path string) (uint32, error) {
	o.uncomparable = true
	if err := o.late(); err != nil {
		return 0, err
	}
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
		id, err := by.Identity(path)
		o.note(path, err)
		return id, err
	}
	return paths.Identity{}, errors.ErrUnsupported
}

// Survey implements paths.Surveyor. A file system that is none has nothing to
// say, and nothing is in doubt then.
func (o *recordingFS) Survey(root, dir string) paths.Survey {
	if !strings.HasPrefix(dir, root) {
		return paths.Survey{Incomplete: true}
	}
	l := o.lookup(fsLookup{op: opSurvey, path: dir, limit: int64(len(root))})
	var s paths.Survey
	s.Incomplete = strings.HasPrefix(l.text, incompleteMark)
	for name := range strings.SplitSeq(strings.TrimPrefix(l.text, incompleteMark), "\x00") {
		switch link, isLink := strings.CutPrefix(name, linkMark); {
		case isLink:
			s.Links = append(s.Links, link)
		case name != "":
			s.Secrets = append(s.Secrets, name)
		}
	}
	return s
}

// Choosing is what package paths asks a file system for that knows names in a folder.
func (o *recordingFS) Choosing(dir string) ([]string, error) {
	l := o.lookup(fsLookup{op: opChoosing, path: dir})
	if l.err != nil || l.text == "" {
		return nil, l.err
	}
	return strings.Split(l.text, "\x00"), nil
}

// choosing asks for the names that choose versions, as text.
func choosing(fsys effects.FS, path string) (string, error) {
	names, err := paths.Choosing(fsys, path)
	return strings.Join(names, "\x00"), err
}

const (
	incompleteMark = "?" // precedes the names of a survey that is
	linkMark       = "@" // precedes the name of a link
)

// surveyText asks for a survey, as text: absolute paths hold no zero.
func surveyText(fsys effects.FS, path string, root int64) string {
	by, ok := fsys.(paths.Surveyor)
	if !ok {
		return ""
	}
	s := by.Survey(path[:root], path)
	text := strings.Join(s.Secrets, "\x00")
	for _, link := range s.Links {
		text += "\x00" + linkMark + link
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
	if l.err = o.late(); l.err == nil {
		l.ask(o.fs)
		o.note(l.path, l.err)
	}
	// Only "does not exist" means the same each time; what other errors say is
	// not taken for known.
	if l.err != nil && !errors.Is(l.err, fs.ErrNotExist) {
		o.uncomparable = true
	}
	// What is kept must not hold on to the message that the path came in.
	l.path = strings.Clone(l.path)
	if o.bytes += len(l.text); len(o.lookups) >= maxLookups || o.bytes > maxLookupBytes {
		o.uncomparable = true
		return l
	}
	if o.lookups == nil {
		o.lookups = make([]fsLookup, 0, 16)
	}
	o.lookups = append(o.lookups, l)
	return l
}

// ask puts the question.
func (l *fsLookup) ask(fsys effects.FS) {
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
		l.text, l.err = names(fsys, l.path, l.limit)
	case opChoosing:
		l.text, l.err = choosing(fsys, l.path)
	case opSurvey:
		l.text = surveyText(fsys, l.path, l.limit)
	}
}

// unchanged reports whether the file system still gives the same answer to each of
// these questions.
func unchanged(fsys effects.FS, looks []fsLookup) bool {
	for i := range looks {
		l := &looks[i]
		switch l.op {
		case opLstat:
			mode, err := fsys.Lstat(l.path)
			if mode != l.mode || !sameError(err, l.err) {
				return false
			}
		case opReadlink:
			text, err := fsys.Readlink(l.path)
			if text != l.text || !sameError(err, l.err) {
				return false
			}
		case opReadFile:
			data, err := fsys.ReadFile(l.path, l.limit)
			if !bytes.Equal(data, []byte(l.text)) || !sameError(err, l.err) {
				return false
			}
		case opNames:
			text, err := names(fsys, l.path, l.limit)
			if text != l.text || !sameError(err, l.err) {
				return false
			}
		case opChoosing:
			text, err := choosing(fsys, l.path)
			if text != l.text || !sameError(err, l.err) {
				return false
			}
		case opSurvey:
			if surveyText(fsys, l.path, l.limit) != l.text {
				return false
			}
		}
	}
	return true
}

// sameError compares with an error that was noted: nil, or that it does not
// exist.
func sameError(now, then error) bool {
	if now == nil || then == nil {
		return now == nil && then == nil
	}
	return errors.Is(now, fs.ErrNotExist)
}
