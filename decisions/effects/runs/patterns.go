package runs

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
)

// pattern adds the effect of a glob. A read or listing is a read below the pattern's
// folder, and of the targets of links in it; deleting all that a folder contains is a
// delete of the folder. In all other cases the expansion is unknown.
func (v *invocation) pattern(role programs.Role, i int, w effects.Word) {
	dir, last := path.Split(w.Text)
	literal := dir == "" || !strings.ContainsAny(dir, "*?[")
	if dir == "" {
		dir = "."
	}
	kind := effects.Kind("")
	switch {
	case !literal:
	case role == programs.RoleLists, role == programs.RoleReads && !v.has(v.p.WritesWith):
		kind = effects.KindRead
	case (role == programs.RoleDeletes || role == programs.RoleMoves) && strings.Trim(last, "*.") == "":
		kind = effects.KindDelete
		v.changes = true
	}
	if kind == "" {
		v.unknown(i, "a pattern whose files are not known: "+display.Display(display.ShowWord(&w)))
		return
	}
	v.paths++
	e := v.b.Operand(kind, dir, v.run.Cwd, v.at.From)
	e = v.below(e, true, kind == effects.KindRead)
	if e.File != nil {
		e.File.AsWritten = w.Text
	}
	if role == programs.RoleMoves {
		v.passesOn(i, dir)
		v.disturbs = append(v.disturbs, dir)
	}
	var more []effects.Effect
	if (role == programs.RoleReads || role == programs.RoleLists) && e.File != nil {
		tree := v.p.Recursive || v.has(v.p.RecursiveWith)
		var why string
		if more, why = v.b.Glob(&e, last, role == programs.RoleLists, tree, v.at.From); why != "" {
			v.unknown(i, why+": "+display.Display(display.ShowWord(&w)))
			return
		}
	}
	v.b.Add(v.via(i, e))
	for _, e := range more {
		v.b.Add(v.via(i, v.below(e, e.File != nil && e.File.Recursive, role == programs.RoleLists)))
	}
}
