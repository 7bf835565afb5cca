package runs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lexpath"
)

// obeysShims returns a file that may select another program than the one that is named,
// "" if there is none. A program given by a path is no shim: the table knows only those
// in the system's folders by path.
func (v *invocation) obeysShims() string {
	s := v.b.Table.Shims
	if s == nil || v.run.Executable != "" || s.Excepts(v.run.Program) {
		return ""
	}
	dir := v.b.Paths.WorkingFolder(v.run.Cwd)
	if v.run.Cwd == "" || !path.IsAbs(dir) {
		return "a file in a folder of which nothing is known"
	}
	if file := v.rewritesShims(s, dir); file != "" {
		return file
	}
	homes := v.b.Paths.Session().Homes
	root := v.b.Paths.Project()
	if root == "" || !lexpath.In(root, dir) {
		root = dir
	}
	for range settings.MaxObeyedDepth {
		if !slices.Contains(homes, dir) {
			if file := v.choosesShim(s, dir, root); file != "" {
				return file
			}
		}
		if dir == "/" {
			return ""
		}
		dir = path.Dir(dir)
	}
	return "a file far above its folder"
}

// choosesShim is obeysShims for the files of one folder.
func (v *invocation) choosesShim(s *programs.Shims, dir, root string) string {
	names, err := v.b.Paths.Choosing(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v.choosesUnlisted(s, dir, root)
	}
	for _, name := range names {
		folded := lexpath.Fold(name)
		for i := range s.Files {
			if f := &s.Files[i]; f.Is(folded) {
				if file := path.Join(dir, name, path.Join(f.Path[1:]...)); !v.harmlessShim(f, file, root) {
					return file
				}
			}
		}
	}
	return ""
}

// choosesUnlisted is choosesShim for a folder that can be searched but not listed:
// programs, too, can then only open names they know.
func (v *invocation) choosesUnlisted(s *programs.Shims, dir, root string) string {
	for i := range s.Files {
		if f := &s.Files[i]; !strings.Contains(f.Path[0], "*") {
			if file := path.Join(dir, path.Join(f.Path...)); !v.harmlessShim(f, file, root) {
				return file
			}
		}
	}
	return ""
}

// harmlessShim reports whether such a file does not exist or has only harmless settings.
// The caller has checked rewritesShims.
func (v *invocation) harmlessShim(f *programs.ShimFile, file, root string) bool {
	if _, err := v.b.Paths.Lstat(file); err != nil && isMissing(err) {
		return true
	} else if f.Settings == nil {
		return false
	}
	return v.surroundings().HarmlessFile(f.Settings, file, root)
}

// rewritesShims returns a file in the folder or a parent that selects what a shim runs
// and that an earlier call or part of the call may change; "" if there is none.
func (v *invocation) rewritesShims(s *programs.Shims, dir string) string {
	folded, found := "", ""
	v.b.mayChange(func(w string) bool {
		if folded == "" {
			folded = lexpath.Fold(dir)
		}
		if s.ChosenBy(w, folded) {
			found = w
		}
		return found != ""
	})
	for _, moved := range v.b.Rearranged {
		if moved == "" || lexpath.In(moved, dir) {
			return "a file that an earlier part of the call may change"
		}
	}
	return found
}

// isMissing reports whether the path does not exist, including a path through something
// that is no folder.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
