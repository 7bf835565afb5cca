package effects

import (
	"path"
	"strings"
)

// obeyed is a file that a program obeys: of the folder that it runs in and of
// all above it, or of the person's home.
type obeyed struct {
	name     string
	home     bool
	git      bool      // the configuration of the repository
	settings *settings // nil if its being there is enough
}

// obeyedFiles reads lines such as "rust-toolchain.toml = rustup".
func (p *tableParser) obeyedFiles(lines []spelled) ([]obeyed, error) {
	var all []obeyed
	for _, line := range lines {
		name, format, known := strings.Cut(line.text, " = ")
		// Files of layers may have words behind the name, which once were searched
		// for; now such a file counts whatever it says.
		name, _, _ = strings.Cut(name, ": ")
		o := obeyed{name: name, git: name == ".git"}
		o.name, o.home = strings.CutPrefix(name, "~/")
		if o.name == "" || strings.ContainsAny(o.name, " \t:=~") || path.IsAbs(o.name) || path.Clean(o.name) != o.name || strings.HasPrefix(o.name, "..") {
			return nil, line.errorf("file %q: expected NAME or NAME = SETTINGS", line.text)
		}
		if known {
			if o.settings = p.table.settings[format]; o.settings == nil {
				return nil, line.errorf("file %q: unknown settings %q", name, format)
			}
		}
		if o.git && o.settings == nil || o.home && known {
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
