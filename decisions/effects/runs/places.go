package runs

import (
	"path"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/lexpath"
)

// fromTop handles a path that some commands of git resolve from the top of the
// repository, whatever folder they run in: git changes to it before it reads the path.
// Another version may resolve it from the run's folder, so both paths are read.
func (v *invocation) fromTop(i int, w effects.Word) {
	v.applyPath(programs.RoleReads, i, w, v.p.Recursive)
	cwd := v.run.Cwd
	top, there := v.top(), v.b.Paths.Resolved(cwd, "")
	if w.Text == "-" || top == there && top != "" || path.IsAbs(w.Text) {
		return
	}
	if top == "" || w.Glob {
		v.unknown(i, "a path that git takes from the top of the repository: "+display.Display(display.ShowWord(&w)))
		return
	}
	v.run.Cwd = top
	v.applyPath(programs.RoleReads, i, w, v.p.Recursive)
	v.run.Cwd = cwd
}

// top returns the folder that holds the repository of the run's folder, that folder
// itself if there is no repository, "" if it is not known.
func (v *invocation) top() string {
	there, root := v.b.Paths.Resolved(v.run.Cwd, ""), v.b.Paths.Project()
	for dir := there; dir != ""; dir = path.Dir(dir) {
		if dir == root || v.b.Exists(dir+"/.git") {
			return dir
		}
		if dir == "/" {
			return there
		}
	}
	return ""
}

// namePrefix handles a prefix of the names of files that are written: the program may write
// any file of that folder. Outside of the project this is unknown, since the effect
// would cover more than is meant.
func (v *invocation) namePrefix(i int, w effects.Word) {
	if w.Glob {
		v.unknown(i, "a pattern whose files are not known: "+display.Display(display.ShowWord(&w)))
		return
	}
	v.changes = true
	v.paths++
	v.markHarmful(i)
	e := v.b.Operand(effects.KindWrite, path.Dir(w.Text+"x"), v.run.Cwd, v.at.From)
	if root := v.b.Paths.Project(); e.File != nil && (root == "" || !lexpath.In(root, e.File.Path)) {
		v.applyPath(programs.RoleWrites, i, w, false)
		v.unknown(i, "the beginning of the names of files that are written: "+display.Display(display.ShowWord(&w)))
		return
	}
	v.b.Add(v.via(i, v.below(e, true, false)))
}

// dash handles the word "-" where a file is read. For most programs it is standard
// input; for some, such as cp and readelf, it is a file of that name.
func (v *invocation) dash(role programs.Role, i int, w effects.Word) {
	file := path.Join(v.run.Cwd, "-")
	if v.run.Cwd == "" || v.b.Exists(file) || v.b.Changed(file) {
		w.Text = "./-"
		v.applyPath(role, i, w, v.p.Recursive)
	}
}

// chdir handles an option that changes the program's working folder.
func (v *invocation) chdir(i int, w effects.Word) {
	v.markHarmful(i)
	v.run.Cwd = v.folder(i, w.Text)
	if v.run.Cwd == "" {
		v.unknown(i, "a folder that is not known: "+display.Display(display.ShowWord(&w)))
	}
}

// folder resolves a path of the run, "" if it is not known.
func (v *invocation) folder(i int, text string) string {
	if v.args[i].Glob {
		return ""
	}
	e := v.b.Operand(effects.KindRead, text, v.run.Cwd, v.at.From)
	if e.File == nil {
		return ""
	}
	return e.File.Path
}
