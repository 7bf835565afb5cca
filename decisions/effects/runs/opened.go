package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/goals"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

// Programs open files that no argument names: manifests, sources, ignore files. If they cannot parse
// one, they print lines of it. The author of the project may have made
// such a file a link, so the run is a read of the link's target.

// Bounds of the workspaces of a package.json.
const (
	maxManifest       = 64 << 10 // bytes
	maxWorkspaces     = 1024     // folders, and those that are looked through for them
	maxWorkspaceNames = 4096     // names in one folder that a pattern is compared with
	maxOpenedPlain    = 256      // manifests of which denies see each
)

var (
	// ignoring are the programs that read ignore files, and print the lines that are no patterns.
	ignoring = wordset.Fields("rg fd fdfind ag tokei")
	// npmTrees are the sub-commands of npm that open the packages of the project.
	npmTrees = wordset.Fields("ls explain fund outdated doctor")
	// npmFiles are what they open in each of them.
	npmFiles = wordset.Fields("package.json package-lock.json npm-shrinkwrap.json .package-lock.json yarn.lock node_modules")
	// pipLists are the sub-commands of pip that open the packages in a folder.
	pipLists = wordset.Fields("list freeze inspect")
	// pipEnds are how the names of what they open there end.
	pipEnds = []string{".dist-info", ".egg-info", ".egg", ".egg-link", ".pth"}
)

// opensThroughLinks adds the reads of the files that a run which only looks opens by itself,
// through links.
func (v *invocation) opensThroughLinks() {
	if !v.run.Readonly || v.b.Rest != nil || v.b.Remote || v.run.Cwd == "" {
		return
	}
	sub := strings.Join(v.subs, " ")
	switch {
	case ignoring.Has(v.run.Program), v.run.Program == "tree" && v.has([]string{"--gitignore"}):
		v.opensIgnores()
	case v.run.Program == "go" && (sub == "doc" || sub == "mod why" || sub == "list" && !v.has([]string{"-m"})):
		v.opensLinks(v.manifestRoot(), func(link string) bool {
			name := path.Base(link)
			return strings.HasSuffix(name, ".go") || name == "vendor" || name == "modules.txt"
		})
	case v.run.Program == "npm":
		v.opensPackages(npmTrees.Has(sub))
	case (v.run.Program == "pip" || v.run.Program == "pip3") && pipLists.Has(sub) && v.has([]string{"--path"}):
		for _, e := range v.ownReads() {
			if !v.isFolder(e.Path) {
				continue
			}
			v.opensLinks(e.Path, func(link string) bool {
				return slices.ContainsFunc(strings.Split(strings.TrimPrefix(link, e.Path), "/"), func(name string) bool {
					return slices.ContainsFunc(pipEnds, func(end string) bool { return strings.HasSuffix(name, end) })
				})
			})
			all := v.b.Operand(effects.KindRead, e.Path, "", v.at.From)
			if all.File != nil {
				all.File.Recursive = true
				v.setAside(0, all)
			}
		}
	}
}

// opensIgnores adds the reads of the ignore files that a search reads through links: below what
// it searches, and above.
func (v *invocation) opensIgnores() {
	for _, e := range v.ownReads() {
		if v.b.MayLink(e.Path, paths.MayIgnore) || slices.ContainsFunc(v.b.Paths.Disturbed, paths.MayIgnore) {
			v.b.Unknown(v.at.From, "reads ignore files, of which some may be links that are not known")
			return
		}
		for _, file := range v.b.Paths.LinkedIgnores(e.Path) {
			v.opened(file)
		}
	}
}

// ownReads returns the files and folders that the words of the run, which only looks, read or list.
func (v *invocation) ownReads() (list []*effects.File) {
	for _, e := range v.b.Effects[v.index:] {
		if e.File != nil && e.Via != nil && e.Via.Effect == v.index {
			list = append(list, e.File)
		}
	}
	return list
}

// manifestRoot returns the project, or the folder of a run outside of it.
func (v *invocation) manifestRoot() string {
	cwd, root := v.b.Paths.Resolved(v.run.Cwd, ""), v.b.Paths.Project()
	if root == "" || !lexpath.In(root, cwd) {
		return cwd
	}
	return root
}

// opensLinks adds the reads of what those links in a folder and below lead to that the program
// opens.
func (v *invocation) opensLinks(folder string, opens func(link string) bool) {
	links, complete := v.b.Links(folder, opens)
	if !complete {
		v.b.Unknown(v.at.From, "opens files by itself, of which some may be links that are not known")
	}
	for _, link := range links {
		manifest := paths.Child(link, "package.json")
		switch {
		case !opens(link):
		case v.run.Program == "npm" && v.b.Exists(v.b.Paths.Resolved(manifest, "")):
			v.opened(manifest)
		default:
			v.opened(link)
		}
	}
}

