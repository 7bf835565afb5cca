package effects

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// What a program that only looks may be told by the project it runs in: to run
// another one, to ask another host. Such files come with what is cloned, so a
// run that obeys one is not read-only, unless all that it says is known to be
// harmless.

// maxObeyedOperands is how many operands are looked beside.
const maxObeyedOperands = 64

// tellsOfItself reports whether the run is a question about the program alone,
// such as for its version.
func (v *invocation) tellsOfItself() bool {
	return len(v.args) == 1 && len(v.subs) == 0 && len(v.operands) == 0 && !v.changes && len(v.flags) == 1 &&
		slices.Contains(v.p.readonlyAlone, v.flags[0])
}

// obeysProject returns a file that the program obeys and that says more than is
// known to be harmless, or may come to before the program runs; "" if there is
// none. It lies in the folder of the run or in one above it, up to the root of
// all: programs go up from where the folder really is, not along the links that
// lead to it, and not all stop where a project begins. The home is the person's:
// what lies in it counts only if an earlier call or part of the call wrote it.
func (v *invocation) obeysProject() string {
	if len(v.p.obeys) == 0 {
		return ""
	}
	around := v.surroundings()
	homes := v.b.res.session().homes
	for _, o := range v.p.obeys {
		switch {
		case o.project:
			return "the files of its project"
		case o.git:
			folder := v.folderOf(v.run.Cwd)
			if folder == "" {
				return "a repository in its folder, of which nothing is known"
			}
			if file := around.repository(o.settings, folder); file != "" {
				return file
			}
		case o.home:
			for _, home := range homes {
				if file := path.Join(home, o.name); v.Rewritten(file) {
					return file
				}
			}
		}
	}
	// Of a program that obeys no file of a folder, the folder need not be known.
	if slices.ContainsFunc(v.p.obeys, func(o obeyed) bool { return !o.home && !o.project && !o.variable && !o.beside }) {
		if file := v.obeysFrom(around, v.folderOf(v.run.Cwd), false); file != "" {
			return file
		}
	}
	if !slices.ContainsFunc(v.p.obeys, func(o obeyed) bool { return o.beside }) {
		return ""
	}
	for _, dir := range v.operandFolders() {
		if file := v.obeysFrom(around, dir, true); file != "" {
			return file
		}
	}
	return ""
}

// surroundings are what the run finds around it.
func (v *invocation) surroundings() *Surroundings {
	return &Surroundings{fs: v.b.fs, files: v, home: v.b.c.User.Home, project: v.b.res.project()}
}

// obeysFrom is obeysProject for the files of one folder, "" if it is not known,
// and of all above it: those beside operands, or the others.
func (v *invocation) obeysFrom(around *Surroundings, dir string, beside bool) string {
	if dir == "" {
		return "a file in a folder of which nothing is known"
	}
	homes := v.b.res.session().homes
	root := v.b.res.project()
	if root == "" || !lexpath.In(root, dir) {
		root = dir
	}
	for range maxObeyedDepth {
		for i := range v.p.obeys {
			o := &v.p.obeys[i]
			file := path.Join(dir, o.name)
			switch {
			case o.git, o.home, o.variable, o.beside != beside:
			case slices.Contains(homes, dir):
				if v.Rewritten(file) {
					return file
				}
			case o.settings == nil && !around.absent(file), o.settings != nil && !around.harmlessFile(o.settings, file, root):
				return file
			}
		}
		if dir == "/" {
			return ""
		}
		dir = path.Dir(dir)
	}
	return "a file far above its folder"
}

// operandFolders are the folders that the operands lie in: as they are written,
// and where links lead, since programs go up from either. "" stands for one that
// is not known. A pattern may stand for a folder's own name, so what it is below
// counts, and no deeper folder can be meant: applyPath refuses other patterns.
func (v *invocation) operandFolders() []string {
	var dirs []string
	cwd := v.folderOf(v.run.Cwd)
	for _, i := range v.operands[:min(len(v.operands), maxObeyedOperands)] {
		w := &v.args[i]
		if w.dynamic() || cwd == "" {
			return append(dirs, "")
		}
		given := w.text
		if !path.IsAbs(given) {
			given = path.Join(cwd, given)
		}
		real := ""
		if e := v.b.res.operand(KindRead, path.Dir(given), "", v.at.from); e.File != nil {
			real = e.File.Path
		}
		dirs = append(dirs, path.Dir(given), real)
		if e := v.b.res.operand(KindRead, given, "", v.at.from); !w.glob && e.File != nil {
			dirs = append(dirs, path.Dir(e.File.Path))
		}
	}
	if len(v.operands) > maxObeyedOperands {
		dirs = append(dirs, "")
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Changed reports whether the file is, or may be, one that an earlier call or part
// of the call names as what it writes or deletes.
func (v *invocation) Changed(file string) bool {
	return v.b.writes(file) || v.b.stale(file)
}

// Rewritten is Changed for files that git checkout and its like may change as
// well, which is all but those of git's own folder. Of a folder, it tells whether
// anything in it may be changed.
func (v *invocation) Rewritten(file string) bool {
	in := lexpath.Fold(file) + "/"
	return v.Changed(file) || v.b.mayChange(func(w string) bool { return strings.HasPrefix(w, in) }) || v.b.settled(Effect{File: &File{Path: file}}).File == nil
}

// noFile says why a word in the place of a file is none, "" when it is one.
func noFile(does act, text string) string {
	switch {
	case does == actSources && strings.HasPrefix(text, "@"):
		return "a file of options"
	case does == actViewed && strings.HasPrefix(text, "+"):
		return "a command for a program that shows files"
	case does == actDatabase && strings.HasPrefix(strings.ToLower(text), "file:"):
		return "an address that leads to a file"
	}
	return ""
}

// isName reports whether the text can only be a name of what the program knows
// itself: no path, no address, and no file that happens to have that name.
func (v *invocation) isName(text string) bool {
	if strings.ContainsAny(text, "/:\\~") || strings.HasPrefix(text, ".") || v.run.Cwd == "" {
		return false
	}
	file := path.Join(v.run.Cwd, text)
	if v.b.writes(file) || v.b.stale(file) {
		return false
	}
	_, err := v.b.fs.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}
