package fairshare

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestStuckTurns: turns that neither yield nor end do not hold up others, and not more
// of them go on than may.
func TestStuckTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		const most = 16
		s := New(Options{Slots: 2, Max: most, MaxWait: time.Hour})
		stuck := func(c *client) {
			var turn Turn
			if turn.Begin(ctx, c.Member, nil) == nil {
				c.calls.Add(1)
				<-ctx.Done()
				turn.End()
			}
		}
		var all []*client
		for range 40 {
			c := join(s, 1)
			all = append(all, c)
			for range 5 {
				go stuck(c)
			}
		}
		time.Sleep(10 * time.Second)
		begun := int64(0)
		for _, c := range all {
			n := c.calls.Load()
			if n > 2 { // two at the start, when nobody waited
				t.Errorf("one connection has %d", n)
			}
			begun += n
		}
		if want := int64(2 + (most-2)*3/4); begun != want {
			t.Errorf("%d were begun, want %d", begun, want)
		}
		start := time.Now()
		other := join(s, 2)
		if err := other.request(ctx, 1, time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 2*quantum {
			t.Errorf("another user has waited for %v", took)
		}
		cancel()
		time.Sleep(time.Second)
		if live, running, open, waiting := counts(s); live+running+open+waiting != 0 {
			t.Errorf("%d live, %d running, %d open, %d wait at the end", live, running, open, waiting)
		}
	})
}

// TestPausedTurns: turns that are paused bound how many are begun, of a connection and
// of a user, and hold nobody else up.
func TestPausedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Slots: 2, Max: 22, MaxWait: time.Hour})
		disk := make(chan struct{}) // that all wait for
		pausing := func(m *Member, begun *atomic.Int64) {
			var turn Turn
			defer turn.End()
			if turn.Begin(t.Context(), m, nil) != nil {
				return
			}
			begun.Add(1)
			turn.Await(t.Context(), func() { <-disk })
		}
		var one, others atomic.Int64
		m := s.Join(1)
		for range 64 {
			go pausing(m, &one)
		}
		synctest.Wait()
		if n := one.Load(); n != 2+20/4 {
			t.Errorf("%d of one connection were begun", n)
		}
		for range 64 {
			go pausing(s.Join(1), &others)
		}
		synctest.Wait()
		if n := one.Load() + others.Load(); n != 2+20/4+64 { // each may have one
			t.Errorf("%d of one user were begun", n)
		}
		if err := join(s, 2).request(t.Context(), 10, time.Millisecond); err != nil {
			t.Error(err)
		}
		close(disk)
		synctest.Wait()
		live, _, open, _ := counts(s)
		if n := one.Load() + others.Load(); n != 128 || live+open != 0 {
			t.Errorf("%d were begun, %d live, %d open at the end", n, live, open)
		}
	})
}
