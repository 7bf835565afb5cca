package paths

import (
	"errors"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// maxChoosing is how many such names one folder may hold.
const maxChoosing = 64

// chooser is a file system that knows which names in a folder may be those of
// files that choose what a shim becomes, without looking at it again when it has not changed.
type chooser interface {
	Choosing(dir string) ([]string, error)
}

// Choosing returns the names in a folder that may choose what a shim becomes.
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

// choice is what a folder was found to hold.
type choice struct {
	dir   string
	names []string
	err   error
}

// Choosing asks for the names in a folder that may choose what a shim becomes,
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
