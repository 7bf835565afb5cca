package effects

import "io/fs"

// ModeLinked is set in the mode of a regular file that has further names (hard
// links). It is none of the bits that package fs uses.
const ModeLinked fs.FileMode = 1 << 18

// FS is the file system as path resolution sees it. Paths are absolute.
// Implementations must not follow a link in Lstat's last component.
type FS interface {
	// Lstat returns the kind of what lies at path, with ModeLinked where that is
	// known. The error is fs.ErrNotExist
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

// NoAnswerError is the error of looking at a file system that does not answer in time.
// Nothing is known about the path then, not even whether it exists.
type NoAnswerError struct {
	Mount string // the mount point
}

// Error says which file system it is.
func (e *NoAnswerError) Error() string { return "the file system does not answer: " + e.Mount }
