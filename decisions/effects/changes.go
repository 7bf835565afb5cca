package effects

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

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
	f := lexpath.Fold(file)
	return b.mayChange(func(w string) bool { return covers(w, f) })
}

// writes reports whether the text of the file is that of an earlier part of the
// call, or of an earlier call.
func (b *builder) writes(file string) bool {
	f := lexpath.Fold(file)
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
	f := lexpath.Fold(dir)
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

// changes counts what the call changed so far of what paths mean and hold.
func (b *builder) changes() int {
	n := len(b.res.disturbed) + len(b.rearranged) + b.written
	if b.res.lost {
		n++
	}
	return n
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

// changesIgnores reports whether an earlier part of the call, or an earlier call,
// may change what ignore files say.
func (b *builder) changesIgnores() bool {
	return b.mayChange(func(w string) bool {
		dir, tree := strings.CutSuffix(w, "/")
		base := path.Base(dir)
		return tree || slices.Contains(ignoreNames, base) || base == "exclude" || base == "ignore" || strings.Contains(base, "gitconfig") || base == "config"
	})
}

// fetches reports whether an earlier part of the call, a program that fetches
// from the network, writes the file.
func (b *builder) fetches(file string) bool {
	f := lexpath.Fold(file)
	for i := range b.effects {
		e := &b.effects[i]
		if e.Kind != KindWrite || e.Via == nil || !covers(e.changed(), f) {
			continue
		}
		if r := b.effects[e.Via.Effect].Run; r != nil && b.networkProgram(r.Program) {
			return true
		}
	}
	return false
}
