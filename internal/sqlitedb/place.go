package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/lockfile"
)

// ErrGone means that a file of the open database was removed, replaced or
// truncated. SQLite does not notice: it continues with its open file, and what
// it writes there is lost when the process ends.
var ErrGone = errors.New("the database is no longer in its place")

// InUseError means that another process writes the database.
type InUseError struct {
	Path string
	PID  int // of the other process; 0 if it is not known
}

// Error names the process.
func (e *InUseError) Error() string {
	if e.PID == 0 {
		return "another permd uses " + e.Path
	}
	return fmt.Sprintf("another permd uses %s (pid %d)", e.Path, e.PID)
}

// Hint returns what to do.
func (e *InUseError) Hint() string {
	if e.PID == 0 {
		return "stop the other one first"
	}
	return fmt.Sprintf("stop it first (kill %d)", e.PID)
}

// lockDatabase keeps other processes from writing: what each of them holds in
// RAM would not be what is in the file. The folder must exist.
func lockDatabase(path string) (*lockfile.Lock, error) {
	l, err := lockfile.Take(path + ".lock")
	if held, ok := errors.AsType[*lockfile.Held](err); ok {
		return nil, &InUseError{Path: path, PID: held.PID}
	}
	return l, err
}

// place remembers the files of an open database, so that it can tell whether
// they are still the ones.
type place struct {
	folder *os.File

	mu        sync.Mutex    // of what follows
	files     [2]placedFile // the database and its write-ahead log
	truncated bool
}

type placedFile struct {
	name     string
	dev, ino uint64
	size     int64 // the largest seen
}

func newPlace(path string) (*place, error) {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("opening database folder: %w", err)
	}
	base := filepath.Base(path)
	p := &place{folder: folder}
	p.files[0].name, p.files[1].name = base, base+"-wal"
	if err := p.check(); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return p, nil
}

// check looks at both files by name, in the folder that was opened: about a
// microsecond. Both only ever grow while the database is open. After a file
// was cut it fails for good, since what was in it is lost.
func (p *place) check() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.truncated {
		return fmt.Errorf("%w: a file of it was cut; start permd again", ErrGone)
	}
	for i := range p.files {
		f := &p.files[i]
		var st unix.Stat_t
		err := unix.Fstatat(int(p.folder.Fd()), f.name, &st, unix.AT_SYMLINK_NOFOLLOW)
		dev, ino := uint64(st.Dev), uint64(st.Ino) //nolint:unconvert // the types differ between systems
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: %s is gone; put it back or start permd again", ErrGone, f.name)
		case err != nil:
			return fmt.Errorf("looking at %s: %w", f.name, err)
		case f.ino == 0:
			f.dev, f.ino = dev, ino
		case f.dev != dev || f.ino != ino:
			return fmt.Errorf("%w: %s is another file; put it back or start permd again", ErrGone, f.name)
		case st.Size < f.size:
			p.truncated = true
			return fmt.Errorf("%w: %s was cut; start permd again", ErrGone, f.name)
		}
		f.size = st.Size
	}
	return nil
}

// whileTruncating runs what cuts the log with a purpose.
func (p *place) whileTruncating(f func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := f()
	p.files[1].size = 0
	return err
}

func (p *place) close() error { return p.folder.Close() }
