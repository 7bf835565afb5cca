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
	paths []string // what is linked or moved
	trees []string // folders that may hold links anywhere, "" for all
	// written is what files are written or deleted, folded; a folder of which
	// everything may be ends in a slash.
	written []string
	lost    bool // it cannot be told what
}

// Everything is the disturbance by a call of which nothing is known.
func Everything() Disturbance { return Disturbance{lost: true, written: []string{"/"}} }

// None reports whether nothing is changed.
func (d *Disturbance) None() bool {
	return !d.lost && len(d.paths) == 0 && len(d.trees) == 0 && len(d.written) == 0
}

// Known reports whether it can be told what is changed.
func (d *Disturbance) Known() bool { return !d.lost && !slices.Contains(d.written, "/") }

// maxDisturbed bounds what is remembered from call to call; over it, nothing
// is known.
const maxDisturbed = 256

// Wrote reports whether the calls may write or delete the file at an absolute
// path, so that what it holds now says nothing of what it will hold then.
func (d *Disturbance) Wrote(file string) bool {
	if d.lost || len(d.written) == 0 && len(d.trees) == 0 {
		return d.lost
	}
	f := lexpath.Fold(file)
	return slices.ContainsFunc(d.written, func(w string) bool { return covers(w, f) }) ||
		slices.ContainsFunc(d.trees, func(dir string) bool { return dir == "" || lexpath.In(lexpath.Fold(dir), f) })
}

// covers reports whether what is written, as in Disturbance, has a folded path
// in it.
func covers(written, folded string) bool {
	return written != "" && written == folded || strings.HasSuffix(written, "/") && strings.HasPrefix(folded+"/", written)
}

// changed is what an effect writes or deletes, in the form of Disturbance; ""
// for nothing. To delete a folder or to move it is to change all below.
func (e *Effect) changed() string {
	if e.File == nil || e.Opinion || e.Kind != KindWrite && e.Kind != KindDelete {
		return ""
	}
	f := lexpath.Fold(e.File.Path)
	if (e.File.Recursive || e.Kind == KindDelete) && f != "/" {
		f += "/"
	}
	return f
}
