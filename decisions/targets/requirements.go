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

// plainRequirement is a line with a package of an index, or one elsewhere on the network: what
// a folder or a file of the project holds is code that runs when it is installed.
var plainRequirement = lazy.Regexp(`^(?:[A-Za-z0-9][A-Za-z0-9._-]*(?:\s*\[[A-Za-z0-9._,\s-]*\])?\s*(?:[<>=!~;(].*|@\s*(?:git\+)?https://.*)?|(?:git\+)?https://.*)$`)

// archives are how the names of files end that hold packages.
var archives = wordset.Fields(".whl .zip .gz .bz2 .xz .tar .tgz .tbz .txz .egg")

// requirementOptions are the options by which pip, and a file of requirements, name such files.
var requirementOptions = []string{"--requirement", "--constraint", "--build-constraint"}

// pipWords returns the words of a run of pip after its name, nil if it is none.
func pipWords(r *effects.Run) []string {
	name := strings.TrimRight(r.Program, ".0123456789")
	switch {
	case name == "pip":
		return r.Args
	case r.Program == "uv" && len(r.Args) > 1 && r.Args[0] == "pip":
		return r.Args[1:]
	case runsPipModule(r):
		return r.Args[2:]
	}
	return nil
}

// runsPipModule reports whether a run is python -m pip.
func runsPipModule(r *effects.Run) bool {
	return strings.TrimRight(r.Program, ".0123456789") == "python" && len(r.Args) > 2 && r.Args[0] == "-m" && r.Args[1] == "pip"
}

// takesRequirements reports whether a run of pip has an option that names files of requirements.
func takesRequirements(r *effects.Run) bool {
	words := pipWords(r)
	return slices.ContainsFunc(words, func(w string) bool { return w == "install" || w == "download" || w == "wheel" || w == "sync" }) &&
		(slices.Contains(words, "sync") || slices.ContainsFunc(words, func(w string) bool { return mayName(w) }))
}

// mayName reports whether a word may be an option that names files of requirements: by an
// abbreviation, or after other letters.
func mayName(word string) bool {
	if long, _, _ := strings.Cut(word, "="); strings.HasPrefix(word, "--") {
		return slices.ContainsFunc(requirementOptions, func(o string) bool { return len(long) > 2 && strings.HasPrefix(o, long) })
	}
	return strings.HasPrefix(word, "-") && strings.ContainsAny(word, "rc")
}

// bindRequirements binds a run of pip to its files of requirements, to those that they name, and to
// the settings that say from where packages are.
func bindRequirements(rd *reading, _ string) *effects.Script {
	var all []byte
	if runsPipModule(rd.run) {
		if words := rd.run.Args[2:]; slices.ContainsFunc(words, func(w string) bool { return w == "." || strings.Contains(w, "./") }) {
			rd.fail("a file among its words may be code")
		}
		module := bindModule(rd, "pip")
		if module == nil {
			return nil
		}
		all = appendFile(all, "module", []byte(module.SHA256), true)
	}
	files := rd.requirementsIn(rd.cwd(), pipWords(rd.run))
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
		}
	}
	s := sum(files[0], all)
	s.What = "what is installed by"
	return s
}

// requirementsIn returns the files of requirements that words name from a folder.
func (rd *reading) requirementsIn(dir string, words []string) (files []string) {
	add := func(file string) {
		if file == "" || strings.Contains(file, ":") || strings.ContainsAny(file, "$\"'") {
			rd.fail("its requirements name others that are not certain to be files")
			return
		}
		if !path.IsAbs(file) {
			file = path.Join(dir, file)
		}
		files = append(files, path.Clean(file))
	}
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		name, value, joined := strings.Cut(w, "=")
		switch {
		case w == "-r" || w == "-c" || slices.Contains(requirementOptions, w):
			add(next)
		case joined && slices.Contains(requirementOptions, name):
			add(value)
		case strings.HasPrefix(w, "-r") || strings.HasPrefix(w, "-c"):
			add(w[2:])
		case mayName(w):
			rd.fail("which files of requirements its options name is not certain")
		case words[0] == "sync" && i > 0 && !strings.HasPrefix(w, "-"): // uv pip sync FILE
			add(w)
		}
	}
	return files
}

// requirementLines reads a file of requirements, and returns the files that it names.
func (rd *reading) requirementLines(file, text string) (files []string) {
	for line := range strings.Lines(strings.ReplaceAll(strings.ReplaceAll(text, "\r", ""), "\\\n", " ")) {
		line, _, _ = strings.Cut(" "+line, " #")
		switch line = strings.TrimSpace(line); {
		case line == "":
		case strings.Contains(line, "${"):
			rd.failed(file, "names variables, which may be anything")
		case line[0] != '-':
			first := strings.Fields(line)[0]
			if !plainRequirement().MatchString(line) || strings.Contains(line, "file:") || !strings.Contains(first, "://") && archives.Has(path.Ext(first)) {
				rd.failed(file, "names what lies in the project, with code of its own")
			}
		case slices.ContainsFunc(strings.Fields(line), namesCode):
			rd.failed(file, "names what lies in the project, with code of its own")
		default:
			files = append(files, rd.requirementsIn(path.Dir(file), strings.Fields(line))...)
		}
	}
	return files
}

// namesCode reports whether a word of a file of requirements may be an option that names a folder
// with packages (--editable, --find-links).
func namesCode(w string) bool {
	if long, ok := strings.CutPrefix(w, "--"); ok {
		return strings.HasPrefix(long, "e") && !strings.HasPrefix(long, "extra-index-url") || strings.HasPrefix(long, "f")
	}
	return strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "-r") && !strings.HasPrefix(w, "-c") && strings.ContainsAny(w, "ef")
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
