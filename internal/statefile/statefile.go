// Package statefile opens and replaces the files in which permd keeps a few facts from one
// process to the next. What is no file of permd's own is not believed.
package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrForeign means that a file is not regular, belongs to another user, or can be changed by
// others.
var ErrForeign = errors.New("is not a file that only permd can write")

// Open opens a regular file of a user that nobody else can write, for reading. A link at the
// end of the path is an error, and what is no file, as a pipe, is not waited for. The error is
// an [fs.ErrNotExist] if there is none, and an [ErrForeign] if it is not the user's own.
func Open(path string, owner uint32) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || st.Uid != owner {
		return nil, errors.Join(fmt.Errorf("%s %w", path, ErrForeign), f.Close())
	}
	return f, nil
}

// Replace makes data what a file holds, at once: who reads it, also after a power cut, has
// the old or the new data. The folder must exist, is not synced, and no two may replace the
// same file at a time.
func Replace(path string, data []byte) error {
	made := path + ".new"
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // not of a replacement that was cut off
	}
	f, err := os.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(made))
	}
	return nil
}
