package effects

import (
	"path"
	"regexp"
	"strings"
)

// obeyedVariable is the name of a variable; a * at its end stands for the rest.
var obeyedVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*[*]?$`)

// obeyed is what a program obeys: a file of the folder that it runs in and of all
// above it, of those of the files that it is given, or of the person's home; the
// whole project; or a variable.
type obeyed struct {
	name     string
	beside   bool // in the folders of the files that the program is given
	home     bool
	git      bool      // the configuration of the repository
	project  bool      // all of the project's files, so that no form is read-only
	variable bool      // of the environment
	settings *settings // nil if its being there is enough
}

// theProject stands for all files of a project among what a program obeys,
// variableMark before the name of a variable, and besideMark before that of a file
// that lies beside an operand.
const (
	theProject   = "."
	variableMark = "$"
	besideMark   = "*/"
)

// obeyedFiles reads lines such as "rust-toolchain.toml = rustup".
func (p *tableParser) obeyedFiles(lines []spelled) ([]obeyed, error) {
	var all []obeyed
	for _, line := range lines {
		name, format, known := strings.Cut(line.text, " = ")
		// Files of layers may have words behind the name, which once were searched
		// for; now such a file counts whatever it says.
		name, _, _ = strings.Cut(name, ": ")
		if variable, ok := strings.CutPrefix(line.text, variableMark); ok {
			if !obeyedVariable.MatchString(variable) {
				return nil, line.errorf("variable %q: expected $NAME", line.text)
			}
			all = append(all, obeyed{name: variable, variable: true})
			continue
		}
		o := obeyed{name: name, git: name == ".git", project: name == theProject}
		o.name, o.home = strings.CutPrefix(name, "~/")
		o.name, o.beside = strings.CutPrefix(o.name, besideMark)
		if o.name == "" || strings.ContainsAny(o.name, " \t:=~*") || o.beside && (o.home || o.name == theProject || o.name == ".git") || path.IsAbs(o.name) || path.Clean(o.name) != o.name || strings.HasPrefix(o.name, "..") {
			return nil, line.errorf("file %q: expected NAME or NAME = SETTINGS", line.text)
		}
		if known {
			if o.settings = p.table.settings[format]; o.settings == nil {
				return nil, line.errorf("file %q: unknown settings %q", name, format)
			}
		}
		if o.git && o.settings == nil || (o.home || o.project) && known {
			return nil, line.errorf("file %q: settings are for files of a project", name)
		}
		all = append(all, o)
	}
	return all, nil
}

// newSettings reads what the table says of a format.
func newSettings(e *settingsEntry) (*settings, error) {
	s := settingsOf(e.Format)
	if s == nil {
		return nil, e.Name.errorf("settings %q: unknown format %q", e.Name.text, e.Format)
	}
	if s.ownList() && len(e.Harmless) > 0 {
		return nil, e.Harmless[0].errorf("settings %q: the format %q has a list of its own", e.Name.text, e.Format)
	}
	for _, line := range e.Harmless {
		if !s.allow(line.text) {
			return nil, line.errorf("setting %q: expected KEY, KEY=VALUE or KEY: KIND", line.text)
		}
	}
	return s, nil
}
