package programs

import (
	"path"
	"slices"
	"strings"
)

// Runs says which other thing a program runs, if any.
type Runs string

// Values of Runs.
const (
	RunsItself   Runs = ""
	RunsCode     Runs = "code"     // a shell or an interpreter: code in words or in files
	RunsCommands Runs = "commands" // a wrapper: the command in its operands
)

// Runs returns what a run's program itself runs, by its base name: a copy of a shell
// in another folder is a shell. A version at the end of the name is ignored
// (python3.12).
func (t *Table) Runs(name string) Runs {
	base := path.Base(name)
	for _, known := range []string{base, strings.TrimRight(base, "-.0123456789")} {
		for _, p := range []*Program{t.programs[known], t.OverlayProgram(known)} {
			switch {
			case p == nil:
			case p.Wrapper != nil:
				return RunsCommands
			case p.Interpreter != "":
				return RunsCode
			}
		}
	}
	return RunsItself
}

// Helper reports whether a program that another one starts, by a setting of a person,
// runs nothing of the project by itself: it is no interpreter and no wrapper, and obeys
// neither its input nor files of the project. What the table does not have is the
// person's choice.
func (t *Table) Helper(name string) bool {
	if t.Runs(name) != RunsItself {
		return false
	}
	p := t.entryOf(path.Base(name))
	return p == nil || p.Targets == "" && p.Unknown == "" && !p.ObeysInput && !slices.ContainsFunc(p.Obeys, func(o Obeyed) bool { return o.Project })
}
