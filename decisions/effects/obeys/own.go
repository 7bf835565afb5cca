package obeys

import (
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/wordset"
)

// systemPrefixes are before the names of the system's files where a package manager has
// installed a program.
var systemPrefixes = map[string][]string{"darwin": {"/opt/homebrew", "/usr/local"}}[runtime.GOOS]

// ownSettings returns what a file of the person's home says that may lead into the project.
func (r *Run) ownSettings(around *settings.Surroundings, o *programs.Obeyed) string {
	for _, file := range r.ownNames(around, o.Name) {
		if why := r.ownFile(around, o, file); why != "" {
			return why
		}
	}
	return ""
}

// ownNames returns the files that a name of a file of the person's home may stand for.
func (r *Run) ownNames(around *settings.Surroundings, name string) []string {
	if around.Home == "" {
		return nil
	}
	files := []string{paths.Child(around.Home, name)}
	// Some processes of the person may have another folder for it than others.
	rest, ok := strings.CutPrefix(name, ".config/")
	if dir := r.Call.Call.User.Env["XDG_CONFIG_HOME"]; ok && path.IsAbs(dir) && path.Clean(dir) != paths.Child(around.Home, ".config") {
		files = append(files, path.Join(dir, rest))
	}
	return files
}

// OnlyOwnData returns what may make a command of git that changes its own data do more: the
// repository, or the settings of the person or the system; "" if nothing does. Project
// has to find nothing either.
func (r *Run) OnlyOwnData(change *settings.GitChange) string {
	folder := r.Call.Paths.Resolved(r.Run.Cwd, "")
	if folder == "" {
		return "a repository in its folder, of which nothing is known"
	}
	around := r.surroundings()
	filters := false
	for i := range r.Program.Obeys {
		o := &r.Program.Obeys[i]
		var files []string
		switch {
		case o.Settings == nil || !o.Settings.Own():
			continue
		case o.Home:
			files = r.ownNames(around, o.Name)
		case o.System:
			files = systemNames(o.Name)
		}
		for _, file := range files {
			setting, some := around.PlainOwn(o.Settings, change, file)
			if setting != "" {
				return setting + " in " + file
			}
			filters = filters || some
		}
	}
	if why := around.Plain(folder, change); why != "" {
		return why
	}
	var words []string
	if filters && (len(change.Files) > 0 || change.Commits || change.Folders) {
		words = append(words, "filter")
	}
	if change.Guarded { // what is staged of a file would be other text
		words = append(words, "encoding")
	}
	if len(words) == 0 {
		return ""
	}
	return around.Attributed(words, append(r.ownNames(around, ".config/git/attributes"), systemNames("/etc/gitattributes")...), change)
}

// systemNames returns the files that a name of a file of the system may stand for.
func systemNames(name string) []string {
	files := []string{name}
	for _, prefix := range systemPrefixes {
		files = append(files, prefix+name)
	}
	return files
}

// ownFile returns which setting of one of the person's own files, or of the system, may
// lead into the project: "KEY in FILE".
func (r *Run) ownFile(around *settings.Surroundings, o *programs.Obeyed, file string) string {
	if !r.Call.Changed(file) && around.NoFile(file) {
		return ""
	}
	connects := func(e programs.ImplicitEffect) bool {
		return !e.Sometimes && (e.Role == programs.RoleConnects || e.Role == programs.RoleSends)
	}
	run := settings.OwnRun{Network: r.Program.Network || slices.ContainsFunc(r.Program.Inherent, connects), Folder: r.Call.Paths.Resolved(r.Run.Cwd, ""), Helper: r.helper}
	// gh, go and pip run git for their own ends, and show no changes.
	if r.Run.Program == "git" {
		run.Sub, _, _ = strings.Cut(r.Run.Subcommand, " ")
		run.Diffs = diffing.Has(run.Sub) || run.Sub == "status" && slices.Contains(r.Run.Flags, "--verbose")
	}
	if setting := around.OwnSettings(o.Settings, &run, file); setting != "" {
		return setting + " in " + file
	}
	return ""
}

// diffing are the sub-commands that may show changes, by the programs that settings name.
var diffing = wordset.Fields("log whatchanged shortlog show diff diff-tree diff-index diff-files blame annotate stash reflog rev-list range-diff format-patch difftool")

// helper reports whether a program that a setting names runs nothing of the project.
func (r *Run) helper(name string) bool {
	if !r.Call.Table.Helper(name) {
		return false
	}
	named := Run{Call: r.Call, Program: r.Program, Run: &effects.Run{Program: path.Base(name), Cwd: r.Run.Cwd}}
	return named.Shim() == ""
}
