package fairshare

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// client makes requests of one member.
type client struct {
	*Member
	calls atomic.Int64 // that were begun
}

func join(s *Scheduler, uid uint32) *client { return &client{Member: s.Join(uid)} }

// counts returns how many turns are live, hold slots, are open, and wait.
func counts(s *Scheduler) (live, running, open, waiting int) {
	waiting = s.Waiting()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live.len, s.running, s.open, waiting
}

// request decides some calls, each of which takes a time.
func (c *client) request(ctx context.Context, calls int, each time.Duration) error {
	var t Turn
	if err := t.Begin(ctx, c.Member, nil); err != nil {
		return err
	}
	defer t.End()
	for i := 0; i < calls && ctx.Err() == nil; i++ {
		if i > 0 {
			if _, err := t.Yield(ctx); err != nil {
				return err
			}
		}
		c.calls.Add(1)
		time.Sleep(each)
	}
	return nil
}

// TestSmallBesideHogs: however many requests of however many calls others have, one
// more decision of each of them begins before that of a client who comes then. Where
// hogs are of the client's user as well, other users may catch up first.
func TestSmallBesideHogs(t *testing.T) {
	for _, tt := range []struct {
		name string
		uids []uint32 // of the hogs; the client is of 1000
		each time.Duration
	}{
		{"of the same user", []uint32{1000, 1000}, 5 * time.Millisecond},
		{"of another user", []uint32{2000, 2000}, 5 * time.Millisecond},
		{"of both", []uint32{1000, 2000}, 5 * time.Millisecond},
		{"many", []uint32{1000, 1000, 1000, 2000, 2000, 3000, 0, 0}, 5 * time.Millisecond},
		{"with long calls", []uint32{1000, 2000}, time.Second},
		{"with short calls", []uint32{1000, 1000, 2000}, 10 * time.Microsecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := New(Options{Slots: 2, Max: 64, MaxWait: time.Hour})
				var hogs []*client
				for _, uid := range tt.uids {
					hog := join(s, uid)
					hogs = append(hogs, hog)
					for range 64 {
						go func() {
							for ctx.Err() == nil {
								_ = hog.request(ctx, 64, tt.each)
							}
						}()
					}
				}
				small := join(s, 1000)
				for round := range 50 {
					time.Sleep(time.Duration(round)*7*tt.each/3 + time.Microsecond)
					before := make([]int64, len(hogs))
					for i, hog := range hogs {
						before[i] = hog.calls.Load()
					}
					if err := small.request(ctx, 1, 100*time.Microsecond); err != nil {
						t.Fatal(err)
					}
					// The call itself takes a time in which others begin.
					during := int64(100*time.Microsecond/tt.each) + 1
					for i, hog := range hogs {
						most := 1 + during
						if hog.user != small.user && slices.Contains(tt.uids, 1000) {
							most += int64(maxDebt / tt.each)
						}
						if n := hog.calls.Load() - before[i]; n > most {
							t.Errorf("round %d: hog %d began %d calls meanwhile", round, i, n)
						}
					}
				}
				cancel()
				time.Sleep(2 * tt.each)
				if live, running, open, waiting := counts(s); live+running+open+waiting != 0 {
					t.Errorf("%d live, %d running, %d open, %d wait at the end", live, running, open, waiting)
				}
			})
		})
	}
}

// TestShares: users share equally, whatever they have of connections, and connections
// of a user share equally, whatever they have of requests.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := New(Options{Slots: 2, Max: 64, MaxWait: time.Hour})
		type who struct {
			uid      uint32
			requests int
			each     time.Duration
		}
		of := []who{{1, 64, time.Millisecond}, {1, 1, time.Millisecond}, {1, 8, 3 * time.Millisecond}, {2, 5, 2 * time.Millisecond}}
		clients := make([]*client, len(of))
		for i, w := range of {
			clients[i] = join(s, w.uid)
			for range w.requests {
				go func() {
					for ctx.Err() == nil {
						_ = clients[i].request(ctx, 4, w.each)
					}
				}()
			}
		}
		const length = 60 * time.Second
		time.Sleep(length)
		used := make([]time.Duration, len(of))
		for i, w := range of {
			used[i] = time.Duration(clients[i].calls.Load()) * w.each
		}
		cancel()
		time.Sleep(time.Second)
		for i, want := range []time.Duration{length / 3, length / 3, length / 3, length} {
			if d := used[i] - want; d.Abs() > want/20 {
				t.Errorf("client %d had %v of %v, want %v", i, used[i], 2*length, want)
			}
		}
	})
}

