package paths

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// maxGitIndex bounds the list of tracked files, in bytes.
const maxGitIndex = 8 << 20

// tracked reports whether git tracks a path below root: git grep and git archive read
// these. If that is not known, it returns true.
func (r *Resolver) tracked(root, p string) bool {
	data, err := r.gitIndex(Joined(root, ".git"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false // nothing was ever added
	case err != nil, len(data) < 8, !bytes.HasPrefix(data, []byte("DIRC")), data[7] != 2 && data[7] != 3:
		return true
	}
	// Versions 2 and 3 of the index contain the whole name, terminated by a zero.
	return bytes.Contains(data, []byte(strings.TrimPrefix(p[len(root):], "/")+"\x00"))
}

// gitIndex reads the list of tracked files. In worktrees and submodules, .git is a
// file with the path of the git directory.
func (r *Resolver) gitIndex(git string) ([]byte, error) {
	if mode, err := r.Lstat(git); err != nil || !mode.IsRegular() {
		return r.fs.ReadFile(git+"/index", maxGitIndex)
	}
	dir, ok := GitLine(r.fs, git, GitFile)
	if !ok {
		return nil, errors.New("not the name of a repository")
	}
	if !path.IsAbs(dir) {
		dir = path.Join(path.Dir(git), dir)
	}
	return r.fs.ReadFile(dir+"/index", maxGitIndex)
}
