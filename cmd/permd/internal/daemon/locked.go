package daemon

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/permd/permd/internal/lockfile"
)

const (
	// lockPatience is how long a start waits for another process to let go of a lock:
	// longer than a daemon takes to stop.
	lockPatience = stopWithin + 1500*time.Millisecond
	lockRetry    = 50 * time.Millisecond
)

// whenFree opens what one process at a time may use. While another one does, which may
// just be stopping, it waits for a while, and says so.
func whenFree[T any](ctx context.Context, log *slog.Logger, open func() (T, error)) (T, error) {
	late := time.NewTimer(lockPatience)
	defer late.Stop()
	for told := false; ; {
		opened, err := open()
		held, ok := errors.AsType[*lockfile.Held](err)
		if !ok {
			return opened, err
		}
		if !told {
			told = true
			log.Info("waiting for another process to end", "holder", held.Holder(), "at_most", lockPatience, "why", err)
		}
		select {
		case <-time.After(lockRetry):
		case <-late.C:
			return opened, err
		case <-ctx.Done():
			return opened, ctx.Err()
		}
	}
}
