package runs

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
)

// runsUndescribed marks the run as one that executes a program or script, named by its arguments,
// that the program table does not describe.
func (v *invocation) runsUndescribed() { v.b.Effects[v.index].Undescribed = true }

// toolIsDescribed reports whether the table describes what a word of RoleTool runs. A
// script of the project that has the name is the project's code, as that of any builder. A
// package that an option names may have a program of any name.
func (v *invocation) toolIsDescribed(w *effects.Word) bool {
	if len(v.subs) == 0 && v.targetLine(w.Text) != "" {
		return true
	}
	return (v.b.Table.Program(w.Text) != nil || slices.Contains(v.p.CountsAsDescribed, programs.PackageOf(w.Text))) && !v.has([]string{"--package", "--from", "--with"}) &&
		!slices.Contains(v.subs, "create") && !slices.Contains(v.subs, "init")
}
