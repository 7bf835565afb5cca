package runs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/paths"
)

// maxGoFolders bounds the folders that are looked through for a package of a name.
const maxGoFolders = 256

// goSources sets aside the reads of the packages whose sources go doc, go list and go mod why
// open.
func (v *invocation) goSources() {
	if v.run.Program != "go" || len(v.subs) == 0 || v.b.Remote || v.run.Cwd == "" || len(v.args) == 0 {
		return
	}
	if slices.Equal(v.subs, []string{"mod", "why"}) { // it looks for imports in all packages
		v.plainGo = true
		v.goFolder(len(v.args)-1, v.manifestRoot())
		return
	}
	doc := v.subs[0] == "doc"
	if !doc && (v.subs[0] != "list" || v.has([]string{"-m"})) {
		return
	}
	v.plainGo = !doc && !v.has([]string{"-json"}) && !v.printsGoText()
	project := v.b.Paths.Project()
	if v.has([]string{"-deps"}) {
		v.goFolder(len(v.args)-1, project)
	}
	if doc || len(v.operands) == 0 {
		v.goFolder(len(v.args)-1, ".") // a word may be a symbol of this package
	}
	for n, i := range v.operands {
		if w := &v.args[i]; doc && n > 0 || w.Dynamic() || v.full() {
			continue // a symbol, or it asks already
		}
		text := v.args[i].Text
		before, _, several := strings.Cut(text, "...")
		dots := strings.TrimLeft(text, ".")
		switch local := strings.HasPrefix(dots, "/") || text == "." || text == ".."; {
		case several && local && !doc:
			v.goFolder(i, before[:strings.LastIndexByte(before, '/')+1]+".")
		case several, text == "all", text == "work", text == "tool":
			v.goFolder(i, project)
		case local || strings.HasSuffix(text, ".go"):
			for at := text; at != ""; { // DIR, DIR.Symbol, DIR.Symbol.Method
				v.goFolder(i, at)
				dot := strings.LastIndexByte(at, '.')
				if !doc || dot <= strings.LastIndexByte(at, '/')+1 {
					break
				}
				at = at[:dot]
			}
		default:
			v.goNamed(i, path.Base(text))
		}
	}
}

// goFolder sets aside the read of a folder with all below, or of a file.
func (v *invocation) goFolder(i int, word string) {
	if word == "" {
		return
	}
	e := v.b.Operand(effects.KindRead, word, v.run.Cwd, v.at.From)
	if e.File == nil {
		return
	}
	e.File.Recursive = v.isFolder(e.File.Path)
	switch {
	case v.plainGo && e.File.Recursive && v.opensGo(e.File.Path):
	default:
		v.setAside(i, e)
	}
	if outside := !e.Tags.Has(effects.InProject) && !e.Tags.Has(effects.Worktree); (outside || e.Guarded() != 0) && v.namedGo(i, word, len(e.File.OtherPaths) > 0) {
		v.b.Add(v.via(i, e))
	}
}

// namedGo reports whether an operand is the path of sources that are printed, wherever these
// are; linked is set if it leads there by a link. A folder that there is not is the first part of
// an import path.
func (v *invocation) namedGo(i int, word string, linked bool) bool {
	return (!v.plainGo || linked) && slices.Contains(v.operands, i) && strings.ContainsAny(word, "./") && v.b.Exists(v.b.Paths.Resolved(word, v.run.Cwd))
}

// opensGo adds the reads of the sources in a folder and below, for denies: go list prints the
// beginning of one that it does not understand. It returns false if there are too many.
func (v *invocation) opensGo(folder string) bool {
	queue, files := []string{folder}, []string(nil)
	for n := 0; n < len(queue); n++ {
		entries, err := v.b.FS.Names(queue[n], maxGoFolders*16)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || n >= maxGoFolders {
			return false
		}
		for _, e := range entries {
			name := e.Name()
			switch {
			case e.IsDir() && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_"):
				queue = append(queue, paths.Child(queue[n], name))
			case strings.HasSuffix(name, ".go"):
				files = append(files, paths.Child(queue[n], name))
			}
		}
		if len(files) > maxGoFolders {
			return false
		}
	}
	for _, file := range files {
		if e := v.b.Paths.Operand(effects.KindRead, file, "", v.at.From); e.File != nil {
			v.b.OpenSometimes(v.via(effects.Inherent, e))
		}
	}
	return true
}

// goNamed sets aside the reads of the project's packages whose import path may end with a name,
// which may be followed by a symbol. With too many directories it takes all of them.
func (v *invocation) goNamed(i int, name string) {
	root := v.b.Paths.Project()
	if root == "" || v.b.FS == nil {
		return
	}
	first, _, _ := strings.Cut(name, ".")
	queue := []string{root}
	for n := 0; n < len(queue); n++ {
		entries, err := v.b.FS.Names(queue[n], maxGoFolders*16)
		if err != nil || n >= maxGoFolders {
			v.goFolder(i, root)
			return
		}
		for _, e := range entries {
			file := paths.Child(queue[n], e.Name())
			switch {
			case n == 0 && strings.HasSuffix(e.Name(), ".go"):
				v.goFolder(i, file) // the module may be called by any name
			case e.Type()&(fs.ModeDir|fs.ModeSymlink) == 0 || strings.HasPrefix(e.Name(), "."):
			case e.Name() == name || e.Name() == first:
				v.goFolder(i, file)
			case e.IsDir():
				queue = append(queue, file)
			}
		}
	}
}

// printsGoText reports whether the format of go list may print more than names.
func (v *invocation) printsGoText() bool {
	for i := range v.args {
		w := &v.args[i]
		option := strings.TrimPrefix(strings.TrimPrefix(w.Text, "-"), "-")
		format, given := strings.CutPrefix(option, "f=")
		if option == "f" && w.Text != "f" && i+1 < len(v.args) {
			w, given = &v.args[i+1], true
			format = w.Text
		}
		if given && (w.Dynamic() || !languages.PlainGoFormat(format)) {
			return true
		}
	}
	return false
}
