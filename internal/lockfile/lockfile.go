// Package lockfile gives one process at a time exclusive use of something: a
// socket's folder, a database. The kernel frees a lock when its process ends
// for any reason; the file names the process, so that a person can find it.
//
// It guards against mistakes, not against the owner of the folder.
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

// Held is returned by Take when another process has the lock.
type Held struct {
	PID int // of the other process; 0 if it is not known
}

// Error names the process.
func (e *Held) Error() string {
	if e.PID == 0 {
		return "locked by another process"
	}
	return fmt.Sprintf("locked by the process with pid %d", e.PID)
}

// unsafeError means that the file at a lock's path is not a lock file, and was
// not touched.
type unsafeError struct {
	path, is string
}

// Error names the path.
func (e *unsafeError) Error() string {
	return fmt.Sprintf("opening lock file: %s is %s", e.path, e.is)
}

// Hint returns what to do.
func (e *unsafeError) Hint() string { return "look at it, then move it away" }

// Lock is a lock that is held.
type Lock struct{ f *os.File }

// Take takes the lock of the file at path, which is made with mode 0600 if it
// is missing, and never removed: a process that has just opened a removed lock
// file would lock nothing. The error is *Held when another has it.
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
	if err := flock(f); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &Held{PID: holder(f)}
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		if err != nil {
			// A full disk: the lock holds all the same, only nameless.
			_ = f.Truncate(0)
		}
	}
	return &Lock{f}, nil
}

// check refuses what is not a file of its own: writing the pid would overwrite
// a file that has a second name elsewhere.
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

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// holder reads the pid of the lock's holder. It tries again for a moment,
// because the holder writes it after it has the lock.
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

// Free empties the file, so that the next holder's pid is not taken for ours,
// and frees the lock. A second call does nothing.
func (l *Lock) Free() error {
	_ = l.f.Truncate(0)
	if err := l.f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("freeing lock file: %w", err)
	}
	return nil
}
