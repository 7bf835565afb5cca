package fairshare

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWork: of requests that use much memory few are begun at a time, of a member, a user
// and of all. Small ones, and the first one of each member, need not wait for them.
func TestWork(t *testing.T) {
	const work = 1000
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Slots: 2, Max: 1 << 10, Work: work, MaxWait: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		begin := func(m *Member, work int, begun *atomic.Int64) {
			turn := Turn{Work: work}
			defer turn.End()
			if turn.Begin(ctx, m, nil) != nil {
				return
			}
			begun.Add(1)
			turn.Await(ctx, func() { <-ctx.Done() }) // it has begun, and uses no processor
		}
		wait := func() { time.Sleep(time.Second); synctest.Wait() }
		var large, small, huge, others, another atomic.Int64
		one := s.Join(1)
		for range 20 {
			go begin(one, work/10, &large)
		}
		wait()
		if n := large.Load(); n != 2 { // a quarter
			t.Errorf("%d of one member were begun", n)
		}
		for range 20 {
			go begin(s.Join(1), work/10, &others)
		}
		wait()
		if n := others.Load(); n != 20 {
			t.Errorf("%d members of 20 have one", n)
		}
		two := s.Join(1)
		for range 3 {
			go begin(two, 1, &small)
		}
		wait()
		if n := small.Load(); n != 1 { // the user has more than it may
			t.Errorf("%d small ones of a user with large ones were begun", n)
		}
		for range 3 {
			go begin(s.Join(2), 10*work, &huge)
		}
		wait()
		if n := huge.Load(); n != 3 {
			t.Errorf("%d huge ones of another user's members were begun, one each", n)
		}
		cancel()
		wait()
		if s.work != 0 || one.work != 0 || one.user.work != 0 {
			t.Errorf("%d bytes, %d of the member, %d of the user are left", s.work, one.work, one.user.work)
		}
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		for range 20 {
			go begin(one, 1, &another)
		}
		wait()
		if n := another.Load(); n != 20 {
			t.Errorf("%d of 20 small ones were begun", n)
		}
		cancel()
		wait()
	})
}
