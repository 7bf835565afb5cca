package lookups

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/stamps"
)

// Lookup is one read access to the file system, with its result.
type Lookup struct {
	op    op
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
func (l *Lookup) sameNames(fsys effects.FS) bool {
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

type op uint8

const (
	opLstat op = iota
	opReadlink
	opReadFile
	opNames
	opChoosing
	opSurvey // limit is the length of the project's root in path
	opLinks
)

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
	surveyNested   = "\x00\x00" // between secrets, folders with repositories, and links
)

// surveyText reads a survey as one text: absolute paths contain no NUL.
func surveyText(fsys effects.FS, path string, root int64) string {
	by, ok := fsys.(paths.Surveyor)
	if !ok {
		return ""
	}
	s := by.Survey(path[:root], path)
	text := strings.Join(s.Secrets, "\x00")
	if len(s.Nested)+len(s.Ignores) > 0 {
		text += surveyNested + strings.Join(s.Nested, "\x00")
	}
	if len(s.Ignores) > 0 {
		text += surveyNested + strings.Join(s.Ignores, "\x00")
	}
	if s.Incomplete {
		text = incompleteMark + text
	}
	return text
}

// ask performs the lookup.
func (l *Lookup) ask(ctx context.Context, fsys effects.FS) {
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
