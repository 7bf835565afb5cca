package runs

import (
	"path"
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

// ofRepository are the programs that change the working tree that they are run in, as a whole.
var ofRepository = wordset.Fields("git gh hub glab")

// disturb tells the resolver what the run links, moves or extracts: later paths through
// it are not known.
func (v *invocation) disturb() {
	v.unpack()
	if v.p.Rearranges && !v.run.OwnData {
		v.rearrange()
	}
	if v.rearranges() && slices.ContainsFunc(v.args, func(w effects.Word) bool { return w.Dynamic() }) {
		v.b.Paths.Unknown = true // what it moves, where to, and with which options
	}
	if len(v.p.DisturbsWith) > 0 && !v.has(v.p.DisturbsWith) {
		return
	}
	known, files := len(v.b.Paths.Disturbed), v.movesFiles()
	for _, word := range v.disturbs {
		v.b.Paths.Disturb(word, v.run.Cwd)
	}
	switch {
	case files:
		v.b.Files = append(v.b.Files, v.b.Paths.Disturbed[known:]...)
	case len(v.disturbs) > 0, v.rearranges():
		v.b.Files = nil // it may have replaced them
	}
}

// movesFiles reports whether all that the run gives other names is files, and neither links nor
// folders.
func (v *invocation) movesFiles() bool {
	if slices.ContainsFunc(v.p.Operands, func(o programs.Operand) bool { return o.Role == programs.RoleLink }) || len(v.operands) < 2 {
		return false
	}
	for _, i := range v.operands[:len(v.operands)-1] {
		at := v.b.Entry(effects.KindRead, v.args[i].Text, v.run.Cwd, "")
		if at.File == nil || v.args[i].Dynamic() || v.args[i].Glob {
			return false
		}
		if mode, err := v.b.Paths.Lstat(at.File.Path); err != nil || !mode.IsRegular() || v.b.ChangedBefore(v.index, at.File.Path) {
			return false
		}
	}
	return true
}

// rearrange records the folders in which the run may put links anywhere: its own, those that it
// writes, and of git the whole working tree, whose top may be above.
func (v *invocation) rearrange() {
	folder := v.b.Paths.Resolved(v.run.Cwd, "")
	if ofRepository.Has(v.run.Program) {
		// Git passes over a repository that is not whole, and goes on above it.
		for dir := folder; dir != "" && dir != "/"; {
			dir = path.Dir(dir)
			if v.b.Exists(paths.Child(dir, ".git")) || v.b.MakesRepository(dir) {
				folder = dir
			}
		}
	}
	v.b.Rearranged = append(v.b.Rearranged, folder)
	for i := v.index; i < len(v.b.Effects); i++ {
		if e := &v.b.Effects[i]; e.Kind == effects.KindWrite && e.File != nil && !lexpath.In(folder, e.File.Path) {
			v.b.Rearranged = append(v.b.Rearranged, e.File.Path)
		}
	}
}

// rearranges reports whether the program gives files and links other places.
func (v *invocation) rearranges() bool {
	return slices.ContainsFunc(v.p.Operands, func(o programs.Operand) bool {
		return o.Role == programs.RoleInto || o.Role == programs.RoleCopiesInto || o.Role == programs.RoleMoves || o.Role == programs.RoleLink
	})
}
