package shell

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/wordset"
)

const (
	maxActivate = 16 << 10 // bytes of a script that activates an environment
)

// activate follows `source VENV/bin/activate`: when the script is what Python's
// tools put there, all that it does for what comes after is to set
// VENV/bin before the other folders of programs. It reports whether it is one.
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
	s.b.Venvs(bin)
	for _, name := range []string{"deactivate", "pydoc"} {
		s.redefine(name)
	}
	for name := range venvVariables {
		s.assign(name, at)
	}
	return true
}

// venvVariables are what activating an environment sets.
var venvVariables = wordset.Fields(`
	PATH VIRTUAL_ENV VIRTUAL_ENV_PROMPT VIRTUAL_ENV_DISABLE_PROMPT PYTHONHOME PS1
	_OLD_VIRTUAL_PATH _OLD_VIRTUAL_PYTHONHOME _OLD_VIRTUAL_PS1`)
