package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Change says what a command did with a file. Its JSON form is stable.
type Change struct {
	Path   string `json:"path"`
	Action string `json:"action"` // wrote, unchanged, removed, absent, kept, enabled
}

// ReplaceUnsynced writes a file atomically. After a power failure the file may be empty.
func ReplaceUnsynced(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".permd-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// Replace writes a file atomically, even if the power fails meanwhile. What root writes belongs to
// whom the folder belongs to: the user of a daemon must be able to read it.
func Replace(path string, data []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".permd-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	for _, step := range []func() error{func() error { return chownAsFolder(tmp) }, func() error { return tmp.Chmod(mode) }, tmp.Sync, tmp.Close} {
		err = errors.Join(err, step())
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

func chownAsFolder(f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(filepath.Dir(f.Name()))
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}
