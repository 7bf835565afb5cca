package runs

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/lexpath"
)

// thinMagic begins a thin archive (ar rcT), which holds the paths of its members
// in place of them: nm and its like open these wherever they lie.
const thinMagic = "!<thin>"

// maxObject is the size up to which a file is looked into for that, in bytes.
const maxObject = 64 << 10

// isThinArchive reports whether the word may lead to a thin archive: one that is, or a file
// that is called like an archive and cannot be looked into.
func (v *invocation) isThinArchive(w effects.Word) bool {
	archive := strings.HasSuffix(lexpath.Fold(w.Text), ".a")
	if w.Glob || w.Dynamic() || v.run.Cwd == "" && !path.IsAbs(w.Text) {
		return archive
	}
	e := v.b.Operand(effects.KindRead, w.Text, v.run.Cwd, v.at.From)
	if e.File == nil {
		return false // it asks by itself
	}
	archive = archive || strings.HasSuffix(lexpath.Fold(e.File.Path), ".a")
	if v.Rewritten(e.File.Path) {
		return archive
	}
	data, err := v.b.FS.ReadFile(e.File.Path, maxObject)
	if err != nil {
		return archive && !errors.Is(err, fs.ErrNotExist)
	}
	return strings.HasPrefix(string(data), thinMagic)
}

// objectFile handles an object file, or an archive of them.
func (v *invocation) objectFile(a argument) {
	if v.isThinArchive(a.w) {
		v.unknown(a.i, "an archive whose members may lie anywhere: "+display.Display(display.ShowWord(&a.w)))
	}
	a.act = programs.ActSources
	v.plainFile(a)
}

// plainFile handles a file that is read, unless the word has another form.
func (v *invocation) plainFile(a argument) {
	if why := noFile(a.act, a.w.Text); why != "" {
		v.unknown(a.i, why+": "+display.Display(display.ShowWord(&a.w)))
		return
	}
	v.applyPath(programs.ActReads, a.i, a.w, v.p.Recursive)
}

// noFile says why a word in the place of a file is none, "" when it is one.
func noFile(does programs.Act, text string) string {
	switch {
	case does == programs.ActSources && strings.HasPrefix(text, "@"):
		return "a file of options"
	case does == programs.ActViewed && strings.HasPrefix(text, "+"):
		return "a command for a program that shows files"
	case does == programs.ActMatched && strings.ContainsAny(text, "*?["):
		return "a pattern that the program reads itself"
	case does == programs.ActDatabase && strings.HasPrefix(strings.ToLower(text), "file:"):
		return "an address that leads to a file"
	}
	return ""
}

// name handles a name of what the program knows itself.
func (v *invocation) name(a argument) {
	if a.w.Glob || !v.isName(a.w.Text) {
		v.unknown(a.i, "a name that may lead to a file: "+display.Display(display.ShowWord(&a.w)))
	}
}

// charset handles the name of a character set; one with a slash is a file.
func (v *invocation) charset(a argument) {
	if strings.Contains(a.w.Text, "/") {
		v.applyPath(programs.ActReads, a.i, a.w, false)
	}
}
