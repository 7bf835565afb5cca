package effects

import (
	"path"
	"slices"
	"strings"
)

// linkTarget adds the target of a relative symbolic link as the link sees it:
// from the folder that the link stands in.
func (v *invocation) linkTarget(i int, w word) {
	last := v.operands[len(v.operands)-1]
	dir := v.args[last].text
	at := v.folder(last, dir)
	if mode, err := v.b.res.lstat(at); at == "" || err != nil || !mode.IsDir() {
		dir = path.Dir(dir)
	}
	v.b.add(v.via(i, v.b.operand(KindWrite, dir+"/"+w.text, v.run.Cwd, v.at.from)))
}

// into adds the writes of a copy's or move's target: when that is a folder,
// the sources' names in it.
func (v *invocation) into(i int, w word) {
	v.changes = true
	if w.glob {
		v.unknown(i, "a pattern whose files are not known: "+Display(showWord(&w)))
		return
	}
	e := v.b.operand(KindWrite, w.text, v.run.Cwd, v.at.from)
	deep := v.has(v.p.recursiveWith)
	if e.File == nil {
		v.b.add(v.via(i, e))
		return
	}
	folder := strings.HasSuffix(w.text, "/") || len(v.operands) > 2 || !slices.Contains(v.operands, i)
	if mode, err := v.b.res.lstat(e.File.Path); err == nil && mode.IsDir() {
		folder = true
	}
	if !folder {
		v.disturbs = append(v.disturbs, w.text)
	}
	if len(v.operands) == 1 && v.p.operands[0].act == actLink {
		// "ln -s TARGET" makes the link here; the word is the target.
		name := path.Base(w.text)
		v.disturbs = append(v.disturbs, name)
		v.b.add(v.via(i, v.b.operand(KindWrite, name, v.run.Cwd, v.at.from)))
	}
	if !folder || deep {
		v.b.add(v.via(i, v.below(e, deep, false)))
		if !folder {
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
		base := path.Base(source.text)
		if source.open() || base == "." || base == ".." || base == "/" {
			all := v.b.operand(KindWrite, w.text, v.run.Cwd, v.at.from)
			v.b.add(v.via(i, v.below(all, true, false)))
			continue
		}
		name := strings.TrimRight(w.text, "/") + "/" + base
		v.disturbs = append(v.disturbs, name)
		v.b.add(v.via(i, v.below(v.b.operand(KindWrite, name, v.run.Cwd, v.at.from), deep, false)))
	}
}
