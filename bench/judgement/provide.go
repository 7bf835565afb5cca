package main

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// provide makes what the runs of a call need to be what they were where the
// call was made: the folder that they run in, the script of the project that
// they execute, the targets that they name. Without a file there would be no
// text to bind a person's answer to, and such a call would ask for ever. What
// else a call touches is left out, so that no path is more than its name says.
func (w *world) provide(list []effects.Effect, root string) {
	for i := range list {
		r := list[i].Run
		if r == nil {
			continue
		}
		if within(r.Cwd, root) {
			if _, err := w.fs.Lstat(r.Cwd); err != nil {
				w.fs.Dir(r.Cwd)
			}
			if decisions.RunsTargets(r.Program) {
				w.targets(r)
			}
		}
		if r.Script != nil && within(r.Script.Path, root) {
			w.add(r.Script.Path, "true\n")
		}
	}
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

// within reports whether a path lies below a folder.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
