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
		v.put(i, name, false)
	}
	if !folder || deep {
		v.put(i, w.text, deep)
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
		base := v.copied(source)
		if base == "" {
			v.put(i, w.text, true)
			continue
		}
		name := strings.TrimRight(w.text, "/") + "/" + base
		v.disturbs = append(v.disturbs, name)
		v.put(i, name, deep)
	}
}

// copied is the name that a source of a copy has in the folder it goes into, ""
// when that is not known.
func (v *invocation) copied(source *word) string {
	if source.open() {
		return ""
	}
	text := source.text
	switch v.p.operands[0].act {
	case actCopies:
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
	if v.has(v.p.keepsPaths) {
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
	e := v.b.operand(KindWrite, text, v.run.Cwd, v.at.from)
	if v.has(v.p.clearsWith) {
		if gone := v.b.entry(KindDelete, text, v.run.Cwd, v.at.from); gone.File == nil || !v.surroundings().absent(gone.File.Path) {
			v.b.add(v.via(i, v.below(gone, deep, false)))
		}
	}
	v.b.add(v.via(i, v.below(e, deep, false)))
}
