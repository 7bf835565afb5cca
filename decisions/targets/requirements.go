package targets

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

// requirements are the files of a run of pip that name what it installs.
var requirements = runner{bind: bindRequirements}

// installing are the sub-commands that take requirements.
var installing = wordset.Fields("install download wheel sync")

// Options of pip install and uv pip install, and of lines in a file of requirements. Each other option fails: it may
// name a folder or a file of the project that holds packages, or settings.
var (
	// fileOptions name a file of requirements.
	fileOptions = wordset.Fields("-r --requirement --requirements -c --constraint --constraints -b --build-constraint --build-constraints --override --overrides")
	// indexOptions have the URL of an index as their value.
	indexOptions = wordset.Fields("-i --index-url --pypi-url --extra-index-url --index --default-index")
	// valueOptions have a value that names no code.
	valueOptions = wordset.Fields(`
		--timeout --retries --progress-bar --root-user-action --upgrade-strategy --no-binary --only-binary --platform --python-version --python-platform
		--implementation --abi -t --target --prefix --root --report -d --dest -w --wheel-dir
		-P --upgrade-package --resolution --prerelease --link-mode --exclude-newer --index-strategy --color
	`)
	// switches have no value.
	switches = wordset.Fields(`
		--quiet --verbose --no-input --no-color --disable-pip-version-check --no-python-version-warning --isolated --debug --upgrade --force-reinstall --ignore-installed
		--user --break-system-packages --dry-run --no-compile --compile --no-warn-script-location --no-warn-conflicts --pre --no-index --no-deps --prefer-binary
		--require-hashes --use-pep517 --no-clean --ignore-requires-python --no-cache-dir --no-cache
		--system --strict --reinstall --refresh --no-build --no-progress --offline --native-tls --exact
	`)
	// lineOptions are those of these that pip knows in a file of requirements.
	lineOptions = wordset.Fields("-r --requirement -c --constraint -i --index-url --pypi-url --extra-index-url --no-index --no-binary --only-binary --pre --prefer-binary --require-hashes")

	shortSwitches = lazy.Regexp(`^-[qvUIn]+$`)
	indexURL      = lazy.Regexp(`^https://[A-Za-z0-9][^\s\\$'"]*$`)
)

// unversioned returns the name of a program without a version at its end.
func unversioned(program string) string { return strings.TrimRight(program, ".0123456789") }

// pipWords returns the words of a run of pip or uv pip, without those before the module; nil if it is none.
func pipWords(r *effects.Run) []string {
	switch unversioned(r.Program) {
	case "pip":
		return r.Args
	case "uv":
		if i := slices.Index(r.Args, "pip"); i == 0 || i > 0 && strings.HasPrefix(r.Args[0], "-") {
			return slices.Concat(r.Args[:i], r.Args[i+1:])
		}
	case "python":
		if i := pipModule(r.Args); i >= 0 {
			return r.Args[i:]
		}
	}
	return nil
}

// pipModule returns the index of the first word after -m pip among the words of Python, -1 if there is no such module.
func pipModule(words []string) int {
	for i, w := range words {
		switch {
		case !strings.HasPrefix(w, "-") || strings.HasPrefix(w, "--"):
		case strings.HasSuffix(w, "mpip"):
			return i + 1
		case strings.HasSuffix(w, "m") && i+1 < len(words) && words[i+1] == "pip":
			return i + 2
		}
	}
	return -1
}

// takesRequirements reports whether a run of pip has an option that names files of requirements.
func takesRequirements(r *effects.Run) bool {
	words := pipWords(r)
	return slices.ContainsFunc(words, installing.Has) &&
		(slices.Contains(words, "sync") || slices.ContainsFunc(words, mayName))
}

// mayName reports whether a word may be an option that names files of requirements: by an
// abbreviation, or after other letters.
func mayName(word string) bool {
	if long, _, _ := strings.Cut(word, "="); strings.HasPrefix(word, "--") {
		return slices.ContainsFunc([]string{"--requirements", "--constraints", "--build-constraints", "--overrides"}, func(o string) bool { return len(long) > 2 && strings.HasPrefix(o, long) })
	}
	return strings.HasPrefix(word, "-") && strings.ContainsAny(word, "rcb")
}

