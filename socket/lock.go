package socket

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockName is the lock file in a socket's folder. It is never removed: a
// process that has just opened a removed lock file would lock nothing.
const lockName = "permd.lock"

// ErrRunning is returned by Listen when another process listens at the path
// already.
type ErrRunning struct {
	PID  int    // of the other process; 0 if it is not known
	Path string // of the socket
}

// Error names the process.
func (e *ErrRunning) Error() string {
	if e.PID == 0 {
		return "permd is already running on " + e.Path
	}
	return fmt.Sprintf("permd is already running on %s (pid %d)", e.Path, e.PID)
}

// Hint says what to do.
func (e *ErrRunning) Hint() string {
	if e.PID == 0 {
		return "stop the other one first, or choose another socket"
	}
	return fmt.Sprintf("stop it first (kill %d), or choose another socket", e.PID)
}

// hinted is an error with advice for the person who reads it.
type hinted struct {
	error
	hint string
}

// Hint is the advice, one line.
func (h hinted) Hint() string { return h.hint }

// Unwrap returns the error itself.
func (h hinted) Unwrap() error { return h.error }

// lock takes the lock file at path for the socket. The kernel frees it when the
// process ends, in whatever way.
func lock(path, socket string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, hinted{fmt.Errorf("opening lock file: %s is a symbolic link", path), "look at what it points to, then remove it"}
	}
	if err != nil {
		return nil, fmt.Errorf("opening lock file: %w", err)
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		f.Close()
		return nil, hinted{fmt.Errorf("opening lock file: %s is not a regular file", path), "look at it, then remove it"}
	}
	if err := flock(f); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &ErrRunning{PID: holder(f), Path: socket}
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
	return f, nil
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

// unlock empties the file, so that the next holder's pid is not taken for
// ours, and frees the lock.
func unlock(f *os.File) error {
	_ = f.Truncate(0)
	return f.Close()
}
