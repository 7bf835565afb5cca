package fairshare

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestLongRequestEnds: a request that needs many slices, each of which waits for all the
// others, ends nevertheless: its waits are bounded all together.
func TestLongRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const members, slices, maxWait = 100, 200, 5 * time.Second
		s := New(Options{Slots: 2, Max: 64, MaxWait: maxWait})
		ctx, cancel := context.WithCancel(t.Context())
		for range members {
			c := join(s, 1)
			go func() {
				for ctx.Err() == nil {
					_ = c.request(ctx, 1, slice)
				}
			}()
		}
		time.Sleep(time.Second)
		start := time.Now()
		var turn Turn
		if err := turn.Begin(ctx, s.Join(1), nil); err != nil {
			t.Fatal(err)
		}
		var failed error
		for range slices {
			time.Sleep(slice)
			if _, err := turn.YieldLong(ctx); err != nil {
				failed = err // it goes on without a slot
			}
		}
		turn.End()
		if took := time.Since(start); took > maxWait+slices*slice+quantum {
			t.Errorf("%v for a request of %v", took, slices*slice)
		}
		if !errors.Is(failed, ErrBusy) {
			t.Errorf("it has not waited for too long: %v", failed)
		}
		cancel()
		time.Sleep(time.Second)
	})
}