// opened adds the read of a file that the program opens by itself: where links lead to
// something guarded or out of the project, as an effect; else only denies see it. Above the
// project, links are the person's own.
func (v *invocation) opened(file string) {
	e := v.b.Operand(effects.KindRead, file, "", v.at.From)
	if e.File == nil {
		// An allow of the run is none of what is read.
		v.b.Add(v.via(0, e))
		return
	}
	if !v.b.Exists(e.File.Path) {
		return
	}
	if v.isFolder(e.File.Path) {
		v.b.Paths.Recurse(&e, false)
	}
	root := v.b.Paths.Project()
	inside := e.Tags.Has(effects.InProject) || e.Tags.Has(effects.Worktree) || root != "" && !lexpath.In(root, file)
	if e.File.Path != file && (e.Guarded() != 0 || !inside) {
		v.b.Add(v.via(0, e))
		return
	}
	v.b.OpenSometimes(v.via(effects.Inherent, e))
}

// opensPackages adds the reads of the manifests that npm opens: package.json, with tree also
// those of the workspaces and of the packages in node_modules.
func (v *invocation) opensPackages(tree bool) {
	root := v.manifestRoot()
	for dir := v.b.Paths.Resolved(v.run.Cwd, ""); lexpath.In(root, dir) && dir != ""; dir = path.Dir(dir) {
		manifest := paths.Child(dir, "package.json")
		if v.b.Exists(manifest) {
			v.opened(manifest)
			if tree {
				v.opensWorkspaces(dir, manifest)
			}
		}
		if dir == "/" {
			break
		}
	}
	if !tree {
		return
	}
	v.opensLinks(root, func(link string) bool {
		above := path.Dir(link)
		return npmFiles.Has(path.Base(link)) || path.Base(above) == "node_modules" ||
			strings.HasPrefix(path.Base(above), "@") && path.Base(path.Dir(above)) == "node_modules"
	})
}

// opensWorkspaces adds the reads of the manifests of a package's workspaces.
func (v *invocation) opensWorkspaces(dir, manifest string) {
	data, err := v.b.FS.ReadFile(manifest, maxManifest)
	if err != nil {
		return // the run is not read-only then
	}
	folders, looks := []string{}, 0
	for _, pattern := range goals.Workspaces(data) {
		if folders = v.matching(folders, dir, strings.Split(path.Clean(pattern), "/"), &looks); folders == nil {
			v.b.Unknown(v.at.From, "more workspaces than permd looks at")
			return
		}
	}
	for i, folder := range folders {
		file := paths.Child(folder, "package.json")
		switch {
		case i < maxOpenedPlain:
			v.opened(file)
		case v.b.Paths.Resolved(file, "") != file:
			v.opened(file)
		default:
			v.opened(folder) // with all below, which takes less room
		}
	}
}

// matching appends the folders that match a pattern. A "**" matches any number of folders, of
// which only the last may be a link. It returns nil if there are too many.
func (v *invocation) matching(found []string, dir string, pattern []string, looks *int) []string {
	for ; len(pattern) > 0 && !strings.ContainsAny(pattern[0], "*?[{(!+@"); pattern = pattern[1:] {
		dir = paths.Child(dir, pattern[0])
	}
	if len(pattern) == 0 {
		return append(found, dir)
	}
	name, rest := pattern[0], pattern[1:]
	if name == "**" {
		if found = v.matching(found, dir, rest, looks); found == nil {
			return nil
		}
	}
	if *looks++; *looks > maxWorkspaces {
		return nil
	}
	entries, err := v.b.FS.Names(dir, maxWorkspaceNames)
	if err != nil {
		return found
	}
	for _, e := range entries {
		switch {
		case e.Type().IsRegular(), strings.HasPrefix(e.Name(), "."), e.Name() == "node_modules":
			continue
		case name == "**" && e.IsDir():
			found = v.matching(found, paths.Child(dir, e.Name()), pattern, looks)
		case name == "**": // a link to a folder is one of any number of folders, but the last
			found = v.matching(found, paths.Child(dir, e.Name()), rest, looks)
		case name != "**" && (strings.ContainsAny(name, "{(!+@") || paths.GlobMatch(name, e.Name())):
			found = v.matching(found, paths.Child(dir, e.Name()), rest, looks)
		}
		if found == nil || len(found) > maxWorkspaces {
			return nil
		}
	}
	return found
}
