package effects

import (
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// Disturbance is what calls may change of what paths lead to and hold: they
// link, move, extract or write something there. What is not known any more of a
// path is not known to a call that comes after them. The zero value is none.
type Disturbance struct {
	Paths []string // what is linked or moved
	Trees []string // folders that may hold links anywhere, "" for all
	// Written is what files are written or deleted, folded; a folder of which
	// everything may be ends in a slash.
	Written []string
	Lost    bool // it cannot be told what
}

// Everything is the disturbance by a call of which nothing is known.
func Everything() Disturbance { return Disturbance{Lost: true, Written: []string{"/"}} }

// None reports whether nothing is changed.
func (d *Disturbance) None() bool {
	return !d.Lost && len(d.Paths) == 0 && len(d.Trees) == 0 && len(d.Written) == 0
}

// Known reports whether it can be told what is changed.
func (d *Disturbance) Known() bool { return !d.Lost && !slices.Contains(d.Written, "/") }

// MaxDisturbed bounds what is remembered from call to call; over it, nothing
// is known.
const MaxDisturbed = 256

// Wrote reports whether the calls may write or delete the file at an absolute
// path, so that what it holds now says nothing of what it will hold then.
func (d *Disturbance) Wrote(file string) bool {
	if d.Lost || len(d.Written) == 0 && len(d.Trees) == 0 {
		return d.Lost
	}
	f := lexpath.Fold(file)
	return slices.ContainsFunc(d.Written, func(w string) bool { return Covers(w, f) }) ||
		slices.ContainsFunc(d.Trees, func(dir string) bool { return dir == "" || lexpath.In(lexpath.Fold(dir), f) })
}

// Covers reports whether what is written, as in Disturbance, has a folded path
// in it.
func Covers(written, folded string) bool {
	return written != "" && written == folded || strings.HasSuffix(written, "/") && strings.HasPrefix(folded+"/", written)
}

// Changed is what an effect writes or deletes, in the form of Disturbance; ""
// for nothing. To delete a folder or to move it is to change all below.
func (e *Effect) Changed() string {
	if e.File == nil || e.FromOverlay {
		return ""
	}
	switch e.Kind {
	case KindWrite, KindDelete:
	case KindRun, KindRead, KindConnect, KindUse, KindState, KindMode, KindQuestion, KindUnknown:
		return ""
	}
	f := lexpath.Fold(e.File.Path)
	if (e.File.Recursive || e.Kind == KindDelete) && f != "/" {
		f += "/"
	}
	return f
}
