package targets

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/wordset"
)

// moduleSuffixes are the ends of names that Python imports, or adds to where it looks:
// x.abi3.so and x.cpython-314-darwin.so end like the others.
var moduleSuffixes = wordset.Fields(".py .pyc .pyw .so .pyd .pth .zip .dylib")

// readsWords are modules of Python for which a word with a dot or a slash is no code, but data,
// a folder, or the name of a test.
var readsWords = wordset.Fields("pytest unittest venv virtualenv ensurepip json.tool http.server compileall py_compile build site sysconfig platform base64 calendar")

// moduleParts returns the files of a folder that a module of Python, and the packages it is
// in, may be.
func moduleParts(module, dir string) (files []string) {
	parts := strings.Split(module, ".")
	for i := range parts {
		at := path.Join(dir, path.Join(parts[:i+1]...))
		files = append(files, at+".py", at+"/__init__.py")
	}
	return append(files, path.Join(dir, path.Join(parts...), "__main__.py"))
}

// bindModule binds python -m to what it takes for a module in the folder that it runs in, which
// it searches first: the files of that name, most often none, and the names of all modules
// there, as any that the module imports may be one of them.
func bindModule(rd *reading, module string) *effects.Script {
	dir := rd.cwd()
	if !rd.after.None() && (rd.after.MayWriteBelow(dir) || MayChange(rd.fsys, rd.after, dir)) {
		rd.fail("the call may write modules of Python")
	}
	if rd.run.Tool == "" && !readsWords.Has(module) && !takesRequirements(rd.run) && slices.ContainsFunc(rd.run.Args[2:], func(w string) bool { return strings.ContainsAny(w, "./") }) {
		rd.fail("a file among its words may be code")
	}
	var all []byte
	for _, name := range rd.modulesIn(dir) {
		all = append(append(all, name...), 0)
	}
	files := moduleParts(module, dir)
	for _, file := range files {
		text, there := rd.read(file)
		all = appendFile(all, "", text, there)
		rd.compiled(file)
	}
	if rd.why != "" {
		return nil
	}
	s := sum(files[0], all)
	s.What = "module " + module + " in"
	return s
}

// compiled fails if there is a compiled form of a module, which Python may take instead.
func (rd *reading) compiled(file string) {
	stem := strings.TrimSuffix(path.Base(file), "py")
	for _, folder := range []string{path.Dir(file), path.Join(path.Dir(file), "__pycache__")} {
		if _, err := rd.fsys.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for _, name := range rd.names(folder) {
			if strings.HasPrefix(name, stem) && name != path.Base(file) && moduleSuffixes.Has(path.Ext(name)) {
				rd.failed(path.Join(folder, name), "is a compiled module that Python may take instead")
			}
		}
	}
}

// maxSearched is the maximum number of names that are looked at below one folder for modules.
const maxSearched = 256

// modulesIn returns the names of the modules and packages in a folder, sorted.
func (rd *reading) modulesIn(dir string) (modules []string) {
	for _, name := range rd.names(dir) {
		if moduleSuffixes.Has(path.Ext(name)) {
			modules = append(modules, name)
			continue
		}
		if !pythonModule().MatchString(name) || name == "__pycache__" {
			continue // no name that can be imported
		}
		left := maxSearched
		if rd.holdsModules(path.Join(dir, name), 3, &left) {
			modules = append(modules, name)
		}
	}
	return modules
}

// holdsModules reports whether there are modules in a folder, or may be: a folder without
// __init__.py is a package, too, if another one of that name is none.
func (rd *reading) holdsModules(dir string, depth int, left *int) bool {
	names, ok := namesOf(rd.fsys, dir)
	if !ok {
		return true
	}
	real := names[len(names)-1]
	mode, err := rd.fsys.Lstat(real)
	if err != nil || !mode.IsDir() {
		return err != nil && !errors.Is(err, fs.ErrNotExist)
	}
	list, err := rd.fsys.Names(real, *left)
	if *left -= len(list); err != nil || *left <= 0 {
		return true
	}
	for _, n := range list {
		if moduleSuffixes.Has(path.Ext(n.Name())) {
			return true
		}
	}
	for _, n := range list {
		if depth > 1 && !n.Type().IsRegular() && pythonModule().MatchString(n.Name()) && rd.holdsModules(path.Join(real, n.Name()), depth-1, left) {
			return true
		}
	}
	return false
}
