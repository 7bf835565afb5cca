package git

import (
	"path"
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lexpath"
)

// compared adds the reads of the files or folders that git diff compares as diff does, whether they
// are tracked or not: with --no-index, and where it is not certain that there is a repository
// and that all operands lie in its working tree (cmd_diff in its builtin/diff.c).
func (r *Run) compared() {
	if r.Sub != "diff" {
		return
	}
	operands := r.operands()
	several := len(operands) > 1 || len(operands) == 1 && r.mayBeSeveral(operands[0])
	explicit := r.has([]string{"--no-index"})
	if !explicit && (!several || r.namesNothing(operands) || r.allTracked(operands)) {
		return
	}
	for _, i := range operands {
		w := &r.Args[i]
		if w.Dynamic() {
			continue // it asks already
		}
		if !explicit {
			r.Into.Unknown(i, "files that git may compare although it does not track them")
		}
		for _, dir := range r.comparedFrom(explicit) {
			e := r.Call.Operand(effects.KindRead, w.Text, dir, r.From)
			if e.File == nil {
				continue
			}
			if mode, err := r.Call.Paths.Lstat(e.File.Path); err != nil || !mode.IsRegular() {
				r.Call.Paths.Recurse(&e, false)
			}
			if !r.added(i, &e) {
				r.Into.Add(i, e)
			}
		}
	}
}

// comparedFrom returns the folders that operands may be relative to. Before git finds that it does
// not know the version of a repository it has gone to the top of its working tree, and stays there.
func (r *Run) comparedFrom(explicit bool) []string {
	top := r.fromRoot(".")
	if explicit || !path.IsAbs(top) || path.Clean(top) == r.Cwd {
		return []string{r.Cwd}
	}
	return []string{r.Cwd, path.Clean(top)}
}

// added reports whether a word of the run has an effect already.
func (r *Run) added(i int, e *effects.Effect) bool {
	list := r.Call.Effects
	for n := len(list) - 1; n >= 0; n-- {
		if list[n].Run != nil {
			list = list[n:]
			break
		}
	}
	return slices.ContainsFunc(list, func(other effects.Effect) bool {
		return other.Via != nil && other.Via.Arg == i && other.Text == e.Text && other.File != nil && other.File.Path == e.File.Path && other.File.Recursive == e.File.Recursive
	})
}

// mayBeSeveral reports whether a word may become several, or another one, before the run.
func (r *Run) mayBeSeveral(i int) bool {
	w := &r.Args[i]
	return w.Dynamic() || w.Glob && !w.One || w.Several || w.Tree
}

// namesNothing reports whether one of the first two operands, which git would compare, is certainly
// no file, so that git fails. Further operands only limit what is compared.
func (r *Run) namesNothing(operands []int) bool {
	for n, i := range operands {
		w := &r.Args[i]
		if n > 1 || r.mayBeSeveral(i) {
			return false
		}
		if w.Glob || w.One || w.Text == "-" {
			continue
		}
		if r.Call.Changes() == 0 && !slices.ContainsFunc(r.comparedFrom(false), func(dir string) bool {
			e := r.Call.Operand(effects.KindRead, w.Text, dir, r.From)
			return e.File == nil || !missing(r.Call.FS, e.File.Path) || r.Call.Stale(e.File.Path)
		}) {
			return true
		}
	}
	return false
}

// allTracked reports whether git certainly finds a repository, and takes all operands for paths or
// revisions of it.
func (r *Run) allTracked(operands []int) bool {
	top := r.fromRoot(".")
	if !path.IsAbs(top) || r.Cwd == "" {
		return false
	}
	top = path.Clean(top)
	for _, i := range operands {
		if w := &r.Args[i]; w.Dynamic() || !r.inTree(top, w.Text) {
			return false
		}
	}
	there := r.Call.Paths.Resolved(r.Cwd, "")
	around := settings.Surroundings{FS: r.Call.FS, Files: r.Call, Home: r.Call.Call.User.Home, Project: r.Call.Paths.Project()}
	return lexpath.In(top, there) && around.TreeAbove(there) == top && around.IsTree(top, r.Call.Call.User.UID)
}

// inTree reports whether git takes a word for a path in a working tree: it goes by the text, and
// of an absolute one also by where each part of it leads (abspath_part_inside_repo in its
// setup.c). What a pattern matches lies below the folder that it begins with.
func (r *Run) inTree(top, word string) bool {
	at := r.cleaned(word)
	if lexpath.In(top, at) {
		return true
	}
	if !path.IsAbs(word) {
		return false
	}
	for dir := at; dir != "/"; dir = path.Dir(dir) {
		if r.Call.Paths.Resolved(dir, "") == top {
			return true
		}
	}
	return false
}
