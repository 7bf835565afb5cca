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
	if file := a.odd(dirs[0], dirs[len(dirs)-1]); file != "" {
		return file
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

// These match the text of HEAD on a branch, and that of HEAD or a branch at a commit.
var (
	atBranch = lazy.Regexp(`^ref: (refs/heads/[^\x00-\x20~^:?*\[\\\x7f]+)\n?$`)
	atCommit = lazy.Regexp(`^([0-9a-f]{40}|[0-9a-f]{64})\n?$`)
)

// odd returns HEAD of a working tree, or the branch in the repository's folder that it names,
// if a commit would write another reference than the branch that is checked out; "" if not.
func (a *Surroundings) odd(head, common string) string {
	file := paths.Child(head, "HEAD")
	if a.Files.Changed(file) {
		return file
	}
	data, err := a.FS.ReadFile(file, maxObeyed)
	if err != nil || strings.Contains(string(data), "..") {
		return file
	}
	if atCommit().Match(data) {
		return ""
	}
	name := atBranch().FindSubmatch(data)
	if name == nil {
		return file
	}
	// A branch may name another reference in turn. One without a file is packed, as a commit,
	// or has none yet.
	branch := path.Join(common, string(name[1]))
	data, err = a.FS.ReadFile(branch, maxObeyed)
	if errors.Is(err, fs.ErrNotExist) || err == nil && atCommit().Match(data) {
		return ""
	}
	return branch
}

// linkIn returns a link among what git writes in a repository's folder (its index, its
// objects, branches and their logs, the message of a commit), through which it would write
// elsewhere; also what cannot be read, or is too much. The message and the logs are written
// in place, so no hard link may be among them; git puts a new file in the place of any other.
func (a *Surroundings) linkIn(git string) string {
	folders := []string{".", "objects", "rr-cache", "refs", "logs", "logs/refs", "refs/heads", "logs/refs/heads"}
	const branches = 6 // from here on with the folders below
	logs := 0
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
			isLog := strings.HasPrefix(folders[i], "logs") && !e.IsDir()
			if isLog {
				logs++
			}
			if isLog || i == 0 && e.Name() == "COMMIT_EDITMSG" {
				if mode, err := a.FS.Lstat(path.Join(dir, e.Name())); err != nil || mode&effects.ModeLinked != 0 || logs > maxGitNames {
					return path.Join(dir, e.Name())
				}
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
