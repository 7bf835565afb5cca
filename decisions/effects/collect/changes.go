package collect

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// MayChange reports whether an earlier part of the call, or an earlier call, may write
// or delete a folded path for which is returns true.
func (c *Collector) MayChange(is func(written string) bool) bool {
	if slices.ContainsFunc(c.Call.Before.Written, is) {
		return true
	}
	if c.written == 0 {
		return false
	}
	for i := range c.Effects {
		if w := c.Effects[i].ChangedPath(); w != "" && is(w) {
			return true
		}
	}
	return false
}

// changesNothing reports whether MayChange has no path to look at.
func (c *Collector) changesNothing() bool { return len(c.Call.Before.Written) == 0 && c.written == 0 }

// Stale reports whether the file at a path may be changed or deleted by the time the
// call reads it, by an earlier part of the call or an earlier call. Nothing is known
// about paths below those that git checkout and similar commands change.
func (c *Collector) Stale(file string) bool {
	if c.changesNothing() {
		return false
	}
	f := lexpath.Fold(file)
	return c.MayChange(func(w string) bool { return effects.Covers(w, f) })
}

// changesBelow reports whether an earlier part of the call, or an earlier call, may write
// or delete something in a folder.
func (c *Collector) changesBelow(folder string) bool {
	if c.changesNothing() {
		return false
	}
	in := lexpath.Fold(folder) + "/"
	return c.MayChange(func(w string) bool { return strings.HasPrefix(w, in) })
}

