package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

var (
	errLink     = errors.New("it is a symbolic link")
	errReplaced = errors.New("it was replaced while it was opened")
)

// openFolder opens a folder as a root. With noLink a link in its place is errLink,
// whenever somebody puts it there.
//
// Neither waits for the other end of a FIFO, which anyone who can write to a project
// can make: the kernel refuses anything but a folder.
func openFolder(dir string, noLink bool) (*os.Root, error) {
	if !noLink {
		return os.OpenRoot(dir + "/.")
	}
	folder, err := openNoFollow(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // nothing was written
	// The descriptor's own name, where there is one, cannot be replaced.
	path := filepath.Join("/proc/self/fd", strconv.Itoa(int(folder.Fd())))
	if _, err := os.Readlink(path); err != nil {
		path = dir
	}
	root, err := os.OpenRoot(path + "/.")
	if err != nil {
		return nil, err
	}
	opened, err := folder.Stat()
	if err == nil {
		var info fs.FileInfo
		if info, err = root.Stat("."); err == nil && !os.SameFile(opened, info) {
			err = errReplaced
		}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// openNoFollow opens a folder and does not touch what a link in its place leads to.
func openNoFollow(dir string) (*os.File, error) {
	for {
		fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), dir), nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR):
			// Of a link, systems say one or the other.
			if info, lerr := os.Lstat(dir); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
				return nil, errLink
			}
		}
		return nil, fmt.Errorf("open: %w", err)
	}
}
