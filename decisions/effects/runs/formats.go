package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/wordset"
)

// shells are the programs that a script names in its first line.
var shells = wordset.Fields("sh bash dash ksh mksh zsh bats")

// ofLanguage reports whether a regular file is certainly one of the formatter's language: by
// the end of its name, or, for a formatter of scripts, if the name has no dot, by its first line.
// A formatter puts any file that it is given into the format of its language, and spoils one of
// another language which it can read by accident.
func (v *invocation) ofLanguage(file string) bool {
	ends := slices.DeleteFunc(slices.Clone(v.p.Opens), func(end string) bool { return end == "" })
	named := len(ends) > 0 && paths.HasEnd(file, ends)
	if len(ends) == len(v.p.Opens) {
		return named
	}
	if !named && !paths.HasEnd(file, v.p.Opens) || v.b.ChangedBefore(v.index, file) || v.b.Rearranges(file) {
		return named
	}
	data, err := v.b.FS.ReadFile(file, maxObject)
	line, _, _ := strings.Cut(string(data), "\n")
	words, script := strings.CutPrefix(line, "#!")
	if err != nil || !script {
		return named
	}
	list := strings.Fields(words)
	if len(list) > 1 && path.Base(list[0]) == "env" {
		list = list[1:]
	}
	return len(list) > 0 && shells.Has(path.Base(list[0]))
}
