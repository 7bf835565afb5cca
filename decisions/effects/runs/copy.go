package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
)

// linkTarget adds the target of a relative symbolic link as the link sees it:
// from the folder that the link stands in.
func (v *invocation) linkTarget(i int, w effects.Word) {
	last := v.operands[len(v.operands)-1]
	dir := v.args[last].Text
	at := v.folder(last, dir)
	if mode, err := v.b.Paths.Lstat(at); at == "" || err != nil || !mode.IsDir() {
		dir = path.Dir(dir)
	}
	v.b.Add(v.via(i, v.b.Operand(effects.KindWrite, dir+"/"+w.Text, v.run.Cwd, v.at.From)))
}

// into adds the writes of a copy's or move's target: when that is a folder,
// the sources' names in it.
func (v *invocation) into(i int, w effects.Word) {
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
	folder := strings.HasSuffix(w.Text, "/") || len(v.operands) > 2 || !slices.Contains(v.operands, i)
	mode, err := v.b.Paths.Lstat(e.File.Path)
	folder = folder || err == nil && mode.IsDir()
	// An earlier part of the call makes a folder of that name, if it succeeds.
	made := !folder && slices.Contains(v.b.Paths.Made, e.File.Path)
	if !folder {
		v.disturbs = append(v.disturbs, w.Text)
	}
	if len(v.operands) == 1 && v.p.Operands[0].Act == programs.ActLink {
		// "ln -s TARGET" makes the link here; the word is the target.
		name := path.Base(w.Text)
		v.disturbs = append(v.disturbs, name)
		v.put(i, name, false)
	}
	if folder && err != nil && v.renames(e.File.Path) {
		v.disturbs = append(v.disturbs, strings.TrimRight(w.Text, "/"))
		v.put(i, w.Text, deep)
	}
	if !folder || deep {
		v.put(i, w.Text, deep)
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
		base := v.copied(source)
		if base == "" {
			v.put(i, w.Text, true)
			continue
		}
		name := strings.TrimRight(w.Text, "/") + "/" + base
		v.disturbs = append(v.disturbs, name)
		v.put(i, name, deep)
	}
}

// renames reports whether the run may give a folder a new name that is written
// with a slash behind it, where no folder lies yet.
func (v *invocation) renames(to string) bool {
	if len(v.operands) != 2 || v.p.Operands[0].Act != programs.ActMoves || slices.Contains(v.b.Paths.Made, to) {
		return false
	}
	from := v.b.entry(effects.KindRead, v.args[v.operands[0]].Text, v.run.Cwd, v.at.From)
	if from.File == nil {
		return false // it is not known
	}
	mode, err := v.b.Paths.Lstat(from.File.Path)
	return err == nil && mode.IsDir() || slices.Contains(v.b.Paths.Made, from.File.Path)
}

// copied is the name that a source of a copy has in the folder it goes into, ""
// when that is not known.
func (v *invocation) copied(source *effects.Word) string {
	if source.Open() {
		return ""
	}
	text := source.Text
	switch v.p.Operands[0].Act {
	case programs.ActCopies:
		if host, rest, ok := strings.Cut(text, ":"); ok && !strings.Contains(host, "/") {
			// The other machine's shell may read more in the path than its name, and
			// a folder that ends in a slash gives what is in it.
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
		// rsync -R cuts off what stands before "/./".
		if strings.Contains(text, "./") || strings.Contains(text, "..") {
			return ""
		}
		return strings.Trim(text, "/")
	}
	return base
}

// put adds the write of what a copy makes, and before it the loss of what stood
// there, where the options say that it goes.
func (v *invocation) put(i int, text string, deep bool) {
	e := v.b.Operand(effects.KindWrite, text, v.run.Cwd, v.at.From)
	if v.has(v.p.ClearsWith) {
		if gone := v.b.entry(effects.KindDelete, text, v.run.Cwd, v.at.From); gone.File == nil || !v.surroundings().Absent(gone.File.Path) {
			v.b.Add(v.via(i, v.below(gone, deep, false)))
		}
	}
	v.b.Add(v.via(i, v.below(e, deep, false)))
}
