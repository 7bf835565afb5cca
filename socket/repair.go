package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/permd/permd/internal/lockfile"
)

// Repair checks that clients find the socket at its path, and binds another one there if
// its file was removed, or replaced by one that nobody listens on; bound reports that.
// Open connections stay as they are. The error says why clients find nothing there, or
// not this daemon. A socket of the service manager is never bound: its file is the
// manager's.
func (l *Listener) Repair() (bound bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || !filepath.IsAbs(l.path) {
		return false, nil // an abstract socket has no file
	}
	id, err := inodeOf(l.path)
	switch {
	case err == nil && id == l.id:
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("looking at the socket: %w", err)
	case l.lock == nil:
		return false, hintError{
			fmt.Errorf("the file of the socket %s was removed or replaced", l.path),
			"its service manager has opened it and must do so again: restart the socket's unit",
		}
	}
	if err := l.rebind(); err != nil {
		return false, err
	}
	return true, nil
}

// rebind replaces the listener. Its lock is held.
func (l *Listener) rebind() error {
	dir := filepath.Dir(l.path)
	if err := l.options.prepare(dir); err != nil {
		return err
	}
	name := filepath.Join(dir, lockName)
	held := l.lock
	if !held.Is(name) {
		// The folder was removed as well, so that another daemon may have begun there.
		var err error
		if held, err = lock(name, l.path); err != nil {
			return err
		}
	}
	err := removeStale(l.path)
	if err == nil {
		err = l.swap()
	}
	if held == l.lock {
		return err
	}
	if err != nil {
		return errors.Join(err, held.Free())
	}
	var former *lockfile.Lock
	former, l.lock = l.lock, held
	return former.Free()
}

// swap binds another socket at the path and stops listening on the former one.
func (l *Listener) swap() error {
	ul, id, err := bind(l.path, l.options)
	if err != nil {
		return err
	}
	l.id = id
	return l.current.Swap(ul).Close()
}
