package paths

import (
	"io/fs"
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// maxGitFile bounds the small files by which a worktree and its repository
// point at each other, in bytes.
const maxGitFile = 4096

// ProjectKey returns the folder that choices for a project are bound to: the one that
// holds the repository's common git directory, so that all worktrees share it. It is
// root itself, as resolved by FindProject, unless root is a worktree that its main
// repository points back to: anybody who can write in a folder can write a .git file
// there, so that file alone must not join a project.
//
// Git is never run, because it would obey the configuration that it finds.
func ProjectKey(fsys effects.FS, root string) string {
	if root == "" || fsys == nil {
		return root
	}
	link := Child(root, ".git")
	if mode, err := fsys.Lstat(link); err != nil || !mode.IsRegular() {
		return root
	}
	given, ok := GitLine(fsys, link, GitFile)
	if !ok {
		return root
	}
	admin, ok := PlainFolder(fsys, lexpath.Abs(root, given))
	if !ok {
		return root
	}
	// The main repository keeps a folder for each of its worktrees. The location of
	// that folder determines the repository, not its content.
	common, found := strings.CutSuffix(path.Dir(admin), "/worktrees")
	if !found || common == "" {
		return root
	}
	if back, ok := GitLine(fsys, path.Join(admin, "gitdir"), ""); !ok || lexpath.Abs(admin, back) != link {
		return root
	}
	if dir, ok := GitLine(fsys, path.Join(admin, "commondir"), ""); !ok || lexpath.Abs(admin, dir) != common {
		return root
	}
	if !isRepository(fsys, common) {
		return root
	}
	return strings.TrimSuffix(common, "/.git")
}

// GitFile begins a .git file, which has the path of the folder of a repository.
const GitFile = "gitdir: "

// GitLine returns the path in a one-line file of git, without the required prefix. Like git, it
// removes trailing line ends only (read_gitfile_gently and get_common_dir_noenv in setup.c): blanks
// are part of the path.
func GitLine(fsys effects.FS, file, prefix string) (string, bool) {
	if mode, err := fsys.Lstat(file); err != nil || !mode.IsRegular() {
		return "", false
	}
	data, err := fsys.ReadFile(file, maxGitFile)
	if err != nil {
		return "", false
	}
	line, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	return line, ok && line != "" && !strings.Contains(line, "\x00")
}

// PlainFolder returns a folder's path if neither it nor any parent is a link: the
// target of a link can change.
func PlainFolder(fsys effects.FS, dir string) (string, bool) {
	for p := dir; ; p = path.Dir(p) {
		if mode, err := fsys.Lstat(p); err != nil || mode.Type() != fs.ModeDir {
			return "", false
		}
		if p == "/" {
			return dir, true
		}
	}
}

// isRepository reports whether a folder looks like a git directory.
func isRepository(fsys effects.FS, dir string) bool {
	if _, err := fsys.Lstat(path.Join(dir, "HEAD")); err != nil {
		return false
	}
	mode, err := fsys.Lstat(path.Join(dir, "objects"))
	return err == nil && mode.IsDir()
}
