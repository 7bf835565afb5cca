package paths

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// FindProject returns the root of the project that cwd belongs to, absolute and with
// links resolved: the nearest folder upwards that holds ".git" (a folder, or a file
// as in worktrees and submodules), else cwd itself. It is "" if cwd is not absolute or
// cannot be resolved, and for folders that are never a project: the root folder, a
// home, folders of the system, and those that hold homes or projects of several
// people (/home, /srv, /tmp …).
//
// home is the person's home, "" if not known.
func FindProject(fs effects.FS, cwd, home string) string {
	r := NewResolver(Environment{FS: fs}, &effects.Call{Cwd: cwd, User: effects.User{Home: home}})
	return r.Project()
}

// sessionPaths are the folders of a session, on which the tags of paths depend.
type sessionPaths struct {
	project    string   // resolved, "" if none
	roots      []string // resolved folders of the session, the project among them
	Homes      []string // the person's home, as written and resolved, each once
	folded     []string // homes, folded
	own        []string // permd's own paths, folded
	temps      []string // further temporary folders
	key        string   // ProjectKey of project, "" until it is needed
	treesKnown bool     // whether trees is set
	trees      bool     // the project's repository may have other working trees
	// isTree caches which folders with a ".git" are working trees of the project's
	// repository.
	isTree map[string]bool

	// Nearly all sessions have one root, and at most two homes.
	rootsMemory               [1]string
	homesMemory, foldedMemory [2]string
}

// Session returns the folders of the call's session.
func (r *Resolver) Session() *sessionPaths {
	if r.session != nil {
		return r.session
	}
	// The session's folders are resolved as before the call, so changes by earlier
	// parts of the call are ignored here.
	disturbed, made, lost := r.Disturbed, r.Made, r.Unknown
	r.Disturbed, r.Made, r.Unknown = nil, nil, false
	defer func() { r.Disturbed, r.Made, r.Unknown = disturbed, made, lost }()

	g := &r.sessionMemory
	g.roots, g.Homes, g.folded = g.rootsMemory[:0], g.homesMemory[:0], g.foldedMemory[:0]
	r.session = g
	for _, h := range []string{r.c.User.Home, r.c.User.Env["HOME"]} {
		g.addHome(r, h)
	}
	g.own = r.Own.folded
	if t := r.c.User.Env["TMPDIR"]; path.IsAbs(t) && BadPath(t) == "" {
		for _, p := range []string{path.Clean(t), r.resolveFolder(t)} {
			// A TMPDIR that is a home or a system folder does not make everything below it
			// temporary.
			if p != "" && !r.cannotBeProject(p) && !slices.Contains(g.temps, p) {
				g.temps = append(g.temps, p)
			}
		}
	}
	if cwd := r.resolveFolder(r.c.Cwd); cwd != "" {
		g.project = r.findProjectRoot(cwd)
	}
	if g.project != "" {
		g.roots = append(g.roots, g.project)
	}
	for _, root := range r.c.Roots {
		if p := r.resolveFolder(root); p != "" && !r.cannotBeProject(p) && !slices.Contains(g.roots, p) {
			g.roots = append(g.roots, p)
		}
	}
	return g
}

func (g *sessionPaths) addHome(r *Resolver, home string) {
	if !path.IsAbs(home) || BadPath(home) != "" {
		return
	}
	for _, h := range []string{path.Clean(home), r.resolveFolder(home)} {
		if h == "" || h == "/" || slices.Contains(g.Homes, h) {
			continue
		}
		if f := r.fold(h); !slices.Contains(systemFolders, f) {
			g.Homes = append(g.Homes, h)
			g.folded = append(g.folded, f)
		}
	}
}

// resolveFolder resolves a folder of the session; "" if that fails.
func (r *Resolver) resolveFolder(p string) string {
	at, why := r.base(p)
	if why != "" {
		return ""
	}
	return at.Path
}

// findProjectRoot searches for the root of the project upwards from cwd.
func (r *Resolver) findProjectRoot(cwd string) string {
	if r.cannotBeProject(cwd) {
		return ""
	}
	for dir := cwd; !r.cannotBeProject(dir); dir = path.Dir(dir) {
		_, err := r.Lstat(Child(dir, ".git"))
		if err == nil && !strings.HasSuffix(dir, "/.git") {
			return dir
		}
	}
	return cwd
}

// inOtherTree reports whether a path outside of the project lies in another working
// tree of the project's repository: its main checkout, or a worktree that the
// repository points back to.
func (r *Resolver) inOtherTree(p string) bool {
	g := r.session
	if g.project == "" || !r.hasTrees() {
		return false
	}
	root := r.treeOf(p)
	if root == "" {
		return false
	}
	if g.key == "" {
		g.key = ProjectKey(r.fs, g.project)
		g.isTree = map[string]bool{}
	}
	is, known := g.isTree[root]
	if !known {
		is = ProjectKey(r.fs, root) == g.key
		g.isTree[root] = is
	}
	return is
}

// hasTrees reports whether the project's repository may have more than one working
// tree. Most have only one, which saves the search for others.
func (r *Resolver) hasTrees() bool {
	g := r.session
	if g.treesKnown {
		return g.trees
	}
	g.treesKnown = true
	switch mode, err := r.Lstat(Child(g.project, ".git")); {
	case err != nil:
	case mode.IsDir():
		mode, err = r.Lstat(Child(g.project, ".git/worktrees"))
		g.trees = err == nil && mode.IsDir()
	default:
		g.trees = true
	}
	return g.trees
}

// treeOf returns the nearest folder upwards from a path that holds ".git" and can be a
// project, "" if there is none.
func (r *Resolver) treeOf(p string) string {
	for dir := p; !r.cannotBeProject(dir); dir = path.Dir(dir) {
		if _, err := r.Lstat(Child(dir, ".git")); err == nil {
			return dir
		}
	}
	return ""
}

// Project returns the root of the call's project, "" if there is none.
func (r *Resolver) Project() string { return r.Session().project }

// cannotBeProject reports whether p cannot be a project: a system folder, a home, or a folder
// that holds any of these.
func (r *Resolver) cannotBeProject(p string) bool {
	g, f := r.session, r.fold(p)
	if vitalPaths.Has(f) || homeShaped(f) || g.system(f) && !below(projectFolders, f) {
		return true
	}
	for _, h := range g.folded {
		if lexpath.In(f, h) {
			return true
		}
	}
	return false
}

// system reports whether a folded path belongs to the operating system. Some systems
// keep homes in their own folders.
func (g *sessionPaths) system(f string) bool {
	return below(systemFolders, f) && !below(homeFolders, f) && !below(rootHomes, f) && !below(g.folded, f)
}

// homeShaped reports whether a folded path is where systems keep homes, or a parent of
// such a place.
func homeShaped(p string) bool {
	for _, dir := range homeFolders {
		if rest, ok := lexpath.RelBelow(dir, p); ok && !strings.Contains(rest, "/") {
			return true
		}
	}
	return slices.Contains(rootHomes, p) || slices.Contains(homeFolders, p)
}

// below reports whether p is or lies in one of the folders.
func below(folders []string, p string) bool {
	for _, dir := range folders {
		if lexpath.In(dir, p) {
			return true
		}
	}
	return false
}
