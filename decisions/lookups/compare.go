package lookups

import (
	"context"
	"errors"
	"io/fs"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/stamps"
	"github.com/permd/permd/decisions/underway"
)

// yielder is a context that lets others go first between two steps that take long.
type yielder interface{ GiveWay() }

// goesOn gives way, and reports whether there is time for another step.
func goesOn(ctx context.Context) bool {
	if y, ok := ctx.(yielder); ok {
		y.GiveWay()
	}
	return ctx.Err() == nil
}

const _ = uint(stamps.Most - maxLookups) // a set has room for all lookups of a call

// Found returns what lookups have found, in the words of package stamps.
func Found(looks []Lookup) []stamps.Lookup {
	list := make([]stamps.Lookup, len(looks))
	for i := range looks {
		l := &looks[i]
		list[i].Path = l.path
		switch {
		case l.err != nil: // fs.ErrNotExist, or it were not cached
			list[i].Found = stamps.Missing
		case l.op == opLstat && l.mode.IsDir():
			list[i].Found = stamps.Folder
		case l.op == opNames, l.op == opChoosing:
			list[i].Found = stamps.Names
		}
	}
	return list
}

// lookupsPerCheck is how many lookups are compared before it is asked whether there is
// time for more: asking takes a tenth of the time of one.
const lookupsPerCheck = 8

// Unchanged reports whether each of these lookups still has the same result, but for those
// of which it is known. It reports false if there is no time to find out.
func Unchanged(ctx context.Context, fsys effects.FS, looks []Lookup, known stamps.Set) bool {
	work := underway.Of(ctx)
	defer work.Enter(underway.AtRules)
	for i := range looks {
		if i%lookupsPerCheck == lookupsPerCheck-1 && ctx.Err() != nil {
			return false
		}
		if known.Has(i) {
			continue
		}
		l := &looks[i]
		work.Visit(underway.AtFiles, l.path)
		if l.err != nil { // fs.ErrNotExist, of which lstat needs no memory
			if _, err := fsys.Lstat(l.path); !errors.Is(err, fs.ErrNotExist) {
				return false
			}
			continue
		}
		switch l.op {
		case opLstat:
			mode, err := fsys.Lstat(l.path)
			if mode != l.mode || err != nil {
				return false
			}
		case opReadlink:
			text, err := fsys.Readlink(l.path)
			if text != l.text || err != nil {
				return false
			}
		case opReadFile:
			if !l.sameContent(fsys) {
				return false
			}
		case opNames:
			if l.sameNames(fsys) {
				continue
			}
			listing, err := paths.ListingOf(fsys, l.path, int(l.limit))
			if err != nil || listing.Text != l.text {
				return false
			}
		case opChoosing:
			if l.sameNames(fsys) {
				continue
			}
			text, err := choosing(fsys, l.path)
			if text != l.text || err != nil {
				return false
			}
		case opSurvey:
			if surveyText(fsys, l.path, l.limit) != l.text {
				return false
			}
		case opLinks:
			if text, err := linksText(ctx, fsys, l.path); text != l.text || err != nil {
				return false
			}
		}
	}
	return true
}

// sameContent reports whether a file still has the same content.
func (l *Lookup) sameContent(fsys effects.FS) bool {
	by, ok := fsys.(paths.Comparer)
	if !ok {
		data, err := fsys.ReadFile(l.path, l.limit)
		return string(data) == l.text && err == nil
	}
	same, err := by.Holds(l.path, l.limit, l.text)
	return same && err == nil
}
