package effects

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// FS is the file system as path resolution sees it. Paths are absolute.
// Implementations must not follow a link in Lstat's last component.
type FS interface {
	// Lstat returns the kind of what lies at path. The error is fs.ErrNotExist
	// only when the path does not exist; every other error makes a path unknown.
	Lstat(path string) (fs.FileMode, error)
	// Readlink returns a link's target as written.
	Readlink(path string) (string, error)
	// ReadFile returns a regular file's content; an error when it is larger
	// than limit bytes.
	ReadFile(path string, limit int64) ([]byte, error)
	// Names returns the names in a folder with their kinds, in no order; an error
	// when there are more than limit. It does not follow a link in the last
	// component.
	Names(path string, limit int) ([]fs.DirEntry, error)
	// Owner returns the user that what lies at path belongs to; of a link, not of
	// what it leads to.
	Owner(path string) (uid uint32, err error)
}

// World is what effects are made with. It is immutable and shared by requests.
type World struct {
	FS       FS
	Table    *Table    // the programs
	Profiles *Profiles // the agents' own tools
	Own      Own       // permd's own files
	// Others is set when calls come from other users than the one that the
	// daemon runs as: it may see what they may not, so what lies behind a folder
	// that the caller cannot search is unknown.
	Others bool
}

// Own is permd's own folders and files: what lies there carries the tag Permd.
// Its zero value is none.
type Own struct {
	folded []string
	// All folded: permd's program by each of its paths, and its sockets. path
	// are the folders that programs are found in.
	programs, sockets, path []string
}

// Programs are the paths of permd's own program, without case.
func (o Own) Programs() []string { return o.programs }

// WithProgram adds where permd's own program lies, by each path that is known
// for it, and the folders that a shell looks for programs in. Changing the
// program is changing permd; running it by any of these names is using permd.
func (o Own) WithProgram(programs, folders []string) Own {
	o.programs = make([]string, len(programs))
	for i, p := range programs {
		o.programs[i] = fold(path.Clean(p))
	}
	for _, dir := range folders {
		if path.IsAbs(dir) && len(o.path) < maxOwnFolders && !slices.Contains(o.path, path.Clean(dir)) {
			o.path = append(o.path, path.Clean(dir))
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
		all[i] = fold(path.Clean(p))
	}
	slices.Sort(all) // a folder before what lies in it
	var o Own
	for _, p := range all {
		if strings.HasSuffix(p, ".sock") {
			o.sockets = append(o.sockets, p)
		}
		if !below(o.folded, p) {
			o.folded = append(o.folded, p)
		}
	}
	return o
}

// Of returns the effects of a call. It never fails: what cannot be understood
// is an Unknown effect.
func (w *World) Of(c *Call) Result {
	return w.In(w.Scene(c))
}

func (w *World) environment() environment {
	return environment{fs: w.FS, own: &w.Own, others: w.Others}
}

// Scene is where a call comes from, as it was found at one moment.
type Scene struct {
	c   *Call
	res *resolver // nil when it was used
}

// Scene looks at where a call comes from. It needs neither Table nor Profiles:
// which these are may depend on the project.
func (w *World) Scene(c *Call) *Scene {
	return &Scene{c: c, res: newResolver(w.environment(), c)}
}

// Project is the root of the project that the call belongs to, as in Result.
// It is to be asked for before In.
func (s *Scene) Project() string {
	if s.res == nil {
		return ""
	}
	return s.res.project()
}

// In is Of for the call of a scene, without a second look at what was seen
// there; the file system is the scene's. What was seen holds for one call, so
// the scene is used up: a second In looks again.
func (w *World) In(s *Scene) Result {
	res := s.res
	if res == nil {
		res = newResolver(w.environment(), s.c)
	}
	s.res, res.own, res.others = nil, &w.Own, w.Others
	return w.of(s.c, res)
}
