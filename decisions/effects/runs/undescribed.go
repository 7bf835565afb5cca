package runs

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
)

// runsUndescribed marks the run as one that executes a program or script that the table does not
// describe: its words say what the program is told to run, and nothing says what that does.
func (v *invocation) runsUndescribed() { v.b.Effects[v.index].Undescribed = true }

// toolIsDescribed reports whether the table describes what a word of RoleTool runs. A
// script of the project that has the name is the project's code, as that of any builder. A
// package that an option names may have a program of any name.
func (v *invocation) toolIsDescribed(w *effects.Word) bool {
	if len(v.subs) == 0 && v.targetLine(w.Text) != "" {
		return true
	}
	return v.b.Table.Program(w.Text) != nil && !v.has([]string{"--package", "--from", "--with"}) &&
		!slices.Contains(v.subs, "create") && !slices.Contains(v.subs, "init")
}

// runsRemotePackage reports whether a package with a version (x@latest) is run. Without one it is
// code of the project, or of what its go.mod requires.
func (v *invocation) runsRemotePackage() bool {
	return v.run.Program == "go" && len(v.subs) > 0 && v.subs[0] == "run"
}

// runsScript reports whether a word of RoleScript is run as such. As the value of an option
// of a builder it is a file of targets or settings.
func (v *invocation) runsScript(a argument) bool {
	return a.role == programs.RoleScript && (!a.option || v.p.Interpreter != "")
}
