package shell

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/wordset"
)

const (
	maxActivate = 16 << 10 // of an activation script
)

// activate handles `source VENV/bin/activate`: if the script is the one that Python's
// tools create, its only effect on later commands is to put VENV/bin first in PATH. It
// reports whether it is such a script.
func (s *walker) activate(args []effects.Word, at *scope) bool {
	if len(args) != 1 || args[0].Dynamic() || args[0].Glob || !s.b.KeepsFolder || !strings.Contains(args[0].Text, "/") {
		return false
	}
	if at.cwd() == "" {
		return false
	}
	e := s.b.Operand(effects.KindRead, args[0].Text, at.cwd(), s.from)
	if e.Kind != effects.KindRead || e.File == nil {
		return false
	}
	bin, base := path.Split(e.File.Path)
	bin = path.Clean(bin)
	if base != "activate" || path.Base(bin) != "bin" || s.b.Stale(e.File.Path) {
		return false
	}
	text, err := s.b.FS.ReadFile(e.File.Path, maxActivate)
	if err != nil || !activates(s.b, string(text), bin) {
		return false
	}
	s.b.Add(e)
	s.b.Environments.Activate(bin)
	for _, name := range []string{"deactivate", "pydoc"} {
		s.redefine(name)
	}
	for name := range venvVariables.All() {
		s.assign(name, at)
	}
	return true
}

// venvVariables are the variables that activation sets.
var venvVariables = wordset.Fields(`
	PATH VIRTUAL_ENV VIRTUAL_ENV_PROMPT VIRTUAL_ENV_DISABLE_PROMPT PYTHONHOME PS1
	_OLD_VIRTUAL_PATH _OLD_VIRTUAL_PYTHONHOME _OLD_VIRTUAL_PS1`)
