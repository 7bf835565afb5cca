package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// mayChange reports whether an earlier part of the call, or an earlier call, may write
// or delete a folded path for which is returns true.
func (b *Builder) mayChange(is func(written string) bool) bool {
	if slices.ContainsFunc(b.Call.Before.Written, is) {
		return true
	}
	if b.written == 0 {
		return false
	}
	for i := range b.Effects {
		if w := b.Effects[i].ChangedPath(); w != "" && is(w) {
			return true
		}
	}
	return false
}

// changesNothing reports whether mayChange has no path to look at.
func (b *Builder) changesNothing() bool { return len(b.Call.Before.Written) == 0 && b.written == 0 }

// Stale reports whether the file at a path may be changed or deleted by the time the
// call reads it, by an earlier part of the call or an earlier call. Nothing is known
// about paths below those that git checkout and similar commands change.
func (b *Builder) Stale(file string) bool {
	if b.changesNothing() {
		return false
	}
	f := lexpath.Fold(file)
	return b.mayChange(func(w string) bool { return effects.Covers(w, f) })
}

// changesBelow reports whether an earlier part of the call, or an earlier call, may write
// or delete something in a folder.
func (b *Builder) changesBelow(folder string) bool {
	if b.changesNothing() {
		return false
	}
	in := lexpath.Fold(folder) + "/"
	return b.mayChange(func(w string) bool { return strings.HasPrefix(w, in) })
}

// writes reports whether an earlier part of the call, or an earlier call, writes the
// file.
func (b *Builder) writes(file string) bool {
	f := "" // folded, once it is needed
	for i := range b.Effects {
		e := &b.Effects[i]
		if e.Kind != effects.KindWrite {
			continue
		}
		if f == "" {
			f = lexpath.Fold(file)
		}
		if effects.Covers(e.ChangedPath(), f) {
			return true
		}
	}
	if len(b.Call.Before.Written) == 0 {
		return false
	}
	f = lexpath.Fold(file)
	return slices.ContainsFunc(b.Call.Before.Written, func(w string) bool { return effects.Covers(w, f) })
}

// makesRepository reports whether an earlier part of the call, or an earlier call, may
// make the folder a repository: with a .git in it, or with a HEAD, which every bare
// repository has.
func (b *Builder) makesRepository(dir string) bool {
	if b.changesNothing() {
		return false
	}
	f := lexpath.Fold(dir)
	return b.mayChange(func(w string) bool {
		if effects.Covers(w, f) { // the folder itself, with its content
			return true
		}
		rest, ok := lexpath.RelBelow(f, w)
		head, _, _ := strings.Cut(rest, "/")
		return ok && (head == ".git" || head == "head")
	})
}

// changesGit reports whether an earlier part of the call, or an earlier call, may
// change what git obeys: configuration, attributes, hooks, the repository.
func (b *Builder) changesGit() bool {
	return b.mayChange(func(w string) bool {
		w = strings.TrimSuffix(w, "/")
		switch path.Base(w) {
		case ".gitconfig", ".gitattributes", ".gitmodules", "gitconfig", "gitattributes":
			return true
		}
		return strings.Contains(w+"/", "/.git/") || strings.Contains(w+"/", "/.config/git/")
	})
}

// Changes counts the call's changes so far to the meaning and content of paths.
func (b *Builder) Changes() int {
	n := len(b.Paths.Disturbed) + len(b.Rearranged) + b.written
	if b.Paths.Unknown {
		n++
	}
	return n
}

// After returns what the call may have changed for later calls.
func (b *Builder) After() effects.Disturbance {
	if len(b.Paths.Disturbed)+len(b.Rearranged) > effects.MaxDisturbed {
		return effects.UnknownDisturbance()
	}
	d := effects.Disturbance{Paths: slices.Clip(b.Paths.Disturbed), Trees: slices.Clip(b.Rearranged), Written: slices.Clip(b.Call.Before.Written), Unknown: b.Paths.Unknown}
	for i := range b.Effects {
		w := b.Effects[i].ChangedPath()
		if w == "" || slices.Contains(d.Written, w) {
			continue
		}
		if len(d.Written) >= effects.MaxDisturbed {
			d.Written = []string{"/"}
			break
		}
		d.Written = append(d.Written, w)
	}
	return d
}

// changesIgnores reports whether an earlier part of the call, or an earlier call, may
// change ignore files.
func (b *Builder) changesIgnores() bool {
	return b.mayChange(func(w string) bool {
		dir, tree := strings.CutSuffix(w, "/")
		base := path.Base(dir)
		return tree || slices.Contains(paths.IgnoreNames, base) || base == "exclude" || base == "ignore" || strings.Contains(base, "gitconfig") || base == "config"
	})
}

// fetches reports whether a program in an earlier part of the call writes the file from
// the network.
func (b *Builder) fetches(file string) bool {
	f := lexpath.Fold(file)
	for i := range b.Effects {
		e := &b.Effects[i]
		if e.Kind != effects.KindWrite || e.Via == nil || !effects.Covers(e.ChangedPath(), f) {
			continue
		}
		if r := b.Effects[e.Via.Effect].Run; r != nil && b.NetworkProgram(r.Program) {
			return true
		}
	}
	return false
}
