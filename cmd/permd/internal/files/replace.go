package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

// Replace writes a file atomically, even if the power fails meanwhile.
func Replace(path string, data []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".permd-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	for _, step := range []func() error{func() error { return tmp.Chmod(mode) }, tmp.Sync, tmp.Close} {
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
