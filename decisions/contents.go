package decisions

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/targets"
)

// Content is a file whose content determines what a call does.
type Content struct {
	Path string // "" for files that are too many
	// Code is set if the call executes the content.
	Code bool
	// Sum identifies the content; it is "" if the content is not known.
	Sum string
}

// namedOnly reports whether a call names the file without being known to execute it.
func (c *Content) namedOnly() bool {
	return c.Path != "" && !c.Code && c.Sum != sumNothing && c.Sum != sumNoContent
}

// Sums of paths without content, and of files that cannot be read.
const (
	sumNothing     = "nothing"
	sumNoContent   = "no content" // a folder: what is run in it is not named
	sumNotReadable = "unreadable" // the daemon may not read it
)

// ErrNoContent means that what lies at a path is no file of data.
var ErrNoContent = errors.New("no file of data")

// Bounds of the files of one call: their number, and the length of a path; a longer one
// cannot be that of a file.
const (
	maxContents = 1024
	maxPath     = 4096
	// maxSummed bounds the bytes that are hashed for one call: less than a second's work.
	maxSummed = 256 << 20
)

// contents returns the files whose content determines what a call does, if the call is
// left to the person: the scripts and the texts of targets that it runs, then the files
// that it reads or names, which may be code as well (sh < file, psql -f file). An
// approval of the call does not cover what these files contain later. For other calls it
// returns nil.
func (e *Engine) contents(m *evaluation, d *Decision) []Content {
	if d.Verdict != Ask && !e.allContents || e.takeApproval == nil && e.digest == nil {
		return nil
	}
	var list []Content
	add := func(file string, code bool) {
		switch {
		case !path.IsAbs(file) || len(file) > maxPath || len(list) > maxContents:
		case slices.ContainsFunc(list, func(c Content) bool { return c.Path == file }):
		case len(list) == maxContents:
			list = append(list, Content{Code: true}) // more than can be told
		default:
			list = append(list, Content{Path: file, Code: code})
		}
	}
	for i := range m.res.Effects {
		r := m.res.Effects[i].Run
		if r == nil {
			continue
		}
		if r.Script != nil {
			add(r.Script.Path, true)
		}
		for _, file := range targets.Files(e.fs, r, &m.call.User) {
			add(file, true)
		}
	}
	if !executes(m.res.Effects) {
		return nil // whatever they hold by then, it is shown and not obeyed
	}
	for i := range m.res.Effects {
		switch eff := &m.res.Effects[i]; eff.Kind {
		case effects.KindRead:
			if eff.File != nil {
				add(eff.File.Path, false)
			}
		case effects.KindRun:
			if eff.Run == nil {
				continue
			}
			for _, word := range eff.Run.Args {
				_, value, _ := strings.Cut(word, "=")
				for _, name := range []string{word, value} {
					if name != "" && !strings.HasPrefix(name, "-") && !strings.ContainsRune(name, 0) {
						add(targets.InFolder(eff.Run.Cwd, name), false)
					}
				}
			}
		case effects.KindWrite, effects.KindDelete, effects.KindConnect, effects.KindUse, effects.KindState, effects.KindMode,
			effects.KindQuestion, effects.KindUnknown:
		}
	}
	e.sum(list)
	return list
}

// executes reports whether a part of the call may run what it reads: one that is not
// known to be read-only.
func executes(effs []effects.Effect) bool {
	return slices.ContainsFunc(effs, func(e effects.Effect) bool {
		switch e.Kind {
		case effects.KindRun:
			return e.Run == nil || !e.Run.Readonly
		case effects.KindRead, effects.KindWrite, effects.KindDelete, effects.KindConnect, effects.KindUse, effects.KindMode,
			effects.KindQuestion:
			return false
		case effects.KindUnknown, effects.KindState:
		}
		return true
	})
}

// sum sets the sums of the files.
func (e *Engine) sum(list []Content) {
	if e.digest == nil {
		return
	}
	left := e.maxSummed
	for i := range list {
		c := &list[i]
		if c.Path == "" {
			continue
		}
		sum, n, err := e.digest(c.Path, left)
		left -= n
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.Sum = sumNothing
		case errors.Is(err, ErrNoContent):
			c.Sum = sumNoContent
		case errors.Is(err, fs.ErrPermission) && !c.Code:
			c.Sum = sumNotReadable
		case err == nil:
			c.Sum = sum
		}
	}
}
