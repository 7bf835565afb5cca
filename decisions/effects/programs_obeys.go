package effects

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// obeyedVariable is the name of a variable; a * at its end stands for the rest.
var obeyedVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*[*]?$`)

// What a program that only looks may be told by the project it runs in: to run
// another one, to ask another host. Such files come with what is cloned, so a
// run that obeys one is not read-only, unless all that it says is known to be
// harmless.

const (
	// maxObeyed is the size up to which such a file is looked into, in bytes; a
	// larger one counts as if it said something.
	maxObeyed = 64 << 10
	// maxObeyedDepth is how many folders are looked into.
	maxObeyedDepth = 64
	// maxObeyedOperands is how many operands are looked beside.
	maxObeyedOperands = 64
)

// obeyed is what a program obeys: a file of the folder that it runs in and of all
// above it, of those of the files that it is given, or of the person's home; the
// whole project; or a variable.
type obeyed struct {
	name     string
	beside   bool // in the folders of the files that the program is given
	home     bool
	git      bool      // the configuration of the repository
	project  bool      // all of the project's files, so that no form is read-only
	variable bool      // of the environment
	settings *settings // nil if its being there is enough
}

// theProject stands for all files of a project among what a program obeys,
// variableMark before the name of a variable, and besideMark before that of a file
// that lies beside an operand.
const (
	theProject   = "."
	variableMark = "$"
	besideMark   = "*/"
)

// obeyedFiles reads lines such as "rust-toolchain.toml = rustup".
func (p *tableParser) obeyedFiles(lines []spelled) ([]obeyed, error) {
	var all []obeyed
	for _, line := range lines {
		name, format, known := strings.Cut(line.text, " = ")
		// Files of layers may have words behind the name, which once were searched
		// for; now such a file counts whatever it says.
		name, _, _ = strings.Cut(name, ": ")
		if variable, ok := strings.CutPrefix(line.text, variableMark); ok {
			if !obeyedVariable.MatchString(variable) {
				return nil, line.errorf("variable %q: expected $NAME", line.text)
			}
			all = append(all, obeyed{name: variable, variable: true})
			continue
		}
		o := obeyed{name: name, git: name == ".git", project: name == theProject}
		o.name, o.home = strings.CutPrefix(name, "~/")
		o.name, o.beside = strings.CutPrefix(o.name, besideMark)
		if o.name == "" || strings.ContainsAny(o.name, " \t:=~*") || o.beside && (o.home || o.name == theProject || o.name == ".git") || path.IsAbs(o.name) || path.Clean(o.name) != o.name || strings.HasPrefix(o.name, "..") {
			return nil, line.errorf("file %q: expected NAME or NAME = SETTINGS", line.text)
		}
		if known {
			if o.settings = p.table.settings[format]; o.settings == nil {
				return nil, line.errorf("file %q: unknown settings %q", name, format)
			}
		}
		if o.git && o.settings == nil || (o.home || o.project) && known {
			return nil, line.errorf("file %q: settings are for files of a project", name)
		}
		all = append(all, o)
	}
	return all, nil
}

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
	homes := v.b.res.session().homes
	for _, o := range v.p.obeys {
		switch {
		case o.project:
			return "the files of its project"
		case o.git:
			if file := v.obeysRepository(o.settings); file != "" {
				return file
			}
		case o.home:
			for _, home := range homes {
				if file := path.Join(home, o.name); v.rewritten(file) {
					return file
				}
			}
		}
	}
	// Of a program that obeys no file of a folder, the folder need not be known.
	if slices.ContainsFunc(v.p.obeys, func(o obeyed) bool { return !o.home && !o.project && !o.variable && !o.beside }) {
		if file := v.obeysFrom(v.folderOf(v.run.Cwd), false); file != "" {
			return file
		}
	}
	if !slices.ContainsFunc(v.p.obeys, func(o obeyed) bool { return o.beside }) {
		return ""
	}
	for _, dir := range v.operandFolders() {
		if file := v.obeysFrom(dir, true); file != "" {
			return file
		}
	}
	return ""
}

// obeysFrom is obeysProject for the files of one folder, "" if it is not known,
// and of all above it: those beside operands, or the others.
func (v *invocation) obeysFrom(dir string, beside bool) string {
	if dir == "" {
		return "a file in a folder of which nothing is known"
	}
	homes := v.b.res.session().homes
	root := v.b.res.project()
	if root == "" || !inside(root, dir) {
		root = dir
	}
	for range maxObeyedDepth {
		for i := range v.p.obeys {
			o := &v.p.obeys[i]
			file := path.Join(dir, o.name)
			switch {
			case o.git, o.home, o.variable, o.beside != beside:
			case slices.Contains(homes, dir):
				if v.rewritten(file) {
					return file
				}
			case o.settings == nil && !v.absent(file), o.settings != nil && !v.harmlessFile(o.settings, file, root):
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

// changed reports whether the file is, or may be, one that an earlier call or part
// of the call names as what it writes or deletes.
func (v *invocation) changed(file string) bool {
	return v.b.writes(file) || v.b.stale(file)
}

// rewritten is changed for files that git checkout and its like may change as
// well, which is all but those of git's own folder. Of a folder, it tells whether
// anything in it may be changed.
func (v *invocation) rewritten(file string) bool {
	in := fold(file) + "/"
	return v.changed(file) || v.b.mayChange(func(w string) bool { return strings.HasPrefix(w, in) }) || v.b.settled(Effect{File: &File{Path: file}}).File == nil
}

// absent reports whether there is no such file, and will be none.
func (v *invocation) absent(file string) bool {
	if v.rewritten(file) {
		return false
	}
	_, err := v.b.w.FS.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// harmlessFile reports whether the file is not there, or says nothing but what is
// known to be harmless. What cannot be read may say anything.
func (v *invocation) harmlessFile(s *settings, file, root string) bool {
	return v.harmlessSettings(s, &settingsCheck{v: v, file: file, root: root})
}

func (v *invocation) harmlessSettings(s *settings, c *settingsCheck) bool {
	if v.changed(c.file) || !c.ofGit && v.rewritten(c.file) {
		return false
	}
	data, err := v.b.w.FS.ReadFile(c.file, maxObeyed)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return s.plain(c, data)
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

// plainSpec reports whether the text can only be the name of a package in a
// registry, with or without its scope and version.
func plainSpec(text string) bool {
	if scope, rest, ok := strings.Cut(text, "/"); ok {
		if len(scope) < 2 || scope[0] != '@' {
			return false
		}
		text = scope[1:] + rest
	}
	if text == "" || strings.IndexByte("-.@", text[0]) >= 0 || strings.HasSuffix(text, ".tgz") || strings.HasSuffix(text, ".gz") || strings.HasSuffix(text, ".tar") {
		return false
	}
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-@^", c) {
			return false
		}
	}
	return true
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
	_, err := v.b.w.FS.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}
