package runs

import (
	"path"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/languages"
)

// Harnesses put a program apply_patch on the agent's path, or take the command for their
// own tool of that name: in shell text, too, it writes and deletes what its patch names.

// isPatchTool reports whether a program is apply_patch, by one of its names.
func isPatchTool(program string) bool {
	name := path.Base(program)
	return name == "apply_patch" || name == "applypatch"
}

// applyPatch adds the effects of the patch that the program is given: in its first word, or
// else as its input.
func (v *invocation) applyPatch() {
	const why = "a patch that is not known before it is applied"
	text, i, known := v.at.Text, effects.Inherent, v.at.Stdin == effects.StdinText && v.at.Text != effects.DynamicWord
	if len(v.args) > 0 {
		w := &v.args[0]
		text, i, known = w.Text, 0, !w.Expandable()
	}
	if !known || v.b.Remote {
		v.b.Unknown(v.at.From, why)
		return
	}
	begun, around := languages.Patch(text, func(c languages.PatchChange, file string) bool {
		var e effects.Effect
		switch c {
		case languages.PatchWrites:
			e = v.b.Operand(effects.KindWrite, file, v.run.Cwd, v.at.From)
		case languages.PatchDeletes:
			e = v.b.Entry(effects.KindDelete, file, v.run.Cwd, v.at.From)
		case languages.PatchUnknown:
			v.b.Unknown(v.at.From, "a patch with a heading that is not known")
			return true
		}
		if i != effects.Inherent { // an allow of the run is none of what its input names
			e = v.via(i, e)
		}
		v.b.Add(e)
		return !v.full()
	})
	if !begun || around {
		v.b.Unknown(v.at.From, why)
	}
}
