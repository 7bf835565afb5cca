package paths

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
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
		err := lstat(path, &st)
		if err == nil {
			mode := modeOf(uint32(st.Mode)) //nolint:unconvert // 16 bits on macOS
			if mode.IsRegular() && st.Nlink > 1 {
				mode |= effects.ModeLinked
			}
			return mode, nil
		}
		if !errors.Is(err, unix.EINTR) { // as os.Lstat does
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
		err := lstat(path, &st)
		if !errors.Is(err, unix.EINTR) {
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
// nor blocks on anything that is not a regular file. It uses no os.File, which would
// offer each file to the poller of the runtime.
func (OSFS) ReadFile(path string, limit int64) ([]byte, error) {
	fd, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	// One byte more shows the end, or that the file is too long, without growing: a read that
	// returns as much as there is said to be, and had room for more, has met the end. A file of
	// /proc says that it is empty.
	known := size
	if size <= 0 {
		known, size = -1, 511
	}
	data := make([]byte, min(size, limit)+1)
	for n := 0; ; {
		more, err := read(fd, data[n:])
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n += more; int64(n) > limit {
			return nil, fmt.Errorf("file is larger than %d bytes", limit)
		}
		if more == 0 || int64(n) == known {
			return data[:n:n], nil
		}
		if n == len(data) { // it has grown
			data = slices.Grow(data, 512)
			data = data[:min(int64(cap(data)), limit+1)]
		}
	}
}

// openRegular opens a regular file and returns its size.
func openRegular(path string) (fd int, size int64, err error) {
	for {
		fd, err = open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return -1, 0, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
	// The check is of the opened file, not of the name, which may lead elsewhere a
	// moment later.
	var st unix.Stat_t
	for {
		err = unix.Fstat(fd, &st)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	switch {
	case err != nil:
		err = &fs.PathError{Op: "stat", Path: path, Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = errors.New("not a regular file")
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, 0, err
	}
	return fd, st.Size, nil
}

func read(fd int, b []byte) (n int, err error) {
	for {
		if n, err = unix.Read(fd, b); err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// Holds implements [Comparer].
func (OSFS) Holds(path string, limit int64, text string) (bool, error) {
	if int64(len(text)) > limit {
		return false, nil
	}
	fd, size, err := openRegular(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = unix.Close(fd) }()
	if size > 0 && size != int64(len(text)) {
		return false, nil
	}
	var buf [4 << 10]byte
	for end := false; !end; {
		n, err := read(fd, buf[:])
		end = n == len(text) && n < len(buf) && size > 0 // as in ReadFile
		switch {
		case err != nil:
			return false, &fs.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return text == "", nil
		case n > len(text) || text[:n] != string(buf[:n]):
			return false, nil
		}
		text = text[n:]
	}
	return true, nil
}

// Comparer is implemented by file systems that can compare a file without a copy of it.
type Comparer interface {
	// Holds reports whether ReadFile would return the text.
	Holds(path string, limit int64, text string) (bool, error)
}

// Stamp returns when the names in a folder changed last, by the ctime, which programs
// cannot set.
func (OSFS) Stamp(path string) (Stamp, error) {
	var st unix.Stat_t
	for {
		err := lstat(path, &st)
		if err == nil {
			//nolint:unconvert // the fields have other sizes on macOS
			return Stamp{Device: uint64(st.Dev), File: uint64(st.Ino), Changed: st.Ctim.Nano()}, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return Stamp{}, err
		}
	}
}

// Identity implements [Identifier].
func (o OSFS) Identity(path string) (Identity, error) {
	s, err := o.Stamp(path)
	return Identity{s.Device, s.File}, err
}