// Writes reports whether an earlier part of the call, or an earlier call, writes the
// file.
func (c *Collector) Writes(file string) bool {
	f := "" // folded, once it is needed
	for i := range c.Effects {
		e := &c.Effects[i]
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
	if len(c.Call.Before.Written) == 0 {
		return false
	}
	f = lexpath.Fold(file)
	return slices.ContainsFunc(c.Call.Before.Written, func(w string) bool { return effects.Covers(w, f) })
}

// MakesRepository reports whether an earlier part of the call, or an earlier call, may
// make the folder a repository: with a .git in it, or with a HEAD, which every bare
// repository has.
func (c *Collector) MakesRepository(dir string) bool {
	if c.changesNothing() {
		return false
	}
	f := lexpath.Fold(dir)
	return c.MayChange(func(w string) bool {
		if effects.Covers(w, f) { // the folder itself, with its content
			return true
		}
		rest, ok := lexpath.RelBelow(f, w)
		head, _, _ := strings.Cut(rest, "/")
		return ok && (head == ".git" || head == "head")
	})
}

// ChangesGit reports whether an earlier part of the call, or an earlier call, may
// change what git obeys: configuration, attributes, hooks, the repository.
func (c *Collector) ChangesGit() bool {
	return c.MayChange(func(w string) bool {
		w = strings.TrimSuffix(w, "/")
		switch path.Base(w) {
		case ".gitconfig", ".gitattributes", ".gitmodules", "gitconfig", "gitattributes":
			return true
		}
		return strings.Contains(w+"/", "/.git/") || strings.Contains(w+"/", "/.config/git/")
	})
}

// Changes counts the call's changes so far to the meaning and content of paths.
func (c *Collector) Changes() int {
	n := len(c.Paths.Disturbed) + len(c.Rearranged) + c.written
	if c.Paths.Unknown {
		n++
	}
	return n
}

// After returns what the call may have changed for later calls.
func (c *Collector) After() effects.Disturbance {
	if len(c.Paths.Disturbed)+len(c.Rearranged) > effects.MaxDisturbed {
		return effects.UnknownDisturbance()
	}
	d := effects.Disturbance{Paths: slices.Clip(c.Paths.Disturbed), Trees: slices.Clip(c.Rearranged), Written: slices.Clip(c.Call.Before.Written), Unknown: c.Paths.Unknown}
	for i := range c.Effects {
		w := c.Effects[i].ChangedPath()
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

// ChangesIgnores reports whether an earlier part of the call, or an earlier call, may
// change ignore files.
func (c *Collector) ChangesIgnores() bool {
	return c.MayChange(func(w string) bool {
		dir, tree := strings.CutSuffix(w, "/")
		base := path.Base(dir)
		return tree || slices.Contains(paths.IgnoreNames, base) || base == "exclude" || base == "ignore" || strings.Contains(base, "gitconfig") || base == "config"
	})
}

// fetches reports whether a program in an earlier part of the call writes the file from
// the network.
func (c *Collector) fetches(file string) bool {
	f := lexpath.Fold(file)
	for i := range c.Effects {
		e := &c.Effects[i]
		if e.Kind != effects.KindWrite || e.Via == nil || !effects.Covers(e.ChangedPath(), f) {
			continue
		}
		if r := c.Effects[e.Via.Effect].Run; r != nil && c.NetworkProgram(r.Program) {
			return true
		}
	}
	return false
}

// MayMake reports whether an earlier part of the call, or an earlier call, may create
// one of the names in a folder.
func (c *Collector) MayMake(dir string, name func(string) bool) bool {
	if c.Paths.Unknown || slices.ContainsFunc(c.Rearranged, func(d string) bool { return d == "" || lexpath.In(d, dir) || lexpath.In(dir, d) }) {
		return true
	}
	f := lexpath.Fold(dir)
	in := func(p string) bool { return path.Dir(p) == f && name(path.Base(p)) }
	if slices.ContainsFunc(c.Paths.Disturbed, func(p string) bool { return in(lexpath.Fold(p)) || lexpath.In(lexpath.Fold(p), f) }) {
		return true
	}
	return c.MayChange(func(w string) bool {
		// A folder that is written as a whole may contain any names.
		return in(strings.TrimSuffix(w, "/")) || strings.HasSuffix(w, "/") && effects.Covers(w, f)
	})
}

// Changed implements [settings.Files].
func (c *Collector) Changed(file string) bool {
	return c.Writes(file) || c.Stale(file)
}

// Rewritten implements [settings.Files]. For a folder, it reports whether anything in it
// may be changed.
func (c *Collector) Rewritten(file string) bool {
	return c.Changed(file) || c.changesBelow(file) || c.Rearranges(file)
}

// ChangedBefore is Stale without the changes of the run with an index, and what follows.
func (c *Collector) ChangedBefore(run int, file string) bool {
	f := lexpath.Fold(file)
	changes := func(w string) bool { return w != "" && effects.Covers(w, f) }
	return slices.ContainsFunc(c.Call.Before.Written, changes) ||
		slices.ContainsFunc(c.Effects[:run], func(e effects.Effect) bool { return changes(e.ChangedPath()) })
}

// DeletedBefore reports whether something before the run with an index may delete a file or
// folder. Of earlier calls it is only known that they change it.
func (c *Collector) DeletedBefore(run int, file string) bool {
	f := lexpath.Fold(file)
	changes := func(w string) bool { return w != "" && effects.Covers(w, f) }
	return slices.ContainsFunc(c.Call.Before.Written, changes) ||
		slices.ContainsFunc(c.Effects[:run], func(e effects.Effect) bool { return e.Kind == effects.KindDelete && changes(e.ChangedPath()) })
}

// MadeBefore reports whether something before the run with an index may make a folder of that
// name: whatever writes the name, a file in it, or all below a folder that it lies in
// (git init, unzip -d, cp -r).
func (c *Collector) MadeBefore(run int, name string) bool {
	in := lexpath.Fold(name) + "/"
	within := func(w string) bool { return strings.HasPrefix(w, in) }
	return c.ChangedBefore(run, name) || slices.ContainsFunc(c.Call.Before.Written, within) ||
		slices.ContainsFunc(c.Effects[:run], func(e effects.Effect) bool { return within(e.ChangedPath()) })
}

// UnchangedBefore reports whether nothing before the run with an index, in this call or in others that are
// decided with it, may change a file.
func (c *Collector) UnchangedBefore(run int) bool {
	return c.Call.Before.None() && !slices.ContainsFunc(c.Effects[:run], func(e effects.Effect) bool {
		return e.Kind != effects.KindRead && (e.Run == nil || !e.Run.Readonly)
	})
}
