package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/permd/permd/socket"
)

// How long the daemon takes to stop: in the usual case a moment, and never more than
// stopWithin, whatever hangs. A system call that hangs cannot be ended, so what has not
// returned by then ends with the process. That is safe at any time: it is what kill -9
// does, and every answer was stored before it was sent.
const (
	// stopGrace is how long requests in flight may take; then they are answered with
	// an error.
	stopGrace = 2 * time.Second
	// stopServing is when the databases are closed at the latest, even if a request or
	// a reload has not ended. They refuse what comes later.
	stopServing = 3500 * time.Millisecond
	// stopWithin is when the daemon ends at the latest.
	stopWithin = 4500 * time.Millisecond
	// stopLog is how long writing the last line of the log may take: standard error may
	// be a pipe that nobody reads.
	stopLog = 100 * time.Millisecond
)

// endInTime returns the error of run, or nil stopWithin after ctx was cancelled, after a
// call of late. That run was cancelled is no error.
func endInTime(ctx context.Context, run func() error, late func()) error {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(stopWithin):
			within(stopLog, late)
			return nil
		}
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// within calls f in another goroutine and reports whether it has returned in time.
func within(limit time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// servers collects how the servers of the sockets have ended.
type servers struct {
	mu  sync.Mutex
	all []error
}

func (s *servers) ended(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, err)
}

// err returns the errors of those that have ended. That a request goes on is none: the
// process ends, and the request with it.
func (s *servers) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, err := range s.all {
		if !errors.Is(err, socket.ErrStuck) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
