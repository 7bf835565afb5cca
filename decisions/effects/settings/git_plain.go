package settings

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

// A command that stages a file or makes a branch changes only git's own data if nothing in
// the repository leads git elsewhere or makes it run a program. What could do that has no
// end: links among branches, logs or objects, hooks, states of a merge, files of other
// tools. So a repository is plain only if .git holds nothing but what git puts there by
// itself, as regular files and folders, with settings of which each is known.

// GitChange is what a command of git changes.
type GitChange struct {
	Branch  string   // the branch that it makes, "" for none
	Files   []string // the files that it stages, or may stage, resolved
	Commits bool     // it commits what is staged
	// Folders is set if it stages what changed below folders, and so may read any tracked file.
	Folders bool
	// Guarded is set if it leaves a guarded file as it is tracked.
	Guarded bool
	// Objects is how many objects the call may have added before, all of them in one folder.
	Objects int
	// Odd is what it stages that is no ordinary file of the project, as people see it; "" if
	// nothing of that kind was found.
	Odd string
}

// Plain returns what in the repository of a project, or in its folder .git, is not plain
// for a change in a folder; "" if all is. The caller has made sure that nothing of this
// changes before the program runs.
func (a *Surroundings) Plain(folder string, change *GitChange) string {
	tree := a.TreeAbove(folder)
	if tree == "" || tree != a.Project || lexpath.In(lexpath.Fold(paths.Child(tree, ".git")), lexpath.Fold(folder)) {
		return "a repository that is not the project's"
	}
	own, git := a.plainFolders(tree)
	if git == "" {
		return paths.Child(tree, ".git")
	}
	w := &gitWalk{Surroundings: a, change: change, git: git, tree: own, left: maxPlainNames}
	if w.top() && w.trees() && w.config() && w.objects() && w.index() && w.below("refs") && w.below("logs") && w.heads() {
		return ""
	}
	return w.odd
}

// plainFolders returns the folder of a working tree in its repository, and that of the
// repository: the same one, or for a linked working tree REPOSITORY/worktrees/NAME, which has to
// say that it is that tree's. Whoever can write in the project can name any repository in a .git
// file. They are "" for any other.
func (a *Surroundings) plainFolders(tree string) (own, git string) {
	link := paths.Child(tree, ".git")
	switch mode, err := a.FS.Lstat(link); {
	case err != nil:
		return "", ""
	case mode.IsDir():
		return link, link
	}
	dirs := a.gitFolders(tree)
	if len(dirs) != 2 || path.Base(dirs[1]) != ".git" || path.Dir(dirs[0]) != paths.Child(dirs[1], worktreesFolder) {
		return "", ""
	}
	back, ok := paths.GitLine(a.FS, paths.Child(dirs[0], "gitdir"), "")
	if common, known := paths.GitLine(a.FS, paths.Child(dirs[0], "commondir"), ""); !ok || !known || back != link || common != "../.." {
		return "", ""
	}
	return dirs[0], dirs[1]
}

// Bounds of a walk.
const (
	maxPlainNames = 1 << 14 // names in all folders
	maxPlainDepth = 12      // of branches
	maxPackedRefs = 4 << 20 // bytes
)

// gitWalk looks at all names in a repository's folder.
type gitWalk struct {
	*Surroundings
	change *GitChange
	git    string
	tree   string // the folder with what is the working tree's own, git itself but for a linked one
	left   int    // names that may be looked at
	odd    string // what is not plain
}

// treesOwn is what each working tree has for itself (gitrepository-layout(5), git-worktree(1)).
var treesOwn = wordset.Fields("HEAD index COMMIT_EDITMSG logs/HEAD")

// at returns the path of a file of the repository, as the working tree sees it.
func (w *gitWalk) at(name string) string {
	if treesOwn.Has(name) {
		return path.Join(w.tree, name)
	}
	return path.Join(w.git, name)
}

// isOdd notes what is not plain, and returns false.
func (w *gitWalk) isOdd(name string) bool {
	w.odd = w.at(name)
	return false
}

// each calls a function for each name in a folder, until it returns false; not for a
// folder that is not there.
func (w *gitWalk) each(dir string, plain func(name string, mode fs.FileMode) bool) bool {
	names, err := w.FS.Names(path.Join(w.git, dir), w.left)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || w.isOdd(dir)
	}
	w.left -= len(names)
	for _, e := range names {
		if !plain(e.Name(), e.Type()) {
			if w.odd == "" {
				w.isOdd(path.Join(dir, e.Name()))
			}
			return false
		}
	}
	return true
}

// regular reports whether all names in a folder are regular files that are plain.
func (w *gitWalk) regular(dir string, plain func(name string) bool) bool {
	return w.each(dir, func(name string, mode fs.FileMode) bool { return mode == 0 && plain(name) })
}

