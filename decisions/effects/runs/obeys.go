package runs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lexpath"
)

// What a program that only looks may be told by the project it runs in: to run
// another one, to ask another host. Such files come with what is cloned, so a
// run that obeys one is not read-only, unless all that it says is known to be
// harmless.

// maxObeyedOperands bounds the operands whose folders are searched for settings.
const maxObeyedOperands = 64

// printsOwnInfo reports whether the run is a question about the program alone,
// such as for its version.
func (v *invocation) printsOwnInfo() bool {
	return len(v.args) == 1 && len(v.subs) == 0 && len(v.operands) == 0 && !v.changes && len(v.flags) == 1 &&
		slices.Contains(v.p.ReadonlyAlone, v.flags[0])
}

// obeysProject returns a file that the program obeys and that says more than is
// known to be harmless, or may come to before the program runs; "" if there is
// none. It lies in the folder of the run or in one above it, up to the root of
// all: programs go up from where the folder really is, not along the links that
// lead to it, and not all stop where a project begins. The home is the person's:
// what lies in it counts only if an earlier call or part of the call wrote it.
func (v *invocation) obeysProject() string {
	if len(v.p.Obeys) == 0 {
		return ""
	}
	around := v.surroundings()
	homes := v.b.Paths.Session().Homes
	for _, o := range v.p.Obeys {
		switch {
		case o.Project:
			return "the files of its project"
		case o.Git:
			folder := v.folderOf(v.run.Cwd)
			if folder == "" {
				return "a repository in its folder, of which nothing is known"
			}
			if file := around.Repository(o.Settings, folder); file != "" {
				return file
			}
		case o.Home:
			for _, home := range homes {
				if file := path.Join(home, o.Name); v.Rewritten(file) {
					return file
				}
			}
		}
	}
	// Of a program that obeys no file of a folder, the folder need not be known.
	if slices.ContainsFunc(v.p.Obeys, func(o programs.Obeyed) bool { return !o.Home && !o.Project && !o.Variable && !o.Beside }) {
		if file := v.obeysFrom(around, v.folderOf(v.run.Cwd), false); file != "" {
			return file
		}
	}
	if !slices.ContainsFunc(v.p.Obeys, func(o programs.Obeyed) bool { return o.Beside }) {
		return ""
	}
	for _, dir := range v.operandFolders() {
		if file := v.obeysFrom(around, dir, true); file != "" {
			return file
		}
	}
	return ""
}

// surroundings are what the run finds around it.
func (v *invocation) surroundings() *settings.Surroundings {
	return &settings.Surroundings{FS: v.b.FS, Files: v, Home: v.b.Call.User.Home, Project: v.b.Paths.Project()}
}

// obeysFrom is obeysProject for the files of one folder, "" if it is not known,
// and of all above it: those next to operands, or the others.
func (v *invocation) obeysFrom(around *settings.Surroundings, dir string, beside bool) string {
	if dir == "" {
		return "a file in a folder of which nothing is known"
	}
	homes := v.b.Paths.Session().Homes
	root := v.b.Paths.Project()
	if root == "" || !lexpath.In(root, dir) {
		root = dir
	}
	for range settings.MaxObeyedDepth {
		for i := range v.p.Obeys {
			o := &v.p.Obeys[i]
			file := path.Join(dir, o.Name)
			switch {
			case o.Git, o.Home, o.Variable, o.Beside != beside:
			case slices.Contains(homes, dir):
				if v.Rewritten(file) {
					return file
				}
			case o.Settings == nil && !around.Absent(file), o.Settings != nil && !around.HarmlessFile(o.Settings, file, root):
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
		if w.Dynamic() || cwd == "" {
			return append(dirs, "")
		}
		given := w.Text
		if !path.IsAbs(given) {
			given = path.Join(cwd, given)
		}
		real := ""
		if e := v.b.Paths.Operand(effects.KindRead, path.Dir(given), "", v.at.From); e.File != nil {
			real = e.File.Path
		}
		dirs = append(dirs, path.Dir(given), real)
		if e := v.b.Paths.Operand(effects.KindRead, given, "", v.at.From); !w.Glob && e.File != nil {
			dirs = append(dirs, path.Dir(e.File.Path))
		}
	}
	if len(v.operands) > maxObeyedOperands {
		dirs = append(dirs, "")
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Changed reports whether the file is, or may be, one that an earlier call or part
// of the call names as what it writes or deletes.
func (v *invocation) Changed(file string) bool {
	return v.b.writes(file) || v.b.Stale(file)
}

// Rewritten is Changed for files that git checkout and its like may change as
// well, which is all but those of git's own folder. Of a folder, it tells whether
// anything in it may be changed.
func (v *invocation) Rewritten(file string) bool {
	in := lexpath.Fold(file) + "/"
	return v.Changed(file) || v.b.mayChange(func(w string) bool { return strings.HasPrefix(w, in) }) || v.b.CheckLinks(effects.Effect{File: &effects.File{Path: file}}).File == nil
}

// Leads returns where a path leads that is read, "" if that is not known, and
// whether it is one that guards a secret or is permd's own.
func (v *invocation) Leads(file string) (at string, secret bool) {
	e := v.b.Operand(effects.KindRead, file, "", v.at.From)
	if e.File == nil {
		return "", false
	}
	return e.File.Path, e.Tags.Has(effects.Secret) || e.Tags.Has(effects.Permd)
}

// isName reports whether the text can only be a name of what the program knows
// itself: no path, no address, and no file that happens to have that name.
func (v *invocation) isName(text string) bool {
	if strings.ContainsAny(text, "/:\\~") || strings.HasPrefix(text, ".") || v.run.Cwd == "" {
		return false
	}
	file := path.Join(v.run.Cwd, text)
	if v.b.writes(file) || v.b.Stale(file) {
		return false
	}
	_, err := v.b.FS.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}
