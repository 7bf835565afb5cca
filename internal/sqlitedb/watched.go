package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/lockfile"
)

// ErrGone means that a file of the open database was removed, replaced or truncated.
// SQLite does not notice that: it continues with the open file, and what it writes there
// is lost when the process ends.
var ErrGone = errors.New("the database is no longer in its place")

// InUseError means that another process is writing to the database.
type InUseError struct {
	Path string
	Held *lockfile.Held
}

// Error names the process.
func (e *InUseError) Error() string {
	text := "another permd uses " + e.Path
	if who := e.Held.Holder(); who != "" {
		text += " (" + who + ")"
	}
	return text
}

// Unwrap returns who holds the lock.
func (e *InUseError) Unwrap() error { return e.Held }

// Hint returns advice for the user.
func (e *InUseError) Hint() string {
	if e.Held.PID == 0 {
		return "stop the other one first"
	}
	return fmt.Sprintf("stop it first (kill %d)", e.Held.PID)
}

// lockDatabase prevents other processes from writing: each of them keeps state in RAM
// that would no longer match the file. The folder must exist.
func lockDatabase(path string) (*lockfile.Lock, error) {
	l, err := lockfile.Take(path + ".lock")
	if held, ok := errors.AsType[*lockfile.Held](err); ok {
		return nil, &InUseError{Path: path, Held: held}
	}
	return l, err
}

// watchedFiles identifies the files of an open database, to detect when they are
// replaced.
type watchedFiles struct {
	folder  *os.File
	fd      int          // of folder
	at      folderPath   // of the folder
	changed atomic.Int64 // the folder's change time at which all was found in place, in nanoseconds since 1970; 0 for none

	mu         sync.Mutex     // guards the fields below
	files      [2]watchedFile // the database and its write-ahead log
	truncated  bool
	truncating int // callers of whileTruncating
}

type watchedFile struct {
	name     string
	dev, ino uint64
	size     int64 // the largest seen
	floor    int64 // down to which it may shrink at present; 0 for not at all
}

func watchFiles(path string) (*watchedFiles, error) {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("opening database folder: %w", err)
	}
	base := filepath.Base(path)
	p := &watchedFiles{folder: folder, fd: int(folder.Fd())}
	p.files[0].name, p.files[1].name = base, base+"-wal"
	if err := errors.Join(p.at.init(folder), p.check(lookLimit)); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return p, nil
}

// check compares both files, by name in the opened folder, with those that were opened,
// and the folder with the one that has its path. It takes a few microseconds, and at most
// limit where the path is on a file system that does not answer. Both files only grow
// while the database is open. If one was truncated, check fails from then on, because its
// contents are lost.
func (p *watchedFiles) check(limit time.Duration) (err error) {
	defer func() {
		if err != nil {
			p.changed.Store(0)
		}
	}()
	if err := p.at.check(limit); err != nil {
		return err
	}
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
		case i == 1 && p.truncating > 0:
			continue
		case st.Size < f.size && (f.floor == 0 || st.Size < f.floor):
			p.truncated = true
			return fmt.Errorf("%w: %s was cut; start permd again", ErrGone, f.name)
		}
		f.size = st.Size
	}
	return nil
}

// ctimeGranularity is how much later than a change a folder must be read to be sure to
// see it: the kernel's clock for files ticks up to 10 ms apart.
const ctimeGranularity = 50 * time.Millisecond

// quick is check, but for a system call that takes less than a microsecond while no
// name in the folder has changed, nor its own, since check last succeeded. It does not notice that a parent was renamed
// or something was mounted over it.
func (p *watchedFiles) quick() error {
	now := time.Now()
	var st unix.Stat_t
	if err := unix.Fstat(p.fd, &st); err != nil {
		return fmt.Errorf("%w: looking at its folder: %w", ErrGone, err)
	}
	changed := time.Unix(st.Ctim.Unix())
	if p.changed.Load() == changed.UnixNano() {
		return nil
	}
	if err := p.check(quickLookLimit); err != nil {
		return err
	}
	if now.Sub(changed).Abs() > ctimeGranularity {
		p.changed.Store(changed.UnixNano())
	}
	return nil
}

// whileTruncating runs a function that truncates the log intentionally. It takes as long
// as the disk, and check does not wait for it.
func (p *watchedFiles) whileTruncating(f func() error) error {
	p.mu.Lock()
	p.truncating++
	p.mu.Unlock()
	err := f()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.truncating--
	p.files[1].size = 0
	return err
}

func (p *watchedFiles) close() error { return p.folder.Close() }
