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
// folders; the other names of a file cannot be found.
type OSFS struct{}

// Lstat implements [effects.FS]. Deciding on a path spends half of its time here, so it
// makes no fs.FileInfo.
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

// modeOf converts the type and permissions of a file to Go's mode.
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

// Readlink implements [effects.FS].
func (OSFS) Readlink(path string) (string, error) { return os.Readlink(path) }

// Owner implements [effects.FS].
func (OSFS) Owner(path string) (uid uint32, err error) {
	var st unix.Stat_t
	for {
		err := unix.Lstat(path, &st)
		if err != unix.EINTR {
			return st.Uid, err
		}
	}
}

// Names implements [effects.FS]. It calls no lstat if the file system returns types
// with the names, as all common ones do.
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

// ReadFile implements [effects.FS]. It neither follows a link in the last component
// nor blocks on anything that is not a regular file.
func (OSFS) ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The check is of the opened file, not of the name, which may lead elsewhere a
	// moment later.
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

// Stamp returns when the names in a folder changed last, by the ctime, which programs
// cannot set.
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
