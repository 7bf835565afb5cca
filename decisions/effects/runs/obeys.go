package runs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lexpath"
)

// A read-only program may be configured by the project that it runs in: to run another
// program, to connect to another host. Such files come with a clone, so a run that
// obeys one is not read-only, unless all its settings are known to be harmless.

// maxObeyedOperands bounds the operands whose folders are searched for settings.
const maxObeyedOperands = 64

// printsOwnInfo reports whether the run only asks about the program itself, such as its
// version.
func (v *invocation) printsOwnInfo() bool {
	return len(v.args) == 1 && len(v.subs) == 0 && len(v.operands) == 0 && !v.changes && len(v.flags) == 1 &&
		slices.Contains(v.p.ReadonlyAlone, v.flags[0])
}

// obeysProject returns a file that configures the program with a setting that is not
// known to be harmless, or that may do so by the time the program runs; "" if there is
// none. The file lies in the folder of the run or one of its parents, up to the root:
// programs search upwards from the resolved folder, not along links, and not all stop
// at the project's root. The home is the person's: its files count only if an earlier
// call or part of the call wrote them.
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
				if file := paths.Child(home, o.Name); v.Rewritten(file) {
					return file
				}
			}
		}
	}
	// The folder matters only if the program obeys files of a folder.
	if slices.ContainsFunc(v.p.Obeys, func(o programs.Obeyed) bool { return !o.Home && !o.Project && !o.Variable && !o.NextToOperand }) {
		if file := v.obeysFrom(around, v.folderOf(v.run.Cwd), false); file != "" {
			return file
		}
	}
	if !slices.ContainsFunc(v.p.Obeys, func(o programs.Obeyed) bool { return o.NextToOperand }) {
		return ""
	}
	for _, dir := range v.operandFolders() {
		if file := v.obeysFrom(around, dir, true); file != "" {
			return file
		}
	}
	return ""
}

// surroundings returns the files and folders of the run.
func (v *invocation) surroundings() *settings.Surroundings {
	v.around = settings.Surroundings{FS: v.b.FS, Files: v, Home: v.b.Call.User.Home, Project: v.b.Paths.Project()}
	return &v.around
}

// obeysFrom is obeysProject for the files of one folder ("" if unknown) and its
// parents: those next to operands, or the others.
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
			if o.Git || o.Home || o.Variable || o.NextToOperand != beside {
				continue
			}
			file := paths.Child(dir, o.Name)
			switch {
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

// operandFolders returns the folders of the operands, both as written and with links
// resolved, since programs search upwards from either. "" is an unknown folder. A
// pattern may match a folder, so its prefix counts; it cannot match a deeper folder,
// because applyPath rejects such patterns.
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
		real := v.b.Paths.Resolved(path.Dir(given), "")
		dirs = append(dirs, path.Dir(given), real)
		if at := v.b.Paths.Resolved(given, ""); !w.Glob && at != "" {
			dirs = append(dirs, path.Dir(at))
		}
	}
	if len(v.operands) > maxObeyedOperands {
		dirs = append(dirs, "")
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Changed implements settings.Files.
func (v *invocation) Changed(file string) bool {
	return v.b.writes(file) || v.b.Stale(file)
}

// Rewritten implements settings.Files. For a folder, it reports whether anything in it
// may be changed.
func (v *invocation) Rewritten(file string) bool {
	return v.Changed(file) || v.b.changesBelow(file) || v.b.rearranges(file)
}

// Target implements settings.Files.
func (v *invocation) Target(file string) (at string, secret bool) {
	e := v.b.Operand(effects.KindRead, file, "", v.at.From)
	if e.File == nil {
		return "", false
	}
	return e.File.Path, e.Tags.Has(effects.Secret) || e.Tags.Has(effects.Permd)
}

// isName reports whether the text can only be a name that the program itself defines:
// no path, no address, and no file of that name.
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
