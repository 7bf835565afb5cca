package paths

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// LinkedIgnores returns the ignore files that a search of a folder or file reads through a symbolic
// link: those below it that the scan of the project has found, those in its folder and the folders
// above, and those of the repositories that contain it. The author of a tree may have put links there.
func (r *Resolver) LinkedIgnores(at string) []string {
	var files []string
	add := func(list []string) {
		for _, file := range list {
			if at := r.Resolved(file, ""); file != "" && at != "" && at != file && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	s, ok := r.fs.(Surveyor)
	for root, in := range r.searchStarts(at) {
		if !ok {
			break
		}
		found := s.Survey(root, in)
		for _, file := range found.Ignores {
			if lexpath.In(in, file) {
				add([]string{file})
			}
		}
		for _, dir := range found.Nested {
			add(r.repositoryFiles(dir, exclude))
			if found.Incomplete || r.skips(root, in, Joined(dir, "x"), true, true) {
				continue // ignored, as packages of registries mostly are
			}
			links, _ := r.Links(dir, new(LinkWalk))
			for _, link := range links {
				for _, rest := range []string{"", exclude, "/" + path.Base(exclude)} {
					if name := path.Base(link); rest == "" && slices.Contains(IgnoreNames, name) || strings.HasSuffix(link+rest, "/.git"+exclude) {
						add([]string{link + rest})
					}
				}
			}
		}
	}
	for dir := at; ; dir = path.Dir(dir) {
		if mode, err := r.Lstat(dir); err == nil && mode.IsDir() {
			for _, name := range IgnoreNames {
				add([]string{Joined(dir, name)})
			}
			add(r.repositoryFiles(dir, exclude))
		}
		if dir == "/" {
			return files
		}
	}
}

// exclude is the ignore file of a repository, below its folder.
const exclude = "/info/exclude"

// MayIgnore reports whether a path may be that of an ignore file, or of a folder with one that a
// search of all above does not read: .git and its info.
func MayIgnore(at string) bool {
	switch name := lexpath.Fold(path.Base(at)); name {
	case ".git", "info", "exclude", "commondir":
		return true
	default:
		return slices.Contains(IgnoreNames, name)
	}
}