// bindRequirements binds a run of pip to its files of requirements, to those that they name, and to
// the settings that say from where packages are.
func bindRequirements(rd *reading, _ string) *effects.Script {
	var all []byte
	if unversioned(rd.run.Program) == "python" {
		if rd.run.Args[0] != "-m" || rd.run.Args[1] != "pip" {
			rd.fail("the options of Python before the module are not read")
			return nil
		}
		module := bindModule(rd, "pip")
		if module == nil {
			return nil
		}
		all = appendFile(all, "module", []byte(module.SHA256), true)
	}
	files := rd.namedByWords(pipWords(rd.run))
	if len(files) == 0 {
		rd.fail("its files of requirements are not certain")
		return nil
	}
	for n := 0; n < len(files); n++ {
		if n == maxIncluded {
			rd.fail("its requirements name more files than are looked at")
			return nil
		}
		text, there := rd.read(files[n])
		if !there {
			rd.failed(files[n], "does not exist")
			return nil
		}
		all = appendFile(all, lexpath.Shorten(rd.cwd(), files[n]), text, true)
		for _, file := range rd.requirementLines(files[n], string(text)) {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	for _, file := range rd.pipSettings() {
		if text, there := rd.read(file); there {
			all = appendFile(all, file, text, true)
			if !plainPipSettings(rd.run.Program, file, text) {
				rd.failed(file, "may name packages in the project")
			}
		}
	}
	s := sum(files[0], all)
	s.What = "what is installed by"
	return s
}

// namedByWords returns the files of requirements that the words of a run of pip name. Its other operands must be
// packages of an index, or on the network.
func (rd *reading) namedByWords(words []string) (files []string) {
	operands, files := rd.readOptions(rd.cwd(), words, nil)
	if len(operands) == 0 || !installing.Has(operands[0]) {
		rd.fail("its sub-command is not certain")
		return nil
	}
	for i, w := range operands {
		switch {
		case i == 0:
		case operands[0] == "sync":
			files = append(files, rd.requirementsFile(rd.cwd(), w)...)
		case !rd.plainPackage(w):
			rd.fail("what its words install may lie in the project")
		}
	}
	return files
}

// readOptions reads the options among words: it returns the other words, and the files of requirements that options
// name from a folder. Only those in known are understood, of all if that is nil.
func (rd *reading) readOptions(dir string, words []string, known *wordset.Set) (operands, files []string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		name, value, joined := strings.Cut(w, "=")
		takes := fileOptions.Has(name) || indexOptions.Has(name) || valueOptions.Has(name)
		switch {
		case !strings.HasPrefix(w, "-"):
			operands = append(operands, w)
			continue
		case known != nil && !known.Has(name) && (len(w) < 3 || !known.Has(w[:2])), joined && !strings.HasPrefix(w, "--"):
			name = ""
		case takes && !joined:
			if i++; i == len(words) {
				name = ""
				break
			}
			if value = words[i]; strings.HasPrefix(value, "-") {
				name = "" // pip takes it for the value, uv for an option
			}
		case len(w) > 2 && (strings.HasPrefix(w, "-r") || strings.HasPrefix(w, "-c")):
			name, value = w[:2], w[2:]
		}
		switch {
		case fileOptions.Has(name):
			files = append(files, rd.requirementsFile(dir, value)...)
		case indexOptions.Has(name) && indexURL().MatchString(value), valueOptions.Has(name), !joined && switches.Has(name), shortSwitches().MatchString(name):
		case indexOptions.Has(name):
			rd.fail("its options name an index that may lie in the project")
		case namesCode(w):
			rd.fail("its options name what lies in the project, with code of its own")
		default:
			rd.fail("what its options name is not certain")
		}
	}
	return operands, files
}

// requirementsFile returns the file of requirements that a word names from a folder.
func (rd *reading) requirementsFile(dir, file string) []string {
	if file == "" || file[0] == '-' || strings.Contains(file, ":") || strings.ContainsAny(file, "$\"'\\~") {
		rd.fail("its requirements name others that are not certain to be files")
		return nil
	}
	switch strings.ToLower(path.Ext(file)) {
	case ".toml", ".py", ".cfg":
		rd.fail("its requirements are those of a project, with code of its own") // uv installs what pyproject.toml and setup.py describe
		return nil
	}
	if !path.IsAbs(file) {
		file = dir + "/" + file
	}
	if !rd.isClean(file) {
		rd.fail("its requirements name others above a folder that may be a link")
	}
	return []string{path.Clean(file)}
}

// isClean reports whether path.Clean does not change what an absolute path leads to: what ".." leaves is a folder.
func (rd *reading) isClean(file string) bool {
	at := "/"
	for part := range strings.SplitSeq(file, "/") {
		if part == ".." {
			rd.note(at)
			if mode, err := rd.fsys.Lstat(at); err != nil || !mode.IsDir() {
				return false
			}
		}
		at = path.Join(at, part)
	}
	return true
}

// namesCode reports whether a word may be an option that names a folder with packages (--editable, --find-links).
func namesCode(w string) bool {
	if long, ok := strings.CutPrefix(w, "--"); ok {
		return strings.HasPrefix(long, "e") && !strings.HasPrefix(long, "ex") || strings.HasPrefix(long, "f")
	}
	return strings.HasPrefix(w, "-") && strings.ContainsAny(w, "ef")
}

// pipSettings returns the files that pip takes settings from, those of a virtual environment in the
// project among them.
func (rd *reading) pipSettings() (files []string) {
	files = []string{"/etc/pip.conf", "/etc/xdg/pip/pip.conf", "/Library/Application Support/pip/pip.conf"}
	if p := rd.person; p != nil && path.IsAbs(p.Home) {
		files = append(files, path.Join(p.Home, ".pip/pip.conf"), path.Join(p.Home, "Library/Application Support/pip/pip.conf"))
		for _, dir := range configFolders(p) {
			files = append(files, path.Join(dir, "pip/pip.conf"), path.Join(dir, "uv/uv.toml"))
		}
	}
	for dir := rd.cwd(); ; dir = path.Dir(dir) {
		for _, name := range []string{".venv/pip.conf", "venv/pip.conf", "env/pip.conf", "uv.toml", "pyproject.toml"} {
			if rd.run.Program == "uv" || path.Ext(name) == ".conf" {
				files = append(files, path.Join(dir, name))
			}
		}
		if dir == "/" || rd.exists(path.Join(dir, ".git")) {
			return files
		}
	}
}
