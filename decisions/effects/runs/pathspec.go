package runs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
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
