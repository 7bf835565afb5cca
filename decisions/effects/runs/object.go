package runs

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
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
