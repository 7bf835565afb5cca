package runs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/internal/lexpath"
)

// pathspec returns the folder or file that a pathspec of git is within, and whether it means
// all that is below. git matches pathspecs against the index and commits, not the disk; * in
// them also matches slashes, and the name of a folder matches all files below it
// (gitglossary(7), pathspec). So a pathspec is a single file only if it has no pattern and a
// file or link of that name exists.
//
// A pathspec with magic may be one from the top of the working tree, or without regard to
// case. It adds an unknown effect, and known is false.
func (v *invocation) pathspec(i int, w effects.Word) (name effects.Word, tree, known bool) {
	if strings.HasPrefix(w.Text, ":") || v.has([]string{"--icase-pathspecs"}) {
		v.unknown(i, "a pathspec that may name other files: "+display.Display(display.ShowWord(&w)))
		v.mayName(i, &w)
		return w, false, false
	}
	if v.pathInTwoWays(w.Text) {
		v.unknown(i, "a path that git and other programs read in two ways: "+display.Display(display.ShowWord(&w)))
		v.mayName(i, &w)
		return w, false, false
	}
	if w.Tree {
		return w, true, true
	}
	at := strings.IndexAny(w.Text, `*?[\`)
	if at < 0 && !w.Glob {
		e := v.b.Entry(effects.KindDelete, w.Text, v.run.Cwd, v.at.From)
		if e.File == nil || v.b.Stale(e.File.Path) {
			return w, true, true
		}
		mode, err := v.b.Paths.Lstat(e.File.Path)
		return w, err != nil || mode.IsDir(), true
	}
	folder := w.Text[:max(at, 0)]
	folder = folder[:strings.LastIndexByte(folder, '/')+1]
	if folder == "" {
		folder = "."
	}
	w.Text, w.Glob, w.Several = folder, false, false
	return w, true, true
}

// pathInTwoWays reports whether git, which takes x/.. out of the text of a path, may go by another
// one than the file system: after a pattern, a link, or what is no folder.
func (v *invocation) pathInTwoWays(text string) bool {
	if !strings.Contains(text, "..") {
		return false
	}
	dir := text
	if at := strings.IndexAny(text, `*?[\`); at >= 0 {
		dir = text[:strings.LastIndexByte(text[:at], '/')+1]
		if slices.Contains(strings.Split(text[at:], "/"), "..") {
			return true
		}
	}
	if dir == "" {
		return false
	}
	at := v.b.Paths.Resolved(dir, v.run.Cwd)
	cleaned := v.b.Paths.Resolved(lexpath.Abs(v.b.Paths.Resolved(v.run.Cwd, ""), dir), "")
	return at == "" || at != cleaned
}

// mayName sets aside the write of what a pathspec with magic is within: denies of it hold.
func (v *invocation) mayName(i int, w *effects.Word) {
	s, ok := languages.ParsePathspec(w.Text)
	dir := s.Path
	if ok && v.pathInTwoWays(dir) {
		dir = lexpath.Abs(v.b.Paths.Resolved(v.run.Cwd, ""), dir)
	}
	switch at := strings.IndexAny(dir, `*?[\`); {
	case !ok, s.Icase, v.has([]string{"--icase-pathspecs"}):
		dir = ""
	case at >= 0 && !s.Literal:
		dir = dir[:at]
		dir = dir[:strings.LastIndexByte(dir, '/')+1]
	}
	if dir == "" {
		dir = "."
	}
	if root := v.b.Paths.Project(); !ok || s.Top {
		if root == "" {
			return
		}
		dir = lexpath.Abs(root, dir)
	}
	e := v.b.Entry(effects.KindWrite, dir, v.run.Cwd, v.at.From)
	if e.File != nil {
		e.File.Recursive = true
	}
	v.setAside(i, e)
}
