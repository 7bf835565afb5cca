package paths

import (
	"errors"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// maxChoosing is the maximum number of such names in one folder.
const maxChoosing = 64

// chooser is a file system that caches which names in a folder may be files that
// determine what a shim runs, until the folder changes.
type chooser interface {
	Choosing(dir string) ([]string, error)
}

// Choosing returns the names in a folder that may determine what a shim runs.
func Choosing(fsys effects.FS, dir string) ([]string, error) {
	if c, ok := fsys.(chooser); ok {
		return c.Choosing(dir)
	}
	return listChoosing(fsys, dir)
}

func listChoosing(fsys effects.FS, dir string) ([]string, error) {
	entries, err := fsys.Names(dir, maxEntries)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !effects.MayChoose(e.Name()) {
			continue
		}
		if len(names) >= maxChoosing {
			return nil, errors.New("too many files that choose versions")
		}
		names = append(names, strings.Clone(e.Name()))
	}
	slices.Sort(names)
	return names, nil
}

// choice is the result of Choosing for a folder.
type choice struct {
	dir   string
	names []string
	err   error
}

// Choosing returns the names in a folder that may determine what a shim runs, read
// once in a call.
func (r *Resolver) Choosing(dir string) ([]string, error) {
	for i := range r.choices {
		if r.choices[i].dir == dir {
			return r.choices[i].names, r.choices[i].err
		}
	}
	names, err := Choosing(r.fs, dir)
	if r.choices == nil {
		r.choices = make([]choice, 0, 8)
	}
	r.choices = append(r.choices, choice{dir, names, err})
	return names, err
}
