package effects

import (
	"path"
	"slices"
	"strings"
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
	f := fold(file)
	return slices.ContainsFunc(d.written, func(w string) bool { return covers(w, f) }) ||
		slices.ContainsFunc(d.trees, func(dir string) bool { return dir == "" || inside(fold(dir), f) })
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
	f := fold(e.File.Path)
	if (e.File.Recursive || e.Kind == KindDelete) && f != "/" {
		f += "/"
	}
	return f
}

// mayChange reports whether an earlier part of the call, or an earlier call,
// may write or delete one of the folded paths that is is true for.
func (b *builder) mayChange(is func(written string) bool) bool {
	if slices.ContainsFunc(b.c.Before.written, is) {
		return true
	}
	if b.written == 0 {
		return false
	}
	for i := range b.effects {
		if w := b.effects[i].changed(); w != "" && is(w) {
			return true
		}
	}
	return false
}

// stale reports whether the file at a path may be another one, or gone, when the
// call gets to it: an earlier part of the call, or an earlier call, may write or
// delete it. Paths below what git checkout and its like change are not known at
// all by then.
func (b *builder) stale(file string) bool {
	f := fold(file)
	return b.mayChange(func(w string) bool { return covers(w, f) })
}

// writes reports whether the text of the file is that of an earlier part of the
// call, or of an earlier call.
func (b *builder) writes(file string) bool {
	f := fold(file)
	for i := range b.effects {
		if e := &b.effects[i]; e.Kind == KindWrite && covers(e.changed(), f) {
			return true
		}
	}
	return slices.ContainsFunc(b.c.Before.written, func(w string) bool { return covers(w, f) })
}

// makesRepository reports whether an earlier part of the call, or an earlier
// call, may make the folder a repository: with a .git in it, or with a HEAD, the
// one file without which no folder is a bare one.
func (b *builder) makesRepository(dir string) bool {
	f := fold(dir)
	return b.mayChange(func(w string) bool {
		if covers(w, f) { // the folder itself, with all that is in it
			return true
		}
		rest, ok := strings.CutPrefix(w, f+"/")
		head, _, _ := strings.Cut(rest, "/")
		return ok && (head == ".git" || head == "head")
	})
}

// changesGit reports whether an earlier part of the call, or an earlier call,
// may change what git obeys: a configuration, attributes, hooks, the repository.
func (b *builder) changesGit() bool {
	return b.mayChange(func(w string) bool {
		w = strings.TrimSuffix(w, "/")
		switch path.Base(w) {
		case ".gitconfig", ".gitattributes", ".gitmodules", "gitconfig", "gitattributes":
			return true
		}
		return strings.Contains(w+"/", "/.git/") || strings.Contains(w+"/", "/.config/git/")
	})
}

// after is the disturbance that the call leaves.
func (b *builder) after() Disturbance {
	if len(b.res.disturbed)+len(b.rearranged) > maxDisturbed {
		return Everything()
	}
	d := Disturbance{paths: slices.Clip(b.res.disturbed), trees: slices.Clip(b.rearranged), written: slices.Clip(b.c.Before.written), lost: b.res.lost}
	for i := range b.effects {
		w := b.effects[i].changed()
		if w == "" || slices.Contains(d.written, w) {
			continue
		}
		if len(d.written) >= maxDisturbed {
			d.written = []string{"/"}
			break
		}
		d.written = append(d.written, w)
	}
	return d
}
