// Package lockfile gives one process at a time exclusive use of something: a socket's
// folder, a database. The kernel releases the lock when its process ends for any reason.
// The file contains the process's id, so that a person can find it.
//
// It protects against mistakes, not against the owner of the folder.
package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Held means that another process holds the lock.
type Held struct {
	PID     int       // of the other process; 0 if it is not known
	Command string    // its program and sub-command; "" if not known
	Since   time.Time // when it was started; zero if not known
}

// Error names the process.
func (e *Held) Error() string {
	if e.PID == 0 {
		return "locked by another process"
	}
	return fmt.Sprintf("locked by another process (%s)", e.Holder())
}

// unsafeError means that the file at a lock's path is not a lock file. It was not
// changed.
type unsafeError struct {
	path, is string
}

// Error names the path.
func (e *unsafeError) Error() string {
	return fmt.Sprintf("opening lock file: %s is %s", e.path, e.is)
}

// Hint returns advice for the user.
func (e *unsafeError) Hint() string { return "look at it, then move it away" }

// Lock is a lock held by this process.
type Lock struct{ f *os.File }

// Take locks the file at path, which is created with mode 0600 if it is missing. It is
// never removed: a process that has just opened a removed lock file would lock nothing.
// The error is *Held if another process holds the lock.
func Take(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, &unsafeError{path, "a symbolic link"}
	}
	if err != nil {
		return nil, fmt.Errorf("opening lock file: %w", err)
	}
	if err := check(f, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			held := &Held{PID: holder(f)}
			held.describe()
			return nil, held
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		if err != nil {
			// The disk is full: the lock is held, only its holder's id is missing.
			_ = f.Truncate(0)
		}
	}
	return &Lock{f}, nil
}

// check returns an error unless f is a regular file with a single name:
// writing the pid to another file would overwrite its contents.
func check(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("looking at lock file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return &unsafeError{path, "not a regular file"}
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		return &unsafeError{path, "a file that has another name as well"}
	}
	return nil
}

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// holder reads the id of the process that holds the lock. It retries briefly, because
// the holder writes its id after it has locked the file.
func holder(f *os.File) int {
	for range 10 {
		var b [32]byte
		n, _ := f.ReadAt(b[:], 0)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n]))); err == nil && pid > 0 {
			return pid
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0
}

// Free releases the lock. It empties the file first, so that the next holder's id is not
// taken for this one's. A second call does nothing.
func (l *Lock) Free() error {
	_ = l.f.Truncate(0)
	// Closing alone would not release it while a child that was just forked has the
	// descriptor too, which is until that child executes its program.
	_ = flock(l.f, unix.LOCK_UN)
	if err := l.f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("freeing lock file: %w", err)
	}
	return nil
}

// Is reports whether the file at path is the one that is locked.
func (l *Lock) Is(path string) bool {
	own, err := l.f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(own, there)
}
