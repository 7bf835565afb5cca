package effects

import "io/fs"

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
}

// World is what effects are made with. It is immutable and shared by requests.
type World struct {
	FS       FS
	Table    *Table    // the programs
	Profiles *Profiles // the agents' own tools
	// Own are permd's own folders and files, absolute and resolved: what lies
	// there carries the tag Permd.
	Own []string
}

// Of returns the effects of a call. It never fails: what cannot be understood
// is an Unknown effect.
func (w *World) Of(c *Call) Result {
	return w.of(c)
}
