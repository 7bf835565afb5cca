package main

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// provide makes what the runs of a call need to be what they were where the
// call was made: the folder that they run in, the repository that git works on,
// the script of the project that they execute, the targets that they name, the
// environment that they activate. main is the checkout of the repository. Without a file there would be no
// text to bind a person's answer to, and such a call would ask for ever. What
// else a call touches is left out, so that no path is more than its name says.
func (w *world) provide(list []effects.Effect, root, main string) {
	for i := range list {
		if f := list[i].File; f != nil && list[i].Kind == effects.KindRead && strings.HasSuffix(f.Path, "/bin/activate") {
			w.add(f.Path, strings.ReplaceAll(activate, "DIR", path.Dir(path.Dir(f.Path))))
		}
		r := list[i].Run
		if r == nil {
			continue
		}
		if r.Cwd == "" {
			continue
		}
		if _, err := w.fs.Lstat(r.Cwd); err != nil {
			w.fs.Dir(r.Cwd)
		}
		switch {
		case within(r.Cwd, root):
			if decisions.RunsTargets(r.Program) {
				w.targets(r)
			}
		case r.Program == "git":
			w.outside(r.Cwd, main)
		}
		if r.Script != nil && within(r.Script.Path, root) {
			w.add(r.Script.Path, "true\n")
		}
	}
}

// outside makes a folder that git works in, and that is not the project's, a
// worktree of the project's if it is called so, else an ordinary repository, if
// none of the folders that it lies in is one: git works nowhere else.
func (w *world) outside(dir, main string) {
	for d := dir; d != "/"; d = path.Dir(d) {
		if _, err := w.fs.Lstat(path.Join(d, ".git")); err == nil {
			return
		}
	}
	if before, name, ok := strings.Cut(dir, "worktrees/"); ok {
		tree, _, _ := strings.Cut(name, "/")
		w.worktree(before+"worktrees/"+tree, main)
		return
	}
	w.repository(path.Join(dir, ".git"))
}

// targets makes the files that a run of npm, make and their like reads. They
// hold no particular targets: what is pinned is the text.
func (w *world) targets(r *effects.Run) {
	switch r.Program {
	case "make", "gmake":
		w.add(path.Join(r.Cwd, "Makefile"), plainFiles["Makefile"])
	case "just":
		w.add(path.Join(r.Cwd, "justfile"), "test:\n\ttrue\n")
	case "rake":
		w.add(path.Join(r.Cwd, "Rakefile"), "task :test\n")
	default:
		w.add(path.Join(r.Cwd, "package.json"), plainFiles["package.json"])
	}
}

// activate is what activating a virtual environment of Python comes to.
const activate = `
VIRTUAL_ENV="DIR"
export VIRTUAL_ENV
PATH="$VIRTUAL_ENV/bin:$PATH"
export PATH
hash -r 2>/dev/null
`

// within reports whether a path lies below a folder.
func within(p, dir string) bool {
	return lexpath.In(dir, p)
}
