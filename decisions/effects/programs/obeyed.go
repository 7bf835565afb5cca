package programs

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lazy"
)

// obeyedVariable matches the name of a variable; it may end in a * wildcard.
var obeyedVariable = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*[*]?$`)

// Obeyed is something that configures a program: a file in its working directory or
// any parent, next to a file that is an operand, or in the person's home; the whole
// project; or a variable.
type Obeyed struct {
	Name          string
	NextToOperand bool // next to the files that are operands
	Home          bool
	System        bool             // by its absolute name
	Git           bool             // the configuration of the repository, or of those of operands
	Project       bool             // all files of the project, so that no form is read-only
	Variable      bool             // an environment variable
	Settings      *settings.Format // nil if the file's existence is enough
}

// wholeProject is the line for all files of a project. variableMark begins the name
// of a variable, operandMark that of a file that lies next to an operand.
const (
	wholeProject = "."
	variableMark = "$"
	operandMark  = "*/"
)

// obeyedFiles reads lines such as "rust-toolchain.toml = rustup".
func (p *tableParser) obeyedFiles(lines []textNode) ([]Obeyed, error) {
	var all []Obeyed
	for _, line := range lines {
		name, format, known := strings.Cut(line.text, " = ")
		// Files of layers may have words after the name, a search pattern in earlier
		// versions; now such a file counts whatever it contains.
		name, _, _ = strings.Cut(name, ": ")
		if variable, ok := strings.CutPrefix(line.text, variableMark); ok {
			if !obeyedVariable().MatchString(variable) {
				return nil, line.errorf("variable %q: expected $NAME", line.text)
			}
			all = append(all, Obeyed{Name: variable, Variable: true})
			continue
		}
		o := Obeyed{Name: name, Project: name == wholeProject}
		o.Name, o.Home = strings.CutPrefix(name, "~/")
		o.Name, o.NextToOperand = strings.CutPrefix(o.Name, operandMark)
		o.System, o.Git = path.IsAbs(name) && known, !o.Home && o.Name == ".git"
		if o.Name == "" || strings.ContainsAny(o.Name, " \t:=~*") || o.NextToOperand && (o.Home || o.Name == wholeProject) || path.IsAbs(o.Name) && !o.System || path.Clean(o.Name) != o.Name || strings.HasPrefix(o.Name, "..") {
			return nil, line.errorf("file %q: expected NAME or NAME = SETTINGS", line.text)
		}
		if known {
			if o.Settings = p.table.settings[format]; o.Settings == nil {
				return nil, line.errorf("file %q: unknown settings %q", name, format)
			}
		}
		if o.Git && o.Settings == nil || known && (o.Project || (o.Home || o.System) != o.Settings.Own()) {
			return nil, line.errorf("file %q: settings are for files of a project", name)
		}
		all = append(all, o)
	}
	return all, nil
}

// newSettings reads the entry of a format.
func newSettings(e *settingsEntry) (*settings.Format, error) {
	s := settings.NewFormat(e.Format)
	if s == nil {
		return nil, e.Name.errorf("settings %q: unknown format %q", e.Name.text, e.Format)
	}
	if s.OwnList() && len(e.Harmless) > 0 {
		return nil, e.Harmless[0].errorf("settings %q: the format %q has a list of its own", e.Name.text, e.Format)
	}
	for _, line := range e.Harmless {
		if !s.Allow(line.text) {
			return nil, line.errorf("setting %q: expected KEY, KEY=VALUE or KEY: KIND", line.text)
		}
	}
	return s, nil
}
