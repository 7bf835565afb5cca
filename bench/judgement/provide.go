package main

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/targets"
	"github.com/permd/permd/internal/lexpath"
)

// provide makes the files that the runs of a call had where the call was made: the
// folder that they run in, the repository that git works on, the project's script
// that they execute, the targets that they name, the environment that they
// activate, the files that they stage. main is the checkout of the repository. Remembered answers are bound to
// the text of such files: without them permd would ask every time. Other files that
// a call touches are not made.
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
			if targets.Runs(r.Program) {
				w.targets(r)
			}
			if r.Program == "mise" {
				w.miseTasks(r)
			}
			if r.Program == "git" && r.Subcommand == "add" {
				w.staged(r, root)
			}
		case r.Program == "git":
			w.outside(r.Cwd, main)
		}
		if r.Script != nil && within(r.Script.Path, root) {
			w.add(r.Script.Path, "true\n")
		}
	}
}

// staged makes the files that git add names, which it would not find otherwise. A name without a
// suffix may be that of a folder.
func (w *world) staged(r *effects.Run, root string) {
	for _, word := range r.Args {
		if file := lexpath.Abs(r.Cwd, word); path.Ext(word) != "" && !strings.ContainsAny(word, "*?[:$") && word[0] != '-' && within(file, root) {
			w.add(file, "x\n")
		}
	}
}

// outside makes a repository of a folder outside the project that git works in,
// unless it is in one already: git needs a repository. It is a worktree of the
// project if its name says so, otherwise an ordinary repository.
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

// targets makes the files that a run of npm, make and the like reads, with the target that it
// names: a run of one that there is not is never remembered. All calls are looked at before the
// first is decided, so that the files stay as they are from then on.
func (w *world) targets(r *effects.Run) {
	file, start, rule := path.Join(r.Cwd, "package.json"), plainFiles["package.json"], func(string) string { return "" }
	switch r.Program {
	case "make", "gmake":
		file, start, rule = path.Join(r.Cwd, "Makefile"), plainFiles["Makefile"], func(name string) string { return name + ":\n\ttrue\n" }
	case "just":
		file, start, rule = path.Join(r.Cwd, "justfile"), "test:\n\ttrue\n", func(name string) string { return name + ":\n\ttrue\n" }
	case "rake":
		file, start = path.Join(r.Cwd, "Rakefile"), "task :test\n"
	}
	if r.Program == "pnpm" && len(r.Args) > 2 && (r.Args[0] == "--filter" || r.Args[0] == "-F") && packageName.MatchString(r.Args[1]) {
		file = w.filtered(r.Cwd, r.Args[1])
		start = strings.Replace(start, `"project"`, strconv.Quote(r.Args[1]), 1)
	}
	w.add(file, start)
	text, err := w.fs.ReadFile(file, 1<<20)
	if err != nil {
		return
	}
	for _, name := range r.Args {
		switch {
		case !targetName.MatchString(name) || strings.Contains(string(text), "\n"+name+":") || strings.Contains(string(text), strconv.Quote(name)+":"):
		case path.Base(file) != "package.json" && strings.Contains(name, ":"):
		case path.Base(file) == "package.json":
			text = []byte(strings.Replace(string(text), `"scripts":{`, `"scripts":{`+strconv.Quote(name)+`:"true",`, 1))
		default:
			text = append(text, rule(name)...)
		}
	}
	w.fs.File(file, string(text))
}

// packageName matches the name of a package, with a scope or without.
var packageName = regexp.MustCompile(`^(?:@[A-Za-z0-9-]+/)?[A-Za-z0-9][A-Za-z0-9-]*$`)

// filtered makes the workspace of pnpm that a run is in, and returns the package.json of a package
// in it. All that are named alike but for a scope are one.
func (w *world) filtered(cwd, name string) string {
	for cwd != "/" {
		if _, err := w.fs.Lstat(path.Join(cwd, ".git")); err == nil {
			break
		}
		cwd = path.Dir(cwd)
	}
	w.add(path.Join(cwd, "pnpm-workspace.yaml"), "packages:\n  - packages/*\n")
	file := path.Join(cwd, "packages", path.Base(name), "package.json")
	if text, err := w.fs.ReadFile(file, 1<<20); err == nil && strings.HasPrefix(name, "@") {
		w.fs.File(file, strings.Replace(string(text), `"name":`+strconv.Quote(path.Base(name)), `"name":`+strconv.Quote(name), 1))
	}
	return file
}

// miseTasks makes the mise.toml of the working tree that a run of mise is in, with the tasks that
// are named. All working trees of a repository have the same.
func (w *world) miseTasks(r *effects.Run) {
	dir := r.Cwd
	for dir != "/" {
		if _, err := w.fs.Lstat(path.Join(dir, ".git")); err == nil {
			break
		}
		dir = path.Dir(dir)
	}
	if w.tasks == nil {
		w.tasks = map[string]bool{}
	}
	w.tasks[path.Join(dir, "mise.toml")] = true
	for _, name := range r.Operands {
		if targetName.MatchString(name) {
			w.tasks[name] = true
		}
	}
	var text strings.Builder
	names := slices.Sorted(maps.Keys(w.tasks))
	for _, name := range names {
		if !path.IsAbs(name) {
			fmt.Fprintf(&text, "[tasks.%q]\nrun = \"true\"\n", name)
		}
	}
	for _, file := range names {
		if path.IsAbs(file) {
			w.fs.File(file, text.String())
		}
	}
}

// targetName matches what may be the name of a target or script.
var targetName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_:-]*$`)

// activate is the script that activates a virtual environment of Python.
const activate = `
VIRTUAL_ENV="DIR"
export VIRTUAL_ENV
PATH="$VIRTUAL_ENV/bin:$PATH"
export PATH
hash -r 2>/dev/null
`

// within reports whether a path is below a folder.
func within(p, dir string) bool {
	return lexpath.In(dir, p)
}
