package git

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/languages"
)

// OnlyPlain reports whether git add or git commit takes nothing from the working tree but
// files of the project that it names one by one, and that anybody may read who may read the
// project. What it takes of a folder depends on what is ignored there, by rules that git
// reads elsewhere too, so what is in it is not known for certain.
func (r *Run) OnlyPlain() bool {
	switch {
	case r.Unparsed:
		return false
	case r.Sub == "commit" && len(r.Operands) == 0:
		return true // what is staged was decided when it was
	case r.Sub != "add" && r.Sub != "commit":
		return true
	}
	for _, i := range r.Operands {
		if !r.plainFile(&r.Args[i]) {
			return false
		}
	}
	return len(r.Operands) > 0
}

// plainFile reports whether a word names one file of the project, or one that is not there,
// whose deletion git stages. A word that git reads as a pattern or with magic does not.
func (r *Run) plainFile(w *effects.Word) bool {
	if w.Dynamic() || w.Glob || w.One || strings.ContainsAny(w.Text, "*?[\\") {
		return false
	}
	if s, ok := languages.ParsePathspec(w.Text); !ok || s.Path != w.Text {
		return false
	}
	e := r.Call.Operand(effects.KindRead, w.Text, r.Cwd, r.From)
	if e.File == nil || !e.Tags.Has(effects.InProject) {
		return false
	}
	for _, tag := range []effects.Tag{effects.Secret, effects.Permd, effects.VCS} {
		if e.Tags.Has(tag) {
			return false
		}
	}
	mode, err := r.Call.Paths.Lstat(e.File.Path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return mode.IsRegular()
}
