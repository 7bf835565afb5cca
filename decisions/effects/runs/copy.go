package runs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/obeys"
	"github.com/permd/permd/decisions/effects/programs"
)

// linkTarget adds the target of a relative symbolic link, resolved from the folder that
// the link is in.
func (v *invocation) linkTarget(i int, w effects.Word) {
	last := v.operands[len(v.operands)-1]
	dir := v.args[last].Text
	at := v.folder(last, dir)
	if mode, err := v.b.Paths.Lstat(at); at == "" || err != nil || !mode.IsDir() {
		dir = path.Dir(dir)
	}
	v.b.Add(v.via(i, v.b.Operand(effects.KindWrite, dir+"/"+w.Text, v.run.Cwd, v.at.From)))
}

// copyInto adds the writes of a copy or move: to the target, or if that is a folder, to the
// sources' names in it.
func (v *invocation) copyInto(i int, w effects.Word) {
	v.changes = true
	if w.Glob {
		v.unknown(i, "a pattern whose files are not known: "+display.Display(display.ShowWord(&w)))
		return
	}
	e := v.b.Operand(effects.KindWrite, w.Text, v.run.Cwd, v.at.From)
	deep := v.has(v.p.RecursiveWith)
	if e.File == nil {
		v.b.Add(v.via(i, e))
		return
	}
	mode, err := v.b.Paths.Lstat(e.File.Path)
	gone := v.b.DeletedBefore(v.index, e.File.Path)
	if entry := v.b.Entry(effects.KindWrite, w.Text, v.run.Cwd, v.at.From); entry.File != nil {
		gone = gone || v.b.DeletedBefore(v.index, entry.File.Path)
	}
	there := err == nil && mode.IsDir() && !gone
	option := !slices.Contains(v.operands, i)
	folder := (there || option || strings.HasSuffix(w.Text, "/") || len(v.operands) > 2) && !v.takesName(w, option)
	// A folder that is moved or copied to a new name replaces what is there.
	moved := v.p.Operands[0].Role == programs.RoleMoves
	whole := deep || moved && slices.ContainsFunc(v.operands, func(j int) bool { return j != i && v.mayBeFolder(&v.args[j]) })
	becomes := !folder || deep || !there && (whole || v.has([]string{"-D"}))
	// An earlier part of the call creates a folder of that name, or deletes it, if it succeeds.
	made := !folder && (gone || slices.Contains(v.b.Paths.Made, e.File.Path) || errors.Is(err, fs.ErrNotExist) && !v.takesName(w, option) && v.b.MadeBefore(v.index, e.File.Path))
	if !folder || becomes && (moved || !there) {
		v.disturbs = append(v.disturbs, w.Text)
	}
	if len(v.operands) == 1 && !option && v.p.Operands[0].Role == programs.RoleLink {
		// "ln -s TARGET" creates the link in the working folder.
		name := path.Base(w.Text)
		v.disturbs = append(v.disturbs, name)
		v.writeCopy(i, name, false)
	}
	if becomes {
		v.writeCopy(i, w.Text, whole)
		if !folder && !made {
			return
		}
	}
	if len(v.operands) == 0 {
		v.unknown(i, "a copy without what is copied")
	}
	for _, j := range v.operands {
		source := &v.args[j]
		if j == i {
			continue
		}
		if v.has(v.p.KeepsPaths) && (source.Expandable() || strings.Contains(source.Text, "..")) {
			// cp --parents ../x d writes d/../x.
			v.unknown(i, "a copy with the whole path of a source that may lead out of the target: "+display.Display(display.ShowWord(source)))
		}
		base := v.copiedName(source)
		if base == "" || source.Glob {
			v.disturbs = append(v.disturbs, w.Text) // any name in it may be a link now
		}
		if base == "" {
			v.writeCopy(i, w.Text, true)
			continue
		}
		name := strings.TrimRight(w.Text, "/") + "/" + base
		v.disturbs = append(v.disturbs, name)
		v.writeCopy(i, name, deep || moved && v.mayBeFolder(source))
	}
}

// takesName reports whether the target of a copy is exactly the word's path, even if a
// folder of that name exists.
func (v *invocation) takesName(w effects.Word, option bool) bool {
	if option {
		return false // these programs have no -T
	}
	if v.has([]string{"--no-target-directory"}) {
		return true
	}
	if v.p.Operands[0].Role != programs.RoleLink || !v.has([]string{"--no-dereference"}) {
		return false
	}
	entry := v.b.Entry(effects.KindWrite, w.Text, v.run.Cwd, v.at.From)
	if entry.File == nil {
		return false
	}
	mode, err := v.b.Paths.Lstat(entry.File.Path)
	return err == nil && mode&fs.ModeSymlink != 0
}

// mayBeFolder reports whether a source may be something else than one file or link.
func (v *invocation) mayBeFolder(source *effects.Word) bool {
	if source.Expandable() || source.Glob || strings.HasSuffix(source.Text, "/") {
		return true
	}
	entry := v.b.Entry(effects.KindDelete, source.Text, v.run.Cwd, v.at.From)
	if entry.File == nil || v.b.ChangedBefore(v.index, entry.File.Path) {
		return true
	}
	mode, err := v.b.Paths.Lstat(entry.File.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return !v.b.UnchangedBefore(v.index) // a name that does not exist is not moved, unless an earlier part creates it
	}
	return err != nil || mode.IsDir()
}

// copiedName returns the name that a copied source gets in the target folder, "" if it is
// not known.
func (v *invocation) copiedName(source *effects.Word) string {
	if source.Expandable() {
		return ""
	}
	text := source.Text
	switch v.p.Operands[0].Role {
	case programs.RoleCopies:
		if host, rest, ok := strings.Cut(text, ":"); ok && !strings.Contains(host, "/") {
			// The other machine's shell may expand the path, and a path that ends in a slash
			// copies the folder's content.
			if strings.ContainsAny(rest, "*?[]{}$`\\\"'; \t~") {
				return ""
			}
			text = rest
		}
	}
	base := path.Base(text)
	if text == "" || base == "." || base == ".." || base == "/" {
		return ""
	}
	if v.has(v.p.KeepsPaths) {
		// rsync -R removes everything before "/./".
		if strings.Contains(text, "./") || strings.Contains(text, "..") {
			return ""
		}
		return strings.Trim(text, "/")
	}
	return base
}

// writeCopy adds the write of a copy, preceded by the deletion of the target if the options
// ask for that. If the target is a link, both the link and what it leads to may be
// written.
func (v *invocation) writeCopy(i int, text string, deep bool) {
	e := v.b.Operand(effects.KindWrite, text, v.run.Cwd, v.at.From)
	if v.has(v.p.ClearsWith) {
		around := obeys.Surroundings(&v.b.Collector)
		if gone := v.b.Entry(effects.KindDelete, text, v.run.Cwd, v.at.From); gone.File == nil || !around.Absent(gone.File.Path) {
			v.b.Add(v.via(i, v.below(gone, deep, false)))
		}
	}
	v.b.Add(v.via(i, v.below(e, deep, false)))
	if entry := v.b.Entry(effects.KindWrite, text, v.run.Cwd, v.at.From); entry.File != nil && (e.File == nil || e.File.Path != entry.File.Path) {
		v.b.Add(v.via(i, v.below(entry, deep, false)))
	}
}
