package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/socket"
)

// TestEndInTime runs on a false clock: whatever hangs, the daemon ends within five
// seconds of the signal, and without an error.
func TestEndInTime(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name string
		run  func(ctx context.Context, hang <-chan struct{}) error
		err  error
		took time.Duration
		late int32
	}{
		{"ends at once", func(ctx context.Context, _ <-chan struct{}) error { <-ctx.Done(); return nil }, nil, 0, 0},
		{"ends in time", func(ctx context.Context, _ <-chan struct{}) error {
			<-ctx.Done()
			time.Sleep(4 * time.Second)
			return nil
		}, nil, 4 * time.Second, 0},
		{"was cancelled", func(ctx context.Context, _ <-chan struct{}) error {
			<-ctx.Done()
			return fmt.Errorf("starting: %w", ctx.Err())
		}, nil, 0, 0},
		{"fails", func(ctx context.Context, _ <-chan struct{}) error { <-ctx.Done(); return broken }, broken, 0, 0},
		{"hangs", func(_ context.Context, hang <-chan struct{}) error { <-hang; return broken }, nil, stopWithin, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, cancel)
				begun := time.Now()
				var late atomic.Int32
				err := endInTime(ctx, func() error { return tt.run(ctx, hang) }, func() { late.Add(1) })
				if took := time.Since(begun) - time.Minute; !errors.Is(err, tt.err) || took != tt.took || late.Load() != tt.late {
					t.Errorf("ended with %v after %v, late %d times; want %v, %v, %d", err, took, late.Load(), tt.err, tt.took, tt.late)
				}
				close(hang)
			})
		})
	}
}

func TestEndInTimeHungLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun := time.Now()
		err := endInTime(ctx, func() error { <-hang; return nil }, func() { <-hang })
		if took := time.Since(begun); err != nil || took > 5*time.Second {
			t.Errorf("ended with %v after %v", err, took)
		}
		close(hang)
	})
}

// TestEndsBeforeStop: an error that is not of the signal stays one.
func TestEndsBeforeStop(t *testing.T) {
	broken := errors.New("broken")
	for _, want := range []error{nil, broken, context.Canceled} {
		if err := endInTime(t.Context(), func() error { return want }, t.FailNow); !errors.Is(err, want) {
			t.Errorf("ended with %v, want %v", err, want)
		}
	}
}

func TestServersEnded(t *testing.T) {
	broken := errors.New("broken")
	var s servers
	s.ended(nil)
	s.ended(fmt.Errorf("decisions: %w", socket.ErrStuck))
	if err := s.err(); err != nil {
		t.Errorf("a request that goes on: %v", err)
	}
	s.ended(broken)
	if err := s.err(); !errors.Is(err, broken) {
		t.Errorf("a server that failed: %v", err)
	}
}
