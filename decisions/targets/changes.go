package targets

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// MayChange reports whether calls may have changed what is read at an absolute path: the
// file there, or a link on the way to it. A disturbance lists files by their path
// without links, and links by their own.
func MayChange(fsys effects.FS, after *effects.Disturbance, file string) bool {
	if after.None() {
		return false
	}
	names, ok := namesOf(fsys, file)
	return !ok || slices.ContainsFunc(names, func(name string) bool {
		return after.MayWrite(name) || slices.ContainsFunc(after.Paths, func(changed string) bool {
			return lexpath.In(lexpath.Fold(changed), lexpath.Fold(name))
		})
	})
}

// maxLinksFollowed is the maximum number of links in a path, as in Linux.
const maxLinksFollowed = 40

// namesOf returns an absolute path, the links on the way to what it names, and the path
// of that, which may not exist; false if they cannot be told.
func namesOf(fsys effects.FS, file string) ([]string, bool) {
	at, rest := "/", file
	names := []string{path.Clean(file)}
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		mode, err := fsys.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return append(names, path.Join(next, rest)), true
		case err != nil:
			return nil, false
		case mode&fs.ModeSymlink == 0:
			at = next
			continue
		}
		target, err := fsys.Readlink(next)
		if names = append(names, next); err != nil || len(names) > maxLinksFollowed {
			return nil, false
		}
		if rest = target + "/" + rest; path.IsAbs(target) {
			at = "/"
		}
	}
	return append(names, at), true
}

// InFolder returns the path of a name in a folder, relative if the folder is not known.
func InFolder(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name) // relative, and so no file, without a folder
}
