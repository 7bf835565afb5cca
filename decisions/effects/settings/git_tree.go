package settings

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects/paths"
)

// IsTree reports whether git, run by a person in a folder or below, certainly takes the folder for
// the top of a working tree. It passes over one whose repository is not whole, is of a version or
// has an extension that it does not know, or belongs to somebody else
// (is_git_directory, check_repository_format and ensure_valid_ownership in its setup.c); some
// commands then do something else.
func (a *Surroundings) IsTree(tree string, uid uint32) bool {
	dirs := a.gitFolders(tree)
	if dirs == nil {
		return false
	}
	own, common := dirs[0], dirs[len(dirs)-1]
	head, err := a.FS.ReadFile(paths.Child(own, "HEAD"), maxObeyed)
	if err != nil || !plainHead(string(head)) {
		return false
	}
	for _, name := range []string{"objects", "refs"} {
		if mode, err := a.FS.Lstat(paths.Child(common, name)); err != nil || !mode.IsDir() {
			return false
		}
	}
	if !a.knownFormat(common) {
		return false
	}
	for _, p := range []string{tree, paths.Child(tree, ".git"), own} {
		if owner, err := a.FS.Owner(p); err != nil || owner != uid {
			return false
		}
	}
	return true
}

// plainHead reports whether the content of a HEAD is a reference or a hash.
func plainHead(text string) bool {
	text = strings.TrimRight(text, "\n")
	if ref, ok := strings.CutPrefix(text, "ref: "); ok {
		return strings.HasPrefix(ref, "refs/") && path.Clean(ref) == ref
	}
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// knownFormat reports whether all versions of git in use understand the format of a repository.
func (a *Surroundings) knownFormat(git string) bool {
	data, err := a.FS.ReadFile(paths.Child(git, "config"), maxObeyed)
	text, ok := plainText(data)
	list, errRead := readGitConfig(text)
	if err != nil || !ok || errRead != nil {
		return false
	}
	version, extensions := "", false
	for _, e := range list {
		switch {
		case slices.Equal(e.path, []string{"core", "repositoryformatversion"}):
			if version != "" && version != e.value || e.value != "0" && e.value != "1" {
				return false
			}
			version = e.value
		case e.path[0] != "extensions":
		case slices.Equal(e.path, []string{"extensions", "objectformat"}) && checksums[e.value] != 0,
			slices.Equal(e.path, []string{"extensions", "worktreeconfig"}), slices.Equal(e.path, []string{"extensions", "noop"}):
			extensions = true
		default:
			return false
		}
	}
	return !extensions || version == "1"
}
