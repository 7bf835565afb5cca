package effects

import (
	"path"
	"strings"

	"github.com/permd/permd/internal/wordset"
)

const (
	maxActivate = 16 << 10 // bytes of a script that activates an environment
)

// activate follows `source VENV/bin/activate`: when the script is what Python's
// tools put there, all that it does for what comes after is to set
// VENV/bin before the other folders of programs. It reports whether it is one.
func (s *walker) activate(args []word, at *scope) bool {
	if len(args) != 1 || args[0].dynamic() || args[0].glob || !s.b.keepsFolder || !strings.Contains(args[0].text, "/") {
		return false
	}
	if at.cwd() == "" {
		return false
	}
	e := s.b.operand(KindRead, args[0].text, at.cwd(), s.from)
	if e.Kind != KindRead || e.File == nil {
		return false
	}
	bin, base := path.Split(e.File.Path)
	bin = path.Clean(bin)
	if base != "activate" || path.Base(bin) != "bin" || s.b.stale(e.File.Path) {
		return false
	}
	text, err := s.b.fs.ReadFile(e.File.Path, maxActivate)
	if err != nil || !activates(s.b, string(text), bin) {
		return false
	}
	s.b.add(e)
	s.b.venvs(bin)
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
