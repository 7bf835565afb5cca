package settings

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// gitFolders returns the folders with the configuration of a working tree: its own,
// and that of its repository. They are nil if unknown, or if .git names a repository
// that does not belong to the tree: git would print the content of that one.
func (a *Surroundings) gitFolders(tree string) []string {
	fsys := a.FS
	link := paths.Child(tree, ".git")
	mode, err := fsys.Lstat(link)
	switch {
	case err != nil:
		return nil
	case mode.IsDir():
		// All of this folder's names are needed later. Once they are known, what is missing
		// in it is known without another look; a failure shows again.
		names, _ := fsys.Names(link, maxGitNames)
		if !isRepository(names) && a.repositoryAround(tree) {
			return nil
		}
		// git reads a commondir in the folder of any repository, but itself writes one
		// only for linked working trees.
		if file := paths.Child(link, "commondir"); a.Files.Changed(file) || !a.missing(file) {
			return nil
		}
		return []string{link}
	case !mode.IsRegular():
		return nil
	}
	given, ok := paths.GitLine(fsys, link, paths.GitFile)
	if !ok {
		return nil
	}
	admin, ok := paths.PlainFolder(fsys, lexpath.Abs(tree, given))
	if !ok || !a.belongsTo(admin, tree) {
		return nil
	}
	file := path.Join(admin, "commondir")
	if _, err := fsys.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return []string{admin}
	}
	common, ok := paths.GitLine(fsys, file, "")
	if !ok {
		return nil
	}
	dir, ok := paths.PlainFolder(fsys, lexpath.Abs(admin, common))
	if !ok || path.Dir(path.Dir(admin)) != dir {
		return nil // the folder of a linked working tree is REPOSITORY/worktrees/NAME
	}
	return []string{admin, dir}
}

// isRepository reports whether a folder with these names may be a repository. git passes over
// one that lacks any of them (is_git_directory in its setup.c).
func isRepository(names []fs.DirEntry) bool {
	for _, needed := range []string{"HEAD", "objects", "refs"} {
		if !slices.ContainsFunc(names, func(e fs.DirEntry) bool { return e.Name() == needed }) {
			return false
		}
	}
	return true
}

// repositoryAround reports whether git may find a repository for a folder if it passes over
// the folder's .git: one of a folder above, or one without a working tree, which is such a
// folder, or the folder, itself.
func (a *Surroundings) repositoryAround(dir string) bool {
	if a.Files.Exists(paths.Child(dir, "HEAD")) {
		return true
	}
	for range MaxObeyedDepth {
		if dir == "/" {
			return false
		}
		dir = path.Dir(dir)
		if a.Files.Exists(paths.Child(dir, ".git")) || a.Files.Exists(paths.Child(dir, "HEAD")) {
			return true
		}
	}
	return true
}

// belongsTo reports whether the folder that the .git file of a working tree names is
// part of the project, or points back to that tree. The .git file alone is no proof:
// whoever can write in the project can name any of the person's repositories there.
func (a *Surroundings) belongsTo(admin, tree string) bool {
	if root := a.Project; root != "" && lexpath.In(root, admin) {
		return true
	}
	fsys := a.FS
	if back, ok := paths.GitLine(fsys, path.Join(admin, "gitdir"), ""); ok {
		return lexpath.Abs(admin, back) == path.Join(tree, ".git")
	}
	// A submodule that is the session's project.
	for dir := path.Dir(tree); ; dir = path.Dir(dir) {
		if lexpath.In(path.Join(dir, ".git", "modules"), admin) {
			return true
		}
		if dir == "/" {
			return false
		}
	}
}

// gitFoldersOfText are the folders of a repository, with its own, whose files git prints
// lines of, or takes objects from whatever is in them (gitrepository-layout(5)):
// git status shows what is left of a rebase, git check-attr what info/attributes says,
// git worktree list why a tree is locked.
// Loose objects have a format and a name that a file of somebody else does not have. Of
// references see gitTreesOfText.
var gitFoldersOfText = []string{
	"", "branches", "info", "logs", "objects", "objects/info", "objects/pack", "rebase-apply", "rebase-merge", "remotes", "sequencer", worktreesFolder,
}

// gitTreesOfText are the folders of a repository in which, with all below, git reads a hash at the
// beginning of a file, whatever follows, or prints the names of files, as git tag does.
var gitTreesOfText = []string{"refs", "logs", worktreesFolder}

// worktreesFolder has a folder for each linked working tree of a repository.
const worktreesFolder = "worktrees"

// storesElsewhere returns the file or link by which a repository uses objects,
// references or settings of another folder, which git would print; "" if there is
// none.
func (a *Surroundings) storesElsewhere(git string) string {
	fsys := a.FS
	folders := slices.Clip(gitFoldersOfText)
	var trees []fs.DirEntry
	if !a.lacks(git, worktreesFolder) {
		var err error
		trees, err = fsys.Names(paths.Child(git, worktreesFolder), maxGitNames)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return path.Join(git, worktreesFolder)
		}
	}
	for i, tree := range trees {
		if i == maxWorktrees {
			return path.Join(git, worktreesFolder)
		}
		folders = append(folders, path.Join(worktreesFolder, tree.Name()))
	}
	for _, name := range folders {
		if top, _, _ := strings.Cut(name, "/"); a.lacks(git, top) {
			continue
		}
		dir := git
		if name != "" {
			dir = paths.Child(git, name)
		}
		names, err := fsys.Names(dir, maxGitNames)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return dir
		}
		for _, e := range names {
			// Hooks and the files of git-lfs are often shared; read-only commands of git read
			// neither.
			if e.Type()&fs.ModeSymlink != 0 && e.Name() != "hooks" && e.Name() != "lfs" {
				return path.Join(dir, e.Name())
			}
			// A split index has most of its entries, and thus submodules, in another file
			// (gitformat-index, "Split index").
			if strings.HasPrefix(strings.ToLower(e.Name()), "sharedindex.") {
				return path.Join(dir, e.Name())
			}
		}
	}
	for _, name := range gitTreesOfText {
		if a.lacks(git, name) {
			continue
		}
		dir := paths.Child(git, name)
		if links, complete := paths.LinksIn(fsys, dir); !complete {
			return dir
		} else if len(links) > 0 {
			return links[0]
		}
	}
	for _, name := range []string{"objects/info/alternates", "objects/info/http-alternates"} {
		if file := paths.Child(git, name); a.Files.Changed(file) || !a.missing(file) {
			return file
		}
	}
	return ""
}

// lister is implemented by file systems that remember the names in a folder.
type lister interface {
	// Lacks reports whether it is known that nothing of that name is in a folder. The
	// names were read during the call.
	Lacks(dir, name string) bool
}

// lacks reports whether a folder is known to hold nothing of a name, without a look at it.
func (a *Surroundings) lacks(dir, name string) bool {
	by, ok := a.FS.(lister)
	return ok && by.Lacks(dir, name)
}

func (a *Surroundings) missing(file string) bool {
	_, err := a.FS.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// maxGitNames bounds the names in the folder of a repository, and in that of its
// objects: the first has a few dozen, the second 258.
const maxGitNames = 1024

// maxWorktrees bounds the linked working trees of a repository.
const maxWorktrees = 256
