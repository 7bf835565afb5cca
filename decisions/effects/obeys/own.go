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
	if around.Home == "" {
		return ""
	}
	if why := r.ownFile(around, o, paths.Child(around.Home, o.Name)); why != "" {
		return why
	}
	// Some processes of the person may have another folder for it than others.
	rest, ok := strings.CutPrefix(o.Name, ".config/")
	if dir := r.Call.Call.User.Env["XDG_CONFIG_HOME"]; ok && path.IsAbs(dir) && path.Clean(dir) != paths.Child(around.Home, ".config") {
		return r.ownFile(around, o, path.Join(dir, rest))
	}
	return ""
}

// ownFile returns which setting of one of the person's own files, or of the system, may
// lead into the project: "KEY in FILE".
func (r *Run) ownFile(around *settings.Surroundings, o *programs.Obeyed, file string) string {
	if !r.Call.Changed(file) && around.NoFile(file) {
		return ""
	}
	connects := func(e programs.ImplicitEffect) bool {
		return e.Role == programs.RoleConnects || e.Role == programs.RoleSends
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
