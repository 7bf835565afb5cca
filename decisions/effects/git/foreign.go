package git

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/collect"
	"github.com/permd/permd/decisions/effects/paths"
)

// Foreign returns why a run in the folder would obey the configuration of a repository
// other than the project's, "" if it does not: such a configuration can name programs to
// run. git takes any folder with a HEAD, refs and objects for a repository, even inside
// the project.
func Foreign(c *collect.Collector, cwd string) string {
	root := c.Paths.Project()
	if changed(c) {
		return "an earlier part of the call changes what git obeys, which may run commands"
	}
	if cwd == c.Call.Cwd && cwd != "" && (root == "" || root == cwd) && !isBare(c, cwd) {
		return ""
	}
	if root != "" && cwd != "" {
		for dir := c.Paths.Resolved(cwd, ""); ; dir = path.Dir(dir) {
			if dir == root && !isBare(c, root) {
				return ""
			}
			if dir == "/" || dir == "" || c.Exists(dir+"/HEAD") || c.MakesRepository(dir) {
				break
			}
			if c.Exists(dir + "/.git") {
				if c.Paths.Where(dir).Has(effects.Worktree) {
					return "" // the same repository
				}
				break
			}
		}
	}
	return "a repository other than the project's, whose configuration may run commands"
}

// changed reports whether an earlier part of the call changes what git obeys in the project.
func changed(c *collect.Collector) bool {
	root := c.Paths.Project()
	return c.ChangesGit() || slices.Contains(c.Paths.Disturbed, paths.Child(root, ".git/index")) || root != "" && c.MakesRepository(root) && !c.Exists(root+"/.git")
}

// Elsewhere returns the top of the working tree of another repository of the person's that a
// folder lies in, if it is certain that git finds it for that folder, and that nothing
// before the run changes it; "" otherwise. Its configuration can then be looked at like the
// project's. A .git that leads to another folder does not count, nor what lies in the project,
// whose files may be an agent's, outside of the home, where others than the person may
// write, or around a project or a home.
func Elsewhere(c *collect.Collector, cwd string) string {
	if cwd == "" || changed(c) {
		return ""
	}
	git := func(name string) bool { return name == ".git" || name == "head" }
	for dir := c.Paths.Resolved(cwd, ""); dir != "" && dir != "/"; dir = path.Dir(dir) {
		if c.MayMake(dir, git) || c.Exists(paths.Child(dir, "HEAD")) {
			return ""
		}
		at := paths.Child(dir, ".git")
		if !c.Exists(at) {
			continue
		}
		where := c.Paths.Where(dir)
		mode, err := c.Paths.Lstat(at)
		plain := err == nil && mode.IsDir() && !c.Rewritten(at)
		if !plain || !where.Has(effects.Home) || where.Has(effects.InProject) || where.Has(effects.Vital) {
			return ""
		}
		return dir
	}
	return ""
}

// isBare reports whether git may take the folder itself for a repository. If so, the
// files in it determine what git runs.
func isBare(c *collect.Collector, dir string) bool {
	return c.Exists(paths.Child(dir, "HEAD")) && !c.Exists(paths.Child(dir, ".git"))
}

// submodules notes that git add makes submodules of the repositories that it finds: later
// commands of git go into them, and obey their configuration.
func (r *Run) submodules() {
	if r.Sub != "add" {
		return
	}
	root := r.Call.Paths.Project()
	folders := []string{root} // without a path all that is there
	for n, i := range r.operands() {
		if n == 0 {
			folders = nil
		}
		at := root
		if text := r.Args[i].Text; !strings.ContainsAny(text, "*?[\\:") {
			at = cmp.Or(r.Call.Paths.Resolved(text, r.Cwd), root)
		}
		if mode, err := r.Call.Paths.Lstat(at); err == nil && mode.IsDir() {
			folders = append(folders, at)
		}
	}
	if root != "" && slices.ContainsFunc(folders, r.Call.Paths.MayHoldRepository) {
		r.Call.Paths.Disturbed = append(r.Call.Paths.Disturbed, paths.Child(root, ".git/index"))
	}
}
