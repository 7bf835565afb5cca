package socket

import (
	"errors"
	"fmt"

	"github.com/permd/permd/internal/lockfile"
)

// lockName is the name of the lock file in a socket's folder.
const lockName = "permd.lock"

// errRunning is returned by Listen if another process listens at the path.
type errRunning struct {
	pid  int    // of the other process; 0 if it is not known
	path string // of the socket
}

// Error names the process.
func (e *errRunning) Error() string {
	if e.pid == 0 {
		return "permd is already running on " + e.path
	}
	return fmt.Sprintf("permd is already running on %s (pid %d)", e.path, e.pid)
}

// Hint returns advice for the user.
func (e *errRunning) Hint() string {
	if e.pid == 0 {
		return "stop the other one first, or choose another socket"
	}
	return fmt.Sprintf("stop it first (kill %d), or choose another socket", e.pid)
}

// hintError is an error with advice for the user.
type hintError struct {
	error
	hint string
}

// Hint returns the advice, on one line.
func (h hintError) Hint() string { return h.hint }

// Unwrap returns the underlying error.
func (h hintError) Unwrap() error { return h.error }

// lock takes the lock file at path for a socket.
func lock(path, socket string) (*lockfile.Lock, error) {
	l, err := lockfile.Take(path)
	if held, ok := errors.AsType[*lockfile.Held](err); ok {
		return nil, &errRunning{pid: held.PID, path: socket}
	}
	return l, err
}
