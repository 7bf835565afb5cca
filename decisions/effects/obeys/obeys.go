// Package obeys finds the files that decide what a program does, or which program a
// name means: a read-only program may be configured by the project that it runs in, to
// run another program, or to connect to another host. Such files come with a clone, so
// a run that obeys one is not read-only, unless all its settings are known to be
// harmless.
package obeys

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/collect"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lexpath"
)

// Run is a run whose words were read.
type Run struct {
	Call     *collect.Collector
	Program  *programs.Program // its entry of the table, or that of its sub-command
	Run      *effects.Run
	Args     []effects.Word
	Operands []int // indices in Args

	files settings.Surroundings // once it is needed
}

// maxObeyedOperands bounds the operands whose folders are searched for settings.
const maxObeyedOperands = 64

// Project returns a file that configures the program with a setting that is not
// known to be harmless, or that may do so by the time the program runs; "" if there is
// none. The file lies in the folder of the run or one of its parents, up to the root:
// programs search upwards from the resolved folder, not along links, and not all stop
// at the project's root. The home is the person's: its files count only if an earlier
// call or part of the call wrote them.
func (r *Run) Project() string {
	if len(r.Program.Obeys) == 0 {
		return ""
	}
	around := r.surroundings()
	homes := r.Call.Paths.Session().Homes
	for i := range r.Program.Obeys {
		o := &r.Program.Obeys[i]
		switch {
		case o.Project:
			return "the files of its project"
		case o.Git:
			folders := []string{r.Call.Paths.Resolved(r.Run.Cwd, "")}
			if o.NextToOperand {
				folders = r.operandFolders()
			}
			for _, folder := range folders {
				if folder == "" {
					return "a repository in its folder, of which nothing is known"
				}
				if file := around.Repository(o.Settings, folder); file != "" {
					return file
				}
				if file := r.bare(folder); file != "" {
					return file
				}
			}
		case o.Home:
			for _, home := range homes {
				if file := paths.Child(home, o.Name); r.Call.Rewritten(file) {
					return file
				}
			}
			if o.Settings != nil {
				if why := r.ownSettings(around, o); why != "" {
					return why
				}
			}
		case o.System:
			if why := r.ownFile(around, o, o.Name); why != "" {
				return why
			}
			for _, prefix := range systemPrefixes {
				if why := r.ownFile(around, o, prefix+o.Name); why != "" {
					return why
				}
			}
		}
	}
	// The folder matters only if the program obeys files of a folder.
	if slices.ContainsFunc(r.Program.Obeys, func(o programs.Obeyed) bool {
		return !o.Home && !o.System && !o.Project && !o.Variable && !o.NextToOperand && !o.Git
	}) {
		if file := r.from(around, r.Call.Paths.Resolved(r.Run.Cwd, ""), false); file != "" {
			return file
		}
	}
	if !slices.ContainsFunc(r.Program.Obeys, func(o programs.Obeyed) bool { return o.NextToOperand && !o.Git }) {
		return ""
	}
	for _, dir := range r.operandFolders() {
		if file := r.from(around, dir, true); file != "" {
			return file
		}
	}
	return ""
}

// bare returns the HEAD of a folder, or of one above it, that is a repository itself, or may
// become one, "" if there is none. That of a run of git is seen by [git.Foreign].
func (r *Run) bare(folder string) string {
	if r.Run.Program == "git" {
		return ""
	}
	for range settings.MaxObeyedDepth {
		head := paths.Child(folder, "HEAD")
		switch {
		case r.Call.Exists(paths.Child(folder, ".git")):
			return ""
		case r.Call.Exists(head), r.Call.MakesRepository(folder):
			return head
		case folder == "/":
			return ""
		}
		folder = path.Dir(folder)
	}
	return ""
}

// Settings is Project for the files with settings alone that lie in the folder of the run, one
// above it, or the home: not for the configuration of the repository, nor for files of which
// the program takes its targets, as answers are bound to these.
func (r *Run) Settings() string {
	p, targets := *r.Program, ""
	if whole := r.Call.Table.Program(r.Run.Program); whole != nil { // also of a sub-command
		targets = whole.Targets
	}
	p.Obeys = slices.DeleteFunc(slices.Clone(p.Obeys), func(o programs.Obeyed) bool {
		return o.Git || o.Project || o.NextToOperand || !o.Home && slices.Contains(strings.Fields(targets), o.Name)
	})
	own := *r
	own.Program = &p
	return own.Project()
}

// Surroundings returns the files and folders of a call.
func Surroundings(c *collect.Collector) settings.Surroundings {
	return settings.Surroundings{FS: c.FS, Files: c, Home: c.Call.User.Home, Project: c.Paths.Project()}
}

// surroundings returns the files and folders of the call.
func (r *Run) surroundings() *settings.Surroundings {
	r.files = Surroundings(r.Call)
	return &r.files
}

// from is Project for the files of one folder ("" if unknown) and its
// parents: those next to operands, or the others.
func (r *Run) from(around *settings.Surroundings, dir string, beside bool) string {
	if dir == "" {
		return "a file in a folder of which nothing is known"
	}
	homes := r.Call.Paths.Session().Homes
	root := r.Call.Paths.Project()
	if root == "" || !lexpath.In(root, dir) {
		root = dir
	}
	for range settings.MaxObeyedDepth {
		for i := range r.Program.Obeys {
			o := &r.Program.Obeys[i]
			if o.Git || o.Home || o.System || o.Variable || o.NextToOperand != beside {
				continue
			}
			file := paths.Child(dir, o.Name)
			switch {
			case slices.Contains(homes, dir):
				if r.Call.Rewritten(file) {
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
func (r *Run) operandFolders() []string {
	var dirs []string
	cwd := r.Call.Paths.Resolved(r.Run.Cwd, "")
	for _, i := range r.Operands[:min(len(r.Operands), maxObeyedOperands)] {
		w := &r.Args[i]
		if w.Dynamic() || cwd == "" {
			return append(dirs, "")
		}
		given := w.Text
		if !path.IsAbs(given) {
			given = path.Join(cwd, given)
		}
		real := r.Call.Paths.Resolved(path.Dir(given), "")
		dirs = append(dirs, path.Dir(given), real)
		if at := r.Call.Paths.Resolved(given, ""); !w.Glob && at != "" {
			dirs = append(dirs, path.Dir(at))
		}
	}
	if len(r.Operands) > maxObeyedOperands {
		dirs = append(dirs, "")
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
