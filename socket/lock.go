package socket

import (
	"errors"
	"fmt"

	"github.com/permd/permd/internal/lockfile"
)

// lockName is the lock file in a socket's folder.
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

// hintError is an error with advice for the person who reads it.
type hintError struct {
	error
	hint string
}

// Hint is the advice, one line.
func (h hintError) Hint() string { return h.hint }

// Unwrap returns the error itself.
func (h hintError) Unwrap() error { return h.error }

// lock takes the lock file at path for the socket.
func lock(path, socket string) (*lockfile.Lock, error) {
	l, err := lockfile.Take(path)
	if held, ok := errors.AsType[*lockfile.Held](err); ok {
		return nil, &ErrRunning{PID: held.PID, Path: socket}
	}
	return l, err
}
