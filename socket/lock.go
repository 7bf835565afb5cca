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
	held *lockfile.Held
	path string // of the socket
}

// Error names the process.
func (e *errRunning) Error() string {
	text := "permd is already running on " + e.path
	if who := e.held.Holder(); who != "" {
		text += " (" + who + ")"
	}
	return text
}

// Unwrap returns who holds the lock.
func (e *errRunning) Unwrap() error { return e.held }

// Hint returns advice for the user.
func (e *errRunning) Hint() string {
	if e.held.PID == 0 {
		return "stop the other one first, or choose another socket"
	}
	return fmt.Sprintf("stop it first (kill %d), or choose another socket", e.held.PID)
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
		return nil, &errRunning{held: held, path: socket}
	}
	return l, err
}
