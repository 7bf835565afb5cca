package runs

import (
	"errors"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/lexpath"
)

// thinMagic begins a thin archive (ar rcT), which contains the paths of its members
// instead of the members: nm and similar programs open these anywhere.
const thinMagic = "!<thin>"

// maxObject is the maximum size of a file that is checked for that, in bytes.
const maxObject = 64 << 10

// isThinArchive reports whether the word may name a thin archive: an actual one, or a
// file with the name of an archive that cannot be read.
func (v *invocation) isThinArchive(w effects.Word) bool {
	archive := strings.HasSuffix(lexpath.Fold(w.Text), ".a")
	if w.Glob || w.Dynamic() || v.run.Cwd == "" && !path.IsAbs(w.Text) {
		return archive
	}
	e := v.b.Operand(effects.KindRead, w.Text, v.run.Cwd, v.at.From)
	if e.File == nil {
		return false // it already asks
	}
	archive = archive || strings.HasSuffix(lexpath.Fold(e.File.Path), ".a")
	if v.b.Rewritten(e.File.Path) {
		return archive
	}
	data, err := v.b.FS.ReadFile(e.File.Path, maxObject)
	if err != nil {
		return archive && !errors.Is(err, fs.ErrNotExist)
	}
	return strings.HasPrefix(string(data), thinMagic)
}

// objectFile handles an object file, or an archive of them.
func (v *invocation) objectFile(a argument) {
	if v.isThinArchive(a.w) {
		v.unknown(a.i, "an archive whose members may lie anywhere: "+display.Display(display.ShowWord(&a.w)))
	}
	a.role = programs.RoleSources
	v.plainFile(a)
}

// optionFiles makes the run unknown where a word begins with @, if its program replaces
// such words by those in a file. It does so before it reads them, also where one is the
// value of an option (expandargv of libiberty, javac). Operands are looked at as files.
func (v *invocation) optionFiles() {
	if !slices.ContainsFunc(v.p.Operands, func(o programs.Operand) bool { return o.Role == programs.RoleSources || o.Role == programs.RoleObject }) {
		return
	}
	for i := range v.args {
		if w := &v.args[i]; strings.HasPrefix(w.Text, "@") && !slices.Contains(v.operands, i) {
			v.unknown(i, "a file of options: "+display.Display(display.ShowWord(w)))
		}
	}
}

// plainFile handles a file that is read, unless the word has a special form.
func (v *invocation) plainFile(a argument) {
	if why := whyNoFile(a.role, a.w.Text); why != "" {
		v.unknown(a.i, why+": "+display.Display(display.ShowWord(&a.w)))
		return
	}
	v.applyPath(programs.RoleReads, a.i, a.w, v.p.Recursive)
}

// whyNoFile returns why a word at a file's position is no file, "" if it is one.
func whyNoFile(role programs.Role, text string) string {
	switch {
	case (role == programs.RoleSources || role == programs.RoleMatched) && strings.HasPrefix(text, "@"):
		return "a file of options"
	case role == programs.RoleViewed && strings.HasPrefix(text, "+"):
		return "a command for a program that shows files"
	case role == programs.RoleMatched && strings.ContainsAny(text, "*?["):
		return "a pattern that the program reads itself"
	case role == programs.RoleDatabase && strings.HasPrefix(strings.ToLower(text), "file:"):
		return "an address that leads to a file"
	}
	return ""
}

// name handles a name that the program itself defines.
func (v *invocation) name(a argument) {
	if a.w.Glob || !v.isName(a.w.Text) {
		v.unknown(a.i, "a name that may lead to a file: "+display.Display(display.ShowWord(&a.w)))
	}
}

// suffix handles what the name of a copy ends with. To sed, * in it is the name of the
// file, and a slash makes it the copy's path, so that it may lie anywhere.
func (v *invocation) suffix(a argument) {
	v.change(a)
	if a.w.Text == "" && runtime.GOOS == "darwin" {
		// There -i has a value in any case (sed(1) of macOS): the operands are others.
		v.unknown(a.i, "an option whose value is the next word on macOS: "+display.Display(v.args[a.i].Text))
	}
	if strings.ContainsAny(a.w.Text, "*/") {
		v.unknown(a.i, "a name for copies that may lie anywhere: "+display.Display(display.ShowWord(&a.w)))
		return
	}
	v.backupSuffix = a.w.Text
}

// backUp adds the copy of a file that is written, under a name with the suffix.
func (v *invocation) backUp(i int, w effects.Word) {
	switch {
	case v.backupSuffix == "":
	case w.Tree:
		v.unknown(i, "copies of files whose names are not known: "+display.Display(display.ShowWord(&w)))
	default:
		v.b.Add(v.via(i, v.b.Entry(effects.KindWrite, w.Text+v.backupSuffix, v.run.Cwd, v.at.From)))
	}
}

// socket handles a socket, [46][PROTOCOL][@HOST][:PORT], or the path of a file: the value
// of lsof's -i may be its next word. A host is asked for by its name, whatever it is.
func (v *invocation) socket(a argument) {
	if before, _, ok := strings.Cut(a.w.Text, "@"); ok && !strings.Contains(before, "/") {
		v.unknown(a.i, "a host that a name server is asked for: "+display.Display(display.ShowWord(&a.w)))
		return
	}
	if !a.option {
		v.applyPath(programs.RoleLists, a.i, a.w, a.tree)
	}
}

// charset handles the name of a character set. glibc's iconv opens one with a slash as
// a file, the whole word with //TRANSLIT or //IGNORE in it (seen under strace), and
// takes it for a name and its suffixes only where there is no such file.
func (v *invocation) charset(a argument) {
	if strings.Contains(a.w.Text, "/") {
		v.applyPath(programs.RoleReads, a.i, a.w, false)
	}
}

// isName reports whether the text can only be a name that the program itself defines:
// no path, no address, and no file of that name.
func (v *invocation) isName(text string) bool {
	if strings.ContainsAny(text, "/:\\~") || strings.HasPrefix(text, ".") || v.run.Cwd == "" {
		return false
	}
	file := path.Join(v.run.Cwd, text)
	if v.b.Writes(file) || v.b.Stale(file) {
		return false
	}
	_, err := v.b.FS.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}
