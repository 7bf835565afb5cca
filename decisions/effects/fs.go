package effects

import "io/fs"

// ModeLinked is set in the mode of a regular file with several names (hard links).
// Package fs does not use this bit.
const ModeLinked fs.FileMode = 1 << 18

// FS is the file system as path resolution sees it. Paths are absolute.
// Implementations must not follow a link in Lstat's last component.
type FS interface {
	// Lstat returns the mode of a path, with ModeLinked if that is known. The error is
	// fs.ErrNotExist only if the path does not exist; any other error makes the path
	// unknown.
	Lstat(path string) (fs.FileMode, error)
	// Readlink returns a link's target as written.
	Readlink(path string) (string, error)
	// ReadFile returns the content of a regular file; it fails if that is larger than
	// limit bytes.
	ReadFile(path string, limit int64) ([]byte, error)
	// Names returns the names in a folder with their types, unsorted; it fails if there
	// are more than limit. It does not follow a link in the last component.
	Names(path string, limit int) ([]fs.DirEntry, error)
	// Owner returns the owner of a path; of a link, not of its target.
	Owner(path string) (uid uint32, err error)
}

// NoAnswerError is the error of looking at a file system that does not answer in time.
// Nothing is known about the path then, not even whether it exists.
type NoAnswerError struct {
	Mount string // the mount point
}

// Error says which file system it is.
func (e *NoAnswerError) Error() string { return "the file system does not answer: " + e.Mount }
