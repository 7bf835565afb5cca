package obeys

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

// Shim returns a file that may select another program than the one that is named,
// "" if there is none. A program given by a path is no shim: the table knows only those
// in the system's folders by path.
func (r *Run) Shim() string {
	s := r.Call.Table.Shims
	if s == nil || r.Run.Executable != "" || s.Excepts(r.Run.Program) {
		return ""
	}
	dir := r.Call.Paths.WorkingFolder(r.Run.Cwd)
	if r.Run.Cwd == "" || !path.IsAbs(dir) {
		return "a file in a folder of which nothing is known"
	}
	if file := r.rewritesShims(s, dir); file != "" {
		return file
	}
	homes := r.Call.Paths.Session().Homes
	root := r.Call.Paths.Project()
	if root == "" || !lexpath.In(root, dir) {
		root = dir
	}
	for range settings.MaxObeyedDepth {
		if !slices.Contains(homes, dir) {
			if file := r.choosesShim(s, dir, root); file != "" {
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

// choosesShim is Shim for the files of one folder.
func (r *Run) choosesShim(s *programs.Shims, dir, root string) string {
	names, err := r.Call.Paths.Choosing(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r.choosesUnlisted(s, dir, root)
	}
	for _, name := range names {
		folded := lexpath.Fold(name)
		for i := range s.Files {
			if f := &s.Files[i]; f.Is(folded) {
				if file := path.Join(dir, name, path.Join(f.Path[1:]...)); !r.harmlessShim(f, file, root) {
					return file
				}
			}
		}
	}
	return ""
}

// choosesUnlisted is choosesShim for a folder that can be searched but not listed:
// programs, too, can then only open names they know.
func (r *Run) choosesUnlisted(s *programs.Shims, dir, root string) string {
	for i := range s.Files {
		if f := &s.Files[i]; !strings.Contains(f.Path[0], "*") {
			if file := path.Join(dir, path.Join(f.Path...)); !r.harmlessShim(f, file, root) {
				return file
			}
		}
	}
	return ""
}

// harmlessShim reports whether such a file does not exist or has only harmless settings.
// The caller has checked rewritesShims.
func (r *Run) harmlessShim(f *programs.ShimFile, file, root string) bool {
	if _, err := r.Call.Paths.Lstat(file); err != nil && isMissing(err) {
		return true
	} else if f.Settings == nil {
		return false
	}
	return r.surroundings().HarmlessFile(f.Settings, file, root)
}

// rewritesShims returns a file in the folder or a parent that selects what a shim runs
// and that an earlier call or part of the call may change; "" if there is none.
func (r *Run) rewritesShims(s *programs.Shims, dir string) string {
	folded, found := "", ""
	r.Call.MayChange(func(w string) bool {
		if folded == "" {
			folded = lexpath.Fold(dir)
		}
		if s.ChosenBy(w, folded) {
			found = w
		}
		return found != ""
	})
	for _, moved := range r.Call.Rearranged {
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
