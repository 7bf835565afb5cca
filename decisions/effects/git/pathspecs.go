package git

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/languages"
)

// literalOption is the option with which a pathspec has neither magic nor patterns.
const literalOption = "--literal-pathspecs"

// pathspec adds the reads of a word that is a pathspec: a path or a pattern,
// possibly with magic. It reports whether the word limits the paths that git reads: a
// revision does not, nor does an exclusion.
func (r *Run) pathspec(i int, spec string, behind bool) bool {
	s, ok := languages.ParsePathspec(spec)
	literal := s.Literal
	switch {
	case r.has([]string{literalOption}):
		s, literal = languages.Pathspec{Path: spec}, true
	case s.Exclude, spec == "":
		return false
	case !ok, s.Path == "":
		r.wholeTree(i)
		return true
	}
	if s.Icase || r.has([]string{"--icase-pathspecs"}) {
		// It may be any file whose name differs in case, at any depth.
		dir := "."
		if s.Top {
			dir = r.fromRoot(dir)
		}
		r.printsFolder(i, dir)
		if r.wholeFolders() {
			r.search(i, dir)
		}
	}
	pattern := !literal && strings.ContainsAny(s.Path, "*?[\\")
	if s.Top {
		if r.Sub == "archive" {
			r.read(i, s.Path, pattern) // the folder of the run is the top to it
		}
		s.Path = r.fromRoot(s.Path)
		pattern = !literal && strings.ContainsAny(s.Path, "*?[\\")
	}
	r.read(i, s.Path, pattern)
	if !behind && strings.HasPrefix(spec, ":/") {
		return false // it may be a revision, by a commit's message
	}
	if behind || pattern || s.Signs {
		return true
	}
	e := r.Call.Paths.Operand(effects.KindRead, s.Path, r.Cwd, r.From)
	return e.File == nil || e.Guarded() != 0 || r.Call.Exists(e.File.Path)
}

// excludes reports whether a word is a pathspec that excludes paths from what others select.
// If there are no others, git selects all of the working tree, and git grep and git archive
// all of the folder of the run.
func (r *Run) excludes(spec string) bool {
	s, _ := languages.ParsePathspec(spec)
	return s.Exclude && !r.has([]string{literalOption})
}

// wholeTree sets aside the read of all that git tracks for a word that selects it, or may
// do so, and adds the read of a secret among it.
func (r *Run) wholeTree(i int) {
	top := r.fromRoot(".")
	r.printsFolder(i, top)
	if r.wholeFolders() {
		r.search(i, top)
	}
}
