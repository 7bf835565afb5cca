package paths

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// Own is permd's own folders and files: what lies there carries the tag Permd.
// Its zero value is none.
type Own struct {
	folded []string
	// paths are the same, and named are programs, as they are written.
	paths, named []string
	// All folded: permd's program by each of its paths, and its sockets. path
	// are the folders that programs are found in.
	programs, Sockets, Path []string
}

// Programs are the paths of permd's own program, without case.
func (o Own) Programs() []string { return o.programs }

// WithProgram adds where permd's own program lies, by each path that is known
// for it, and the folders that a shell looks for programs in. Changing the
// program is changing permd; running it by any of these names is using permd.
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

// maxOwnFolders is how many folders a program that permd does not know is
// looked for in.
const maxOwnFolders = 32

// OwnFiles makes an Own of absolute and resolved paths, once for all calls.
func OwnFiles(paths ...string) Own {
	all := make([]string, len(paths))
	for i, p := range paths {
		all[i] = lexpath.Fold(path.Clean(p))
	}
	slices.Sort(all) // a folder before what lies in it
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
