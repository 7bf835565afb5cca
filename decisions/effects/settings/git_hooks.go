package settings

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lazy"
)

// Hook returns a hook or a setting of the repository of a folder by which a command that
// changes the repository (git add, git commit) runs a program; "" if there is none, and
// also if there is no repository. Repository has to find none either: it knows the
// settings that every command obeys.
func (a *Surroundings) Hook(dir string) string {
	tree := a.treeAbove(dir)
	if tree == "" {
		return ""
	}
	dirs := a.gitFolders(tree)
	if dirs == nil {
		return path.Join(tree, ".git")
	}
	if !a.onBranch(paths.Child(dirs[0], "HEAD")) {
		return path.Join(dirs[0], "HEAD")
	}
	for _, git := range dirs {
		if file := a.linkIn(git); file != "" {
			return file
		}
		if file := a.hookIn(path.Join(git, "hooks")); file != "" {
			return file
		}
		for _, name := range []string{"config", "config.worktree"} {
			if file := paths.Child(git, name); !a.quietConfig(file) {
				return file
			}
		}
	}
	// The person's own settings are trusted, but hooks that they name for all repositories
	// may be files of this one.
	personal := []string{"/etc/gitconfig"}
	if a.Home != "" {
		personal = append(personal, paths.Child(a.Home, ".gitconfig"), paths.Child(a.Home, ".config/git/config"))
	}
	for _, file := range personal {
		if a.namesHooks(file) {
			return file
		}
	}
	return ""
}

// namesHooks reports whether a configuration may name hooks, or have commits signed. The
// names of sections and keys have no other spelling than their letters, in any case
// (git-config(1), "Syntax").
func (a *Surroundings) namesHooks(file string) bool {
	data, err := a.FS.ReadFile(file, maxObeyed)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	text := strings.ToLower(string(data))
	return slices.ContainsFunc([]string{"hookspath", "gpgsign", "recentobjectshook", "include"}, func(name string) bool { return strings.Contains(text, name) })
}

// hookIn returns a hook in a folder of hooks that is there or may be made by an earlier
// call. git init puts samples there, which do not run.
func (a *Surroundings) hookIn(dir string) string {
	if a.Files.Rewritten(dir) {
		return dir
	}
	names, err := a.FS.Names(dir, maxGitNames)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return dir
	}
	for _, e := range names {
		if !strings.HasSuffix(e.Name(), ".sample") {
			return path.Join(dir, e.Name())
		}
	}
	return ""
}

// quietConfig reports whether a configuration has no setting by which only commands that
// change the repository run programs, or write elsewhere: other hooks, a signature, and
// what tidies up after a commit (gc.recentObjectsHook).
func (a *Surroundings) quietConfig(file string) bool {
	data, err := a.FS.ReadFile(file, maxObeyed)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	list, err := readGitConfig(string(data))
	return err == nil && !slices.ContainsFunc(list, func(e entry) bool {
		switch e.path[0] {
		case "gc", "maintenance", "repack", "rerere":
			return true
		case "commit", "core", "tag":
			key := e.path[len(e.path)-1]
			return key == "gpgsign" || key == "hookspath"
		case "extensions": // other places and formats of references
			return e.path[len(e.path)-1] == "refstorage"
		}
		return false
	})
}

// atBranch matches the text of HEAD on a branch, and at a commit.
var atBranch = lazy.Regexp(`^(ref: refs/heads/[^\x00-\x20~^:?*\[\\\x7f]+|[0-9a-f]{40}|[0-9a-f]{64})\n?$`)

// onBranch reports whether a file says that a branch, or a commit, is checked out, so that
// a commit writes no other reference.
func (a *Surroundings) onBranch(head string) bool {
	if a.Files.Changed(head) {
		return false
	}
	data, err := a.FS.ReadFile(head, maxObeyed)
	return err == nil && atBranch().Match(data) && !strings.Contains(string(data), "..")
}

// linkIn returns a link among what git writes in a repository's folder (its index, its
// objects, branches and their logs, the message of a commit), through which it would write
// elsewhere; also what cannot be read, or is too much.
func (a *Surroundings) linkIn(git string) string {
	folders := []string{".", "objects", "refs", "logs", "logs/refs", "refs/heads", "logs/refs/heads"}
	const branches = 5 // from here on with the folders below
	for i := 0; i < len(folders); i++ {
		dir := path.Join(git, folders[i])
		if i == maxRefFolders {
			return dir
		}
		names, err := a.FS.Names(dir, maxGitNames)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return dir
		}
		for _, e := range names {
			if e.Type()&fs.ModeSymlink != 0 {
				return path.Join(dir, e.Name())
			}
			if e.IsDir() && i >= branches {
				folders = append(folders, path.Join(folders[i], e.Name()))
			}
		}
	}
	return ""
}

// maxRefFolders bounds the folders of branches, with those of their logs.
const maxRefFolders = 64