// What git puts into its folder, and only there, when it makes a repository, stages,
// commits, fetches and switches (gitrepository-layout(5)). What else it knows of (states of
// a merge, other working trees, modules, grafts, a split index) and what other programs put
// there is not plain.
var (
	plainTopFiles   = wordset.Fields("HEAD ORIG_HEAD FETCH_HEAD COMMIT_EDITMSG config description index packed-refs")
	plainTopFolders = wordset.Fields("branches hooks info logs objects refs worktrees")
	plainInfo       = wordset.Fields("exclude attributes refs")
	// A linked working tree has a HEAD, an index and a message of its own, and says where it is.
	plainTreeFiles = wordset.Fields("HEAD ORIG_HEAD FETCH_HEAD COMMIT_EDITMSG index commondir gitdir locked")
)

func (w *gitWalk) top() bool {
	return w.each("", func(name string, mode fs.FileMode) bool {
		return mode == 0 && plainTopFiles.Has(name) || mode == fs.ModeDir && plainTopFolders.Has(name)
	}) &&
		w.regular("branches", func(string) bool { return false }) &&
		// Samples of hooks do not run.
		w.regular("hooks", func(name string) bool { return strings.HasSuffix(name, ".sample") }) &&
		w.regular("info", plainInfo.Has)
}

// trees looks at the folders of all linked working trees. Settings of their own, and states of a
// merge, are not plain, whichever tree has them.
func (w *gitWalk) trees() bool {
	return w.each(worktreesFolder, func(name string, mode fs.FileMode) bool {
		tree := worktreesFolder + "/" + name
		return mode == fs.ModeDir && w.each(tree, func(name string, mode fs.FileMode) bool {
			return mode == 0 && plainTreeFiles.Has(name) || mode == fs.ModeDir && (name == "logs" || name == "refs") && w.below(tree+"/"+name)
		})
	})
}

// objects looks for anything that is not an object where objects are. Which one is written
// is not known before; one that is there has its time set, also by its other names.
func (w *gitWalk) objects() bool {
	packs, sample := 0, 0
	return w.each("objects", func(name string, mode fs.FileMode) bool {
		switch {
		case mode != fs.ModeDir:
			return false
		case name == "pack":
			return w.regular("objects/pack", func(name string) bool {
				packs++
				// A multi-pack-index has names of packs, which may lead elsewhere.
				return strings.HasPrefix(name, "pack-") && !strings.HasSuffix(name, ".promisor") && w.own("objects/pack/"+name)
			})
		case name == "info":
			return w.each("objects/info", func(name string, mode fs.FileMode) bool {
				return mode == 0 && (name == "packs" || name == "commit-graph") || mode == fs.ModeDir && name == "commit-graphs"
			}) && w.regular("objects/info/commit-graphs", func(string) bool { return true })
		}
		return len(name) == 2 && isHex(name) && w.regular("objects/"+name, func(object string) bool {
			if name == gcSample {
				sample++
			}
			return len(object) == hexObject-2 && isHex(object) && w.own("objects/"+name+"/"+object)
		})
	}) && (!w.change.Commits || sample+w.change.Objects <= maxSample && packs <= maxPacks || w.isOdd("objects"))
}

// After a commit git gathers its objects and forgets old ones (git gc --auto) if the folder 17
// has more than 27 of them, or if there are more than 50 packs, with two or three files each.
// Below, it only looks. Who chooses the contents of files chooses the folder of their objects.
const (
	gcSample  = "17"
	maxSample = 20
	maxPacks  = 80
)

// hexObject is the length of the name of an object.
const hexObject = 40

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// below reports whether all that is below a folder are folders and regular files.
func (w *gitWalk) below(top string) bool {
	folders := []string{top}
	for len(folders) > 0 {
		dir := folders[0]
		folders = folders[1:]
		if strings.Count(dir, "/") > maxPlainDepth || !w.each(dir, func(name string, mode fs.FileMode) bool {
			if mode == fs.ModeDir {
				folders = append(folders, path.Join(dir, name))
			}
			return mode == 0 || mode == fs.ModeDir
		}) {
			if w.odd == "" {
				w.isOdd(dir)
			}
			return false
		}
	}
	return true
}

// own reports whether a file that git writes in place has no other name.
func (w *gitWalk) own(name string) bool {
	mode, err := w.FS.Lstat(w.at(name))
	return errors.Is(err, fs.ErrNotExist) || err == nil && mode&(fs.ModeType|effects.ModeLinked) == 0 || w.isOdd(name)
}

