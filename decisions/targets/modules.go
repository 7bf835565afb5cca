package targets

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/strictjson"
)

// installScripts are those of a project that run when its dependencies are installed.
var installScripts = []string{
	"pnpm:devPreinstall", "preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare",
	"predependencies", "dependencies", "postdependencies",
}

// scriptsOf returns the names of the scripts of a package.json that a run may execute, nil
// if these are not certain.
func scriptsOf(r *effects.Run) []string {
	switch r.Program {
	case "npm", "pnpm", "yarn":
	default:
		return nil // with other rules: bun's, and composer's, whose scripts call others by @name
	}
	if len(r.Args) == 0 {
		return nil
	}
	named := func(name string) []string { return []string{"pre" + name, name, "post" + name} }
	switch first := r.Args[0]; {
	case first == "test":
		return named("test")
	case (first == "run" || first == "run-script") && len(r.Args) > 1 && !strings.HasPrefix(r.Args[1], "-"):
		return named(r.Args[1])
	case (first == "install" || first == "i" || first == "ci") && r.Program != "yarn":
		return installScripts
	}
	return nil
}

// scriptText returns the scripts of a package.json that a run executes; false if it is not
// certain that no other script runs, so that all of them count.
func scriptText(names []string, all strictjson.Object) (text []byte, certain bool) {
	if names == nil {
		return nil, false
	}
	if _, ok := all.Get(names[1]); !ok && !slices.Contains(names, "postinstall") {
		return nil, false // pnpm takes an expression that several names match
	}
	for _, name := range names {
		value, ok := all.Get(name)
		if ok && runsScripts().Match(value) {
			return nil, false
		}
		text = append(append(append(text, name...), 0), value...) // without a value, only the name
	}
	return text, true
}

// runsScripts matches what may run other scripts of a package.json, or read them. An
// escape in JSON may be any letter.
var runsScripts = lazy.Regexp(`(?i)\\u|--run\b|package\.json|npm_|\b(?:npm|pnpm|yarn|yarnpkg|bun|corepack|run-[sp]|concurrently|conc|turbo|nx|lerna|wireit|nps|nr|na|wsrun|ultra|rush|moon|lage|redo|zx|make|just|task)\b`)

// maxNames is the maximum number of names in a folder that modules are searched in.
const maxNames = 4096

// moduleFiles returns the files of a folder that a module of Python, and the packages it
// is in, may be.
func moduleFiles(module, dir string) (files []string) {
	parts := strings.Split(module, ".")
	for i := range parts {
		at := path.Join(dir, path.Join(parts[:i+1]...))
		files = append(files, at+".py", at+"/__init__.py")
	}
	return append(files, path.Join(dir, path.Join(parts...), "__main__.py"))
}

// moduleOf returns what python -m takes for a module in the folder that it runs in, which
// it searches first: the files of that name, most often none, and the names of all modules
// there, as any that the module imports may be one of them.
func moduleOf(fsys effects.FS, module, dir string, after *effects.Disturbance) *effects.Script {
	names, err := fsys.Names(dir, maxNames)
	if err != nil || !after.None() && (after.MayWriteBelow(dir) || MayChange(fsys, after, dir)) {
		return nil
	}
	var all []byte
	var modules []string
	for _, n := range names {
		name := n.Name()
		switch path.Ext(name) {
		case ".py", ".pyc", ".so", ".pyd", ".pth", ".zip":
			modules = append(modules, name)
			continue
		}
		if n.Type().IsRegular() {
			continue
		}
		for _, in := range []string{"__init__.py", "__init__.pyc"} {
			if _, err := fsys.Lstat(path.Join(dir, name, in)); err == nil {
				modules = append(modules, name)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil
			}
		}
	}
	slices.Sort(modules)
	for _, name := range modules {
		all = append(append(all, name...), 0)
	}
	files := moduleFiles(module, dir)
	for _, file := range files {
		text, err := fsys.ReadFile(file, maxTargets)
		state := strconv.Itoa(len(text))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			state = "none"
		case err != nil:
			return nil
		}
		all = slices.Concat(all, []byte("\x00"+state+"\x00"), text)
	}
	s := sum(files[0], all)
	s.What = "module " + module + " in"
	return s
}
