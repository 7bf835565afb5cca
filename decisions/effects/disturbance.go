package effects

import (
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// Disturbance is what earlier calls may have changed about the targets and contents of
// paths: they link, move, extract or write there. Later calls treat these paths as
// unknown. The zero value means no changes.
type Disturbance struct {
	Paths []string // that are linked or moved
	Trees []string // folders that may hold links anywhere, "" for all
	// Written are the paths that are written or deleted, folded; one that ends in a slash
	// includes everything below it.
	Written []string
	Unknown bool // paths may be changed that are not listed
}

// UnknownDisturbance is the disturbance by a call of which nothing is known.
func UnknownDisturbance() Disturbance { return Disturbance{Unknown: true, Written: []string{"/"}} }

// None reports whether nothing is changed.
func (d *Disturbance) None() bool {
	return !d.Unknown && len(d.Paths) == 0 && len(d.Trees) == 0 && len(d.Written) == 0
}

// Known reports whether all changes are listed.
func (d *Disturbance) Known() bool { return !d.Unknown && !slices.Contains(d.Written, "/") }

// MaxDisturbed bounds each list of changed paths; beyond it, nothing is known.
const MaxDisturbed = 256

// MayWrite reports whether the calls may write or delete the file at an absolute path,
// so that its content when it is used is not known.
func (d *Disturbance) MayWrite(file string) bool {
	if d.Unknown || len(d.Written) == 0 && len(d.Trees) == 0 {
		return d.Unknown
	}
	f := lexpath.Fold(file)
	return slices.ContainsFunc(d.Written, func(w string) bool { return Covers(w, f) }) ||
		slices.ContainsFunc(d.Trees, func(dir string) bool { return dir == "" || lexpath.In(lexpath.Fold(dir), f) })
}

// MayWriteBelow reports whether the calls may write or delete a file below a folder, at
// an absolute path.
func (d *Disturbance) MayWriteBelow(folder string) bool {
	f := lexpath.Fold(folder)
	return d.MayWrite(folder) ||
		slices.ContainsFunc(d.Written, func(w string) bool { return lexpath.In(f, strings.TrimSuffix(w, "/")) }) ||
		slices.ContainsFunc(d.Trees, func(dir string) bool { return lexpath.In(f, lexpath.Fold(dir)) })
}

// Covers reports whether an element of Disturbance.Written includes a folded path.
func Covers(written, folded string) bool {
	return written != "" && written == folded || strings.HasSuffix(written, "/") && strings.HasPrefix(folded+"/", written)
}

// ChangedPath returns the path that an effect writes or deletes, as in
// Disturbance.Written; "" if there is none. Deleting or moving a folder changes
// everything below it.
func (e *Effect) ChangedPath() string {
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
