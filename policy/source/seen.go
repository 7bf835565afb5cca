package source

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// Looker looks at files without waiting for those that do not answer.
type Looker interface {
	Lstat(path string) (fs.FileMode, error)
	// Stamp does not follow links. KeepsStamps reports whether the file system of a path
	// has stamps.
	Stamp(path string) (Stamp, error)
	KeepsStamps(path string) bool
}

// Stamp changes with each change of a file or a folder.
type Stamp struct {
	Device, File uint64
	Changed      int64 // nanoseconds since 1970
}

// Seen tells whether folders are still as they were when they were read, without reading
// them again. It is immutable; nil is never the same.
type Seen struct {
	begun time.Time // when the folders were about to be read
	looks []look
}

// look is what a file or a folder was when it was looked at.
type look struct {
	path    string
	missing bool
	stamp   Stamp
}

// Bounds of what was seen.
const (
	maxSeen = 256 // files and folders: looking at more takes as long as reading some
	// A stamp is trusted if it is older than the resolution of any kernel's file times;
	// some file systems keep whole seconds, or every other one.
	minStampAge  = 50 * time.Millisecond
	minCoarseAge = 3 * time.Second
)

// See looks at folders that were read without an error from the time begun on: dirs, with
// all folders below them that were found and the files that were used. It returns nil if
// a change of them could go unnoticed: something has just changed, is a link, or lies where
// stamps do not tell.
func See(by Looker, access Access, begun time.Time, dirs, found []string, files []File) *Seen {
	s := &Seen{begun: begun}
	if len(dirs)+len(found)+len(files) > maxSeen {
		return nil
	}
	for _, dir := range dirs {
		if !slices.Contains(found, dir) {
			if _, err := by.Stamp(dir); !errors.Is(err, fs.ErrNotExist) || !by.KeepsStamps(dir) {
				return nil
			}
			s.looks = append(s.looks, look{path: dir, missing: true})
			continue
		}
		// The parent's owner and mode count where not everybody may write.
		if parent := filepath.Dir(dir); !access.Writable && !s.add(by, parent) {
			return nil
		}
	}
	for _, dir := range found {
		if !s.add(by, dir) {
			return nil
		}
	}
	for i := range files {
		if !s.add(by, files[i].Name) {
			return nil
		}
	}
	return s
}

// add reports whether a file or folder has not changed since it was read, and notes its
// stamp, which each later change will change.
func (s *Seen) add(by Looker, path string) bool {
	mode, err := by.Lstat(path)
	if err != nil || mode&fs.ModeSymlink != 0 || !by.KeepsStamps(path) {
		return false
	}
	stamp, err := by.Stamp(path)
	if err != nil {
		return false
	}
	least := minStampAge
	if stamp.Changed%int64(time.Second) == 0 {
		least = minCoarseAge
	}
	if s.begun.UnixNano()-stamp.Changed <= int64(least) {
		return false
	}
	s.looks = append(s.looks, look{path: path, stamp: stamp})
	return true
}

// Same reports whether nothing has changed since, and not more than an age has passed:
// stamps do not tell everything, such as who is in a group.
func (s *Seen) Same(by Looker, age time.Duration) bool {
	if s == nil || time.Since(s.begun) > age {
		return false
	}
	for i := range s.looks {
		l := &s.looks[i]
		switch stamp, err := by.Stamp(l.path); {
		case l.missing && !errors.Is(err, fs.ErrNotExist):
			return false
		case !l.missing && (err != nil || stamp != l.stamp):
			return false
		}
	}
	return true
}
