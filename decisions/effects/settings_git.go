package effects

import (
	"path"
	"strings"
)

// readGitConfig reads a repository's configuration. Section and key are lower
// case in what it returns, as git compares them so; a section's second part is
// one name, whatever it holds. Lines that go on, quotes and escapes in values are
// not read, and neither are entries behind a section's name on its line.
func readGitConfig(text string) ([]entry, error) {
	var list []entry
	var section []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			name, ok := strings.CutSuffix(line[1:], "]")
			if !ok {
				return nil, errSettings
			}
			head, sub, quoted := strings.Cut(name, ` "`)
			if !plainKey(head) {
				return nil, errSettings // [a.b] is an old form of [a "b"]
			}
			section = []string{strings.ToLower(head)}
			if quoted {
				sub, ok = strings.CutSuffix(sub, `"`)
				if !ok || strings.ContainsAny(sub, `"\`) {
					return nil, errSettings
				}
				section = append(section, sub)
			}
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if len(section) == 0 || !plainKey(key) || strings.ContainsAny(value, `"\#;`) {
			return nil, errSettings
		}
		list = append(list, entry{append(section[:len(section):len(section)], strings.ToLower(key)), value})
	}
	return list, nil
}

// gitFolders are where the configuration of a working tree lies: its own folder,
// and that of the repository that it belongs to. They are nil when that is not
// known.
func (v *invocation) gitFolders(tree string) []string {
	fsys := v.b.w.FS
	link := path.Join(tree, ".git")
	mode, err := fsys.Lstat(link)
	switch {
	case err != nil:
		return nil
	case mode.IsDir():
		return []string{link}
	case !mode.IsRegular():
		return nil
	}
	given, ok := gitLine(fsys, link, "gitdir:")
	if !ok {
		return nil
	}
	admin, ok := plainFolder(fsys, absolute(tree, given))
	if !ok {
		return nil
	}
	dirs := []string{admin}
	if common, ok := gitLine(fsys, path.Join(admin, "commondir"), ""); ok {
		if dir, ok := plainFolder(fsys, absolute(admin, common)); ok {
			return append(dirs, dir)
		}
		return nil
	}
	return dirs
}

// obeysRepository reports whether the configuration of the repository says, or
// may come to say, more than a command obeys that only looks.
func (v *invocation) obeysRepository(s *settings) string {
	dir := v.folderOf(v.run.Cwd)
	if dir == "" {
		return "its folder is not known"
	}
	tree := v.treeAbove(dir)
	if tree == "" {
		return "" // no repository: git has nothing to look at
	}
	dirs := v.gitFolders(tree)
	if dirs == nil {
		return path.Join(tree, ".git")
	}
	for _, git := range dirs {
		for _, name := range []string{"config", "config.worktree"} {
			file := path.Join(git, name)
			if !v.harmlessFile(s, file, tree) {
				return file
			}
		}
		if hook := path.Join(git, "hooks", lookingHook); !v.absent(hook) {
			return hook
		}
	}
	return ""
}

// treeAbove is the nearest folder upwards that holds .git, "" if there is none.
func (v *invocation) treeAbove(dir string) string {
	for range maxObeyedDepth {
		if v.exists(path.Join(dir, ".git")) {
			return dir
		}
		if dir == "/" {
			return ""
		}
		dir = path.Dir(dir)
	}
	return ""
}
