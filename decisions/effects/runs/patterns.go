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
	kind := effects.Kind("")
	var parts []string // patterns of folders
	if reads := role == programs.RoleLists || role == programs.RoleReads && !v.has(v.p.WritesWith); reads {
		kind = effects.KindRead
		dir, parts = folderPatterns(dir)
	} else if (role == programs.RoleDeletes || role == programs.RoleMoves) && strings.Trim(last, "*.") == "" && !strings.ContainsAny(dir, "*?[") {
		kind = effects.KindDelete
		v.changes = true
	}
	if dir == "" {
		dir = "."
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
	if kind == effects.KindRead && e.File != nil {
		var why string
		if more, why = v.matched(&e, parts, last, role == programs.RoleLists); why != "" {
			v.unknown(i, why+": "+display.Display(display.ShowWord(&w)))
			return
		}
	}
	v.b.Add(v.via(i, e))
	for _, e := range more {
		v.b.Add(v.via(i, v.below(e, e.File != nil && e.File.Recursive, role == programs.RoleLists)))
	}
}

// folderPatterns splits the folders of a pattern: the text before the first part that is a
// pattern itself, and the parts from there on.
func folderPatterns(dir string) (before string, parts []string) {
	star := strings.IndexAny(dir, "*?[")
	if star < 0 {
		return dir, nil
	}
	from := strings.LastIndexByte(dir[:star], '/') + 1
	return dir[:from], strings.Split(strings.TrimSuffix(dir[from:], "/"), "/")
}

// matched is [collect.Collector.Glob] for a pattern in the folders that patterns of folders
// stand for, below that of e. With an empty last pattern these folders are what is named.
func (v *invocation) matched(e *effects.Effect, parts []string, last string, list bool) (more []effects.Effect, why string) {
	tree := v.p.Recursive || v.has(v.p.RecursiveWith)
	if len(parts) == 0 {
		return v.b.Glob(e, last, list, tree, v.at.From)
	}
	folders, why := v.b.Folders(e.File.Path, parts)
	for _, folder := range folders {
		at := v.b.Operand(effects.KindRead, folder, "", v.at.From)
		if at.File == nil {
			return nil, "a pattern whose files are not known"
		}
		found := []effects.Effect{at}
		if last == "" {
			at.File.Recursive = tree
		} else if found, why = v.b.Glob(&at, last, list, tree, v.at.From); why != "" {
			return nil, why
		}
		e.Tags |= at.Tags
		if more = append(more, found...); len(more) > maxMatched {
			return nil, "a pattern with more links and folders than permd looks at"
		}
	}
	return more, why
}

// maxMatched bounds the links and folders that a pattern of several folders may match.
const maxMatched = 64
