package runs

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/lexpath"
)

// glob processes the names that a pattern matches in the folder of e, which is the read
// of that folder. It adds the tags of these names, and returns further reads: of links
// that lead out of the folder or to something guarded and, with tree, of the folders
// among the names; or why the expansion is not known. With list, only links to folders
// are followed, and no file is read.
func (b *Builder) glob(e *effects.Effect, pattern string, list, tree bool, from string) (more []effects.Effect, why string) {
	dir, r := e.File.Path, b.Paths
	names, why := r.Names(dir)
	if r.Matched += len(names); why == "" && (r.Matched > paths.MaxMatched || len(pattern) > paths.MaxPattern) {
		why = "a pattern with more names than permd looks at"
	}
	changed := func(d string) bool { return path.Dir(d) == dir && paths.GlobMatch(pattern, path.Base(d)) }
	if why == "" && (slices.ContainsFunc(r.Disturbed, changed) ||
		slices.ContainsFunc(b.Rearranged, func(d string) bool { return d == "" || lexpath.In(d, dir) })) {
		why = "an earlier part of the call changes what the pattern stands for"
	}
	if why != "" {
		return nil, why
	}
	for _, n := range names {
		if !paths.GlobMatch(pattern, n.Name()) {
			continue
		}
		p := paths.Joined(dir, n.Name())
		link := n.Type()&fs.ModeSymlink != 0
		if !link && !list {
			e.Tags |= r.Guard(p)
		}
		if !link && (list || !tree || !n.IsDir()) {
			continue
		}
		to := b.Operand(effects.KindRead, p, "", from)
		if list && to.File != nil {
			if mode, err := r.Lstat(to.File.Path); err == nil && !mode.IsDir() {
				continue
			}
		}
		if to.File != nil {
			to.File.Recursive = tree && (link || n.IsDir())
		}
		if to.File == nil || to.File.Recursive || !lexpath.In(dir, to.File.Path) || to.Guarded() != 0 {
			more = append(more, to)
		}
		if len(more) > maxGlobbed {
			return nil, "a pattern with more links and folders than permd looks at"
		}
	}
	return more, ""
}

const maxGlobbed = 64 // links and folders that one pattern may match

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
		if more, why = v.b.glob(&e, last, role == programs.RoleLists, tree, v.at.From); why != "" {
			v.unknown(i, why+": "+display.Display(display.ShowWord(&w)))
			return
		}
	}
	v.b.Add(v.via(i, e))
	for _, e := range more {
		v.b.Add(v.via(i, v.below(e, e.File != nil && e.File.Recursive, role == programs.RoleLists)))
	}
}