// TestIdleEarnsNothing: who was idle is not served ahead of the others for longer than
// for one call, and who has used much is not behind them for long.
func TestIdleEarnsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := New(Options{Slots: 1, Max: 64, MaxWait: time.Hour})
		busy, idle := join(s, 1), join(s, 2)
		go func() { _ = busy.request(ctx, 1<<30, time.Millisecond) }()
		time.Sleep(10 * time.Second)
		go func() { _ = idle.request(ctx, 1<<30, time.Millisecond) }()
		time.Sleep(time.Nanosecond)
		before := busy.calls.Load()
		time.Sleep(time.Second)
		if n := busy.calls.Load() - before; n < 490 {
			t.Errorf("%d calls of the busy one in a second, want half of them", n)
		}
		cancel()
		time.Sleep(time.Second)

		// What it has used while others were slow does not hold it up for long.
		late := join(s, 1)
		late.used, late.user.used = time.Hour, time.Hour
		ctx, cancel = context.WithCancel(t.Context())
		go func() { _ = idle.request(ctx, 1<<30, time.Millisecond) }()
		time.Sleep(time.Second)
		start := time.Now()
		if err := late.request(ctx, 1, time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > maxDebt+5*time.Millisecond {
			t.Errorf("waited for %v", took)
		}
		cancel()
		time.Sleep(time.Second)
	})
}

// TestWaitEnds: a wait ends at once when its request is cancelled or no more are begun,
// and otherwise when it is too long.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Slots: 1, MaxWait: 3 * time.Second})
		m := s.Join(1)
		var holder Turn
		if err := holder.Begin(t.Context(), m, nil); err != nil {
			t.Fatal(err)
		}
		why := errors.New("withdrawn")
		withdrawn, withdraw := context.WithCancelCause(t.Context())
		stop := make(chan struct{})
		for _, tt := range []struct {
			ctx  context.Context
			stop chan struct{}
			end  func()
			took time.Duration
			want error
		}{
			{withdrawn, nil, func() { withdraw(why) }, 0, why},
			{t.Context(), stop, func() { close(stop) }, 0, ErrStopped},
			{t.Context(), nil, func() {}, 3 * time.Second, ErrBusy},
		} {
			start := time.Now()
			ended := make(chan error)
			go func() {
				var turn Turn
				defer turn.End()
				ended <- turn.Begin(tt.ctx, m, tt.stop)
			}()
			synctest.Wait()
			if n := s.Waiting(); n != 1 {
				t.Fatalf("%d wait", n)
			}
			tt.end()
			if err := <-ended; !errors.Is(err, tt.want) || time.Since(start) != tt.took {
				t.Errorf("%v after %v, want %v after %v", err, time.Since(start), tt.want, tt.took)
			}
			if n := s.Waiting(); n != 0 {
				t.Errorf("%d wait still", n)
			}
		}
		holder.End()
		if err := join(s, 1).request(t.Context(), 1, 0); err != nil {
			t.Error(err)
		}
	})
}

// TestPause: a paused turn holds no slot, and needs one to go on.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Slots: 1, Max: 64})
		m := s.Join(1)
		var a, b Turn
		if err := a.Begin(t.Context(), m, nil); err != nil {
			t.Fatal(err)
		}
		a.pause()
		a.pause()
		if err := b.Begin(t.Context(), m, nil); err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Second)
			b.End()
		}()
		if waited, err := a.Resume(t.Context()); err != nil || waited != time.Second {
			t.Errorf("resumed after %v, %v", waited, err)
		}
		a.End()
		if _, err := a.Resume(t.Context()); err != nil || s.live.len != 0 {
			t.Errorf("a turn that has ended: %v, %d live", err, s.live.len)
		}
		var none *Turn
		none.pause()
		if _, err := none.Resume(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := none.Yield(t.Context()); err != nil {
			t.Error(err)
		}
		none.End()
	})
}

// TestBrief: reading goes before the requests of its own member and waits for others, by
// what it has used.
func TestBrief(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := New(Options{Slots: 1, Max: 64, MaxWait: time.Hour})
		reader, other := join(s, 1), join(s, 1)
		for range 64 {
			go func() { _ = reader.request(ctx, 64, time.Millisecond) }()
			go func() { _ = other.request(ctx, 64, time.Millisecond) }()
		}
		time.Sleep(100 * time.Millisecond)
		before, own := other.calls.Load(), reader.calls.Load()
		const reads = 100
		for range reads {
			var turn Turn
			if err := turn.BeginBrief(ctx, reader.Member, nil, time.Millisecond); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			turn.End()
		}
		if n := reader.calls.Load() - own; n > reads/4 { // some begin between two of them
			t.Errorf("%d calls of the reader went before its reading", n)
		}
		if n := other.calls.Load() - before; n < 2*reads-30 || n > 2*reads+30 {
			t.Errorf("%d calls of the other connection, want one for each millisecond of reading", n)
		}
		cancel()
		time.Sleep(time.Second)
	})
}

// TestForget: users without connections are forgotten, at the latest when there are too
// many.
func TestForget(t *testing.T) {
	s := New(Options{Slots: 1, Max: 64})
	for uid := range uint32(1000) {
		c := join(s, uid)
		if err := c.request(t.Context(), 1, 0); err != nil {
			t.Fatal(err)
		}
		c.user.used += time.Hour // ahead of everybody
		c.Leave()
	}
	if n := len(s.users); n > maxIdleUsers+1 {
		t.Errorf("%d users are kept", n)
	}
}