// plainBranch matches the name of a branch that is no other name in any way of writing
// revisions, nor of a file that git makes next to it.
var plainBranch = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_+-]*([./][A-Za-z0-9_][A-Za-z0-9_+-]*)*$`)

// IsPlainBranch reports whether a name can only be that of a branch.
func IsPlainBranch(name string) bool {
	return len(name) <= 200 && plainBranch().MatchString(name) && !strings.Contains(name+"/", ".lock/") && name != "HEAD" && !strings.HasPrefix(name, "refs/")
}

// heads reports whether HEAD is on a branch, or at a commit, and whether a commit or one more
// branch writes only its own files.
func (w *gitWalk) heads() bool {
	data, err := w.FS.ReadFile(w.at("HEAD"), maxObeyed)
	at := strings.TrimSuffix(string(data), "\n")
	branch, on := strings.CutPrefix(at, "ref: refs/heads/")
	born := !on && isCommit(at)
	if err != nil || on && !IsPlainBranch(branch) || !on && !born {
		return w.isOdd("HEAD")
	}
	if on {
		commit, err := w.FS.ReadFile(path.Join(w.git, "refs/heads", branch), maxObeyed)
		born = err == nil
		if err != nil && !errors.Is(err, fs.ErrNotExist) || born && !isCommit(strings.TrimSuffix(string(commit), "\n")) {
			return w.isOdd("refs/heads/" + branch)
		}
	}
	if w.change.Commits {
		return w.own("COMMIT_EDITMSG") && w.own("logs/HEAD") && (!on || w.own("logs/refs/heads/"+branch))
	}
	made := w.change.Branch
	if made == "" {
		return true
	}
	if !born {
		packed, err := w.FS.ReadFile(paths.Child(w.git, "packed-refs"), maxPackedRefs)
		born = err == nil && strings.Contains(string(packed), " refs/heads/"+branch+"\n")
	}
	// Without a commit, git would have nothing to make a branch of but the index.
	if !born || !IsPlainBranch(made) {
		return w.isOdd("HEAD")
	}
	if _, err := w.FS.Lstat(path.Join(w.git, "refs/heads", made)); !errors.Is(err, fs.ErrNotExist) {
		return w.isOdd("refs/heads/" + made)
	}
	return w.own("logs/HEAD") && w.own("logs/refs/heads/"+made)
}

func isCommit(text string) bool { return len(text) == hexObject && isHex(text) }

// index reports whether git's list of tracked files is in a form of which every part is known, and
// without repositories in it.
func (w *gitWalk) index() bool {
	data, err := w.FS.ReadFile(w.at("index"), maxLinksIndex)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return true
	}
	return err == nil && plainIndex(data) || w.isOdd("index")
}

// config reports whether each setting of the repository is known.
func (w *gitWalk) config() bool {
	data, err := w.FS.ReadFile(paths.Child(w.git, "config"), maxObeyed)
	text, ok := plainText(data)
	list, errRead := readGitConfig(text)
	if err != nil || !ok || errRead != nil || len(list) > maxSettings {
		return w.isOdd("config")
	}
	for i := range list {
		if !plainSetting(&list[i], w.change, false) {
			return w.isOdd("config")
		}
	}
	return true
}

// noSecret reports whether a path, or one from the home, leads to no secret.
func (a *Surroundings) noSecret(file string) bool {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		file = path.Join(a.Home, rest)
	}
	if !path.IsAbs(file) {
		file = path.Join(a.Project, file)
	}
	at, secret := a.Files.Target(file)
	return at != "" && !secret
}

// Attributed returns the file whose attributes may have one of some words, in lower case, for one
// of the files that are staged, or for one of those that git compares; "" if none does
// (gitattributes(5)). Of a folder without such a file git reads that in the index.
func (a *Surroundings) Attributed(words, beside []string, change *GitChange) string {
	own, git := a.plainFolders(a.Project)
	if git == "" {
		return paths.Child(a.Project, ".git")
	}
	index, err := a.FS.ReadFile(paths.Child(own, "index"), maxLinksIndex)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return git
	}
	folders := map[string]bool{}
	add := func(file string) {
		for dir := path.Dir(file); lexpath.In(a.Project, dir) && !folders[dir] && len(folders) <= maxAttributes; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	for _, file := range change.Files {
		add(file)
	}
	compares := change.Commits || change.Folders
	if compares {
		folders[a.Project] = true
	}
	if compares && len(index) > 0 {
		if _, ok := eachEntry(index, checksums["sha1"], func(_, name []byte) { add(path.Join(a.Project, string(name))) }); !ok {
			return git
		}
	}
	if len(folders) > maxAttributes {
		return "more folders than are looked at"
	}
	beside = append(slices.Clip(beside), path.Join(git, "info/attributes"))
	for dir := range folders {
		beside = append(beside, paths.Child(dir, ".gitattributes"))
	}
	for _, file := range beside {
		data, err := a.FS.ReadFile(file, maxObeyed)
		switch {
		case err == nil && !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(strings.ToLower(string(data)), word) }):
		case errors.Is(err, fs.ErrNotExist):
			if name, ok := lexpath.RelBelow(a.Project, file); ok && strings.Contains(string(index), name+"\x00") {
				return file
			}
		default:
			return file
		}
	}
	return ""
}

// maxAttributes bounds the folders whose attributes are read.
const maxAttributes = 512
