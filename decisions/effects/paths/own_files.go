package paths

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// Own is the set of permd's own folders and files: what lies there has the tag Permd.
// The zero value is empty.
type Own struct {
	folded []string
	// paths are the same unfolded; named are programs as they were written.
	paths, named []string
	// All folded: the paths of permd's program, its sockets, and the folders of
	// PATH.
	programs, Sockets, Path []string
}

// Programs returns the paths of permd's own program, folded.
func (o Own) Programs() []string { return o.programs }

// WithProgram adds the paths of permd's own program and the folders in which a shell
// looks for programs. To change the program is to change permd; to run it by any of
// these names is to use permd.
func (o Own) WithProgram(programs, folders []string) Own {
	o.programs = make([]string, len(programs))
	o.named = make([]string, len(programs))
	for i, p := range programs {
		o.named[i] = path.Clean(p)
		o.programs[i] = lexpath.Fold(o.named[i])
	}
	for _, dir := range folders {
		if path.IsAbs(dir) && len(o.Path) < maxOwnFolders && !slices.Contains(o.Path, path.Clean(dir)) {
			o.Path = append(o.Path, path.Clean(dir))
		}
	}
	return o
}

// maxOwnFolders bounds the folders in which a program that permd does not know is
// looked for.
const maxOwnFolders = 32

// OwnFiles returns the Own of absolute and resolved paths; all calls share it.
func OwnFiles(paths ...string) Own {
	all := make([]string, len(paths))
	for i, p := range paths {
		all[i] = lexpath.Fold(path.Clean(p))
	}
	slices.Sort(all) // a folder before its content
	var o Own
	for _, p := range paths {
		o.paths = append(o.paths, path.Clean(p))
	}
	for _, p := range all {
		if strings.HasSuffix(p, ".sock") {
			o.Sockets = append(o.Sockets, p)
		}
		if !below(o.folded, p) {
			o.folded = append(o.folded, p)
		}
	}
	return o
}
