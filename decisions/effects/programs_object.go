package effects

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// thinMagic begins a thin archive (ar rcT), which holds the paths of its members
// in place of them: nm and its like open these wherever they lie.
const thinMagic = "!<thin>"

// maxObject is the size up to which a file is looked into for that, in bytes.
const maxObject = 64 << 10

// thin reports whether the word may lead to a thin archive: one that is, or a file
// that is called like an archive and cannot be looked into.
func (v *invocation) thin(w word) bool {
	archive := strings.HasSuffix(fold(w.text), ".a")
	if w.glob || w.dynamic() || v.run.Cwd == "" && !path.IsAbs(w.text) {
		return archive
	}
	e := v.b.operand(KindRead, w.text, v.run.Cwd, v.at.from)
	if e.File == nil {
		return false // it asks by itself
	}
	archive = archive || strings.HasSuffix(fold(e.File.Path), ".a")
	if v.rewritten(e.File.Path) {
		return archive
	}
	data, err := v.b.w.FS.ReadFile(e.File.Path, maxObject)
	if err != nil {
		return archive && !errors.Is(err, fs.ErrNotExist)
	}
	return strings.HasPrefix(string(data), thinMagic)
}
