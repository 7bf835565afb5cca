package paths

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions/effects"
)

// OSFS is the machine's file system. Its zero value is ready for use.
//
// It sees what the daemon's process sees. Bind mounts look like plain files and
// folders here; which further names a file has cannot be asked.
type OSFS struct{}

// Lstat implements [FS]. It takes half of the time of deciding on a path, so
// it makes no fs.FileInfo of what it gets.
func (OSFS) Lstat(path string) (fs.FileMode, error) {
	var st unix.Stat_t
	for {
		err := unix.Lstat(path, &st)
		if err == nil {
			mode := modeOf(uint32(st.Mode)) //nolint:unconvert // 16 bits on macOS
			if mode.IsRegular() && st.Nlink > 1 {
				mode |= effects.ModeLinked
			}
			return mode, nil
		}
		if err != unix.EINTR { // as os.Lstat does
			return 0, err
		}
	}
}

// modeOf is the mode of a file in Go's terms, its kind and permissions.
func modeOf(st uint32) fs.FileMode {
	mode := fs.FileMode(st) & fs.ModePerm
	switch st & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	default:
		mode |= fs.ModeIrregular
	}
	return mode
}

// Readlink implements [FS].
func (OSFS) Readlink(path string) (string, error) { return os.Readlink(path) }

// Owner implements [FS].
func (OSFS) Owner(path string) (uid uint32, err error) {
	var st unix.Stat_t
	for {
		err := unix.Lstat(path, &st)
		if err != unix.EINTR {
			return st.Uid, err
		}
	}
}

// Names implements [FS]. Where the file system tells kinds with names, as all
// common ones do, it looks at nothing else.
func (OSFS) Names(path string, limit int) ([]fs.DirEntry, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > limit {
		return nil, fmt.Errorf("folder has more than %d names", limit)
	}
	return names, nil
}

// ReadFile implements [FS]. It neither follows a link in the last component
// nor waits for anything that is not a regular file.
func (OSFS) ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The opened file is what gets checked, not the name: the name may lead
	// elsewhere a moment later.
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("file is larger than %d bytes", limit)
	}
	return data, nil
}

// Stamp says when the names in a folder changed last, by the time that nobody
// can set.
func (OSFS) Stamp(path string) (Stamp, error) {
	var st unix.Stat_t
	for {
		err := unix.Lstat(path, &st)
		if err == nil {
			//nolint:unconvert // the fields have other sizes on macOS
			return Stamp{Device: uint64(st.Dev), File: uint64(st.Ino), Changed: st.Ctim.Nano()}, nil
		}
		if err != unix.EINTR {
			return Stamp{}, err
		}
	}
}

// Identity implements [Identifier].
func (o OSFS) Identity(path string) (Identity, error) {
	s, err := o.Stamp(path)
	return Identity{s.Device, s.File}, err
}
