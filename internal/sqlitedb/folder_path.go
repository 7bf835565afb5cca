package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// These limit how long a caller waits for the file system that the path of the database
// is on. The database itself may be on another one, which answers. They are much longer
// than a look takes on a busy machine.
const (
	lookLimit      = 5 * time.Second
	quickLookLimit = time.Second // for decisions
)

// folderPath is the path of an opened folder. A folder that is renamed stays open, and what is
// written there is not found by that path any more.
type folderPath struct {
	path     string
	dev, ino uint64
	turn     chan struct{} // has an element while somebody looks
	stuck    atomic.Bool   // the look under way has taken longer than somebody's limit
	// stat looks at a path without following a link at its end; changed by tests.
	stat func(path string, st *unix.Stat_t) error
}

// init remembers which folder was opened.
func (p *folderPath) init(folder *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(folder.Fd()), &st); err != nil {
		return fmt.Errorf("looking at database folder: %w", err)
	}
	p.path, p.turn, p.stat = folder.Name(), make(chan struct{}, 1), unix.Lstat
	p.dev, p.ino = uint64(st.Dev), uint64(st.Ino) //nolint:unconvert // the types differ between systems
	return nil
}

// check returns an error that wraps ErrGone unless the path still leads to the folder
// that was opened, or if that is not known within limit. At most one thread looks, and
// nobody waits for one that is late already.
func (p *folderPath) check(limit time.Duration) error {
	if p.stuck.Load() {
		return p.unanswered()
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case p.turn <- struct{}{}:
	case <-late.C:
		return p.unanswered()
	}
	found := make(chan error, 1)
	go func() {
		err := p.look()
		found <- err
		p.stuck.Store(false)
		<-p.turn
	}()
	select {
	case err := <-found:
		return err
	case <-late.C:
	}
	p.stuck.Store(true)
	select {
	case err := <-found: // it ended just now
		p.stuck.Store(false)
		return err
	default:
		return p.unanswered()
	}
}

func (p *folderPath) unanswered() error {
	return fmt.Errorf("%w: the file system of %s does not answer", ErrGone, p.path)
}

func (p *folderPath) look() error {
	var st unix.Stat_t
	err := p.stat(p.path, &st)
	for errors.Is(err, unix.EINTR) {
		err = p.stat(p.path, &st)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("%w: the folder %s is gone; put it back or start permd again", ErrGone, p.path)
	case err != nil:
		return fmt.Errorf("%w: looking at %s: %w", ErrGone, p.path, err)
	case p.dev != uint64(st.Dev) || p.ino != uint64(st.Ino): //nolint:unconvert // the types differ between systems
		return fmt.Errorf("%w: another folder has the path %s; put the first one back or start permd again", ErrGone, p.path)
	}
	return nil
}
