package effects

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// OSFS is the machine's file system. Its zero value is ready for use.
//
// It sees what the daemon's process sees. Bind mounts and hard links look like
// plain files and folders here: a second name of a file that is a hard link
// cannot be told from the first one.
type OSFS struct{}

// Lstat implements [FS].
func (OSFS) Lstat(path string) (fs.FileMode, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return fi.Mode(), nil
}

// Readlink implements [FS].
func (OSFS) Readlink(path string) (string, error) { return os.Readlink(path) }

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
