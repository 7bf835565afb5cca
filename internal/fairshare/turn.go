package fairshare

import (
	"context"
	"runtime"
	"time"
)

// The states of a turn.
type state uint8

const (
	stopped state = iota // not begun, paused, or ended
	waiting
	running
	overdue // it has lost its slot and goes on
)

// Turn is one request's right to compute. The zero value is not begun; a nil Turn is one
// that needs no slot. Its methods must be called by one goroutine at a time.
type Turn struct {
	// Work is about how many bytes the request uses while it is under way, besides those
	// that it reserves. It must not change once the turn was begun.
	Work int

	member *Member
	stop   <-chan struct{}
	begun  bool          // it has had a slot
	brief  bool          // see BeginBrief
	before time.Duration // that was used before it had a slot
	done   bool          // End was called
	ready  chan struct{} // receives a value when the turn is granted; made when it first waits

	waited  time.Duration // for slots, in all
	failed  error         // of the first wait that has ended without a slot
	bytes   int           // reserved until the end
	refused bool          // more could not be reserved

	// Guarded by Scheduler.mu.
	state      state
	parked     bool      // its goroutine waits for ready
	open       bool      // it was begun and has not ended
	began      time.Time // when it got the slot; its own goroutine reads it without the lock
	charged    time.Time // up to when its time is counted
	prev, next *Turn     // in the list of its state
}

// Begin waits until the turn has a slot. The error is the cause of ctx, ErrBusy after
// too long a wait, or ErrStopped when stop is closed; then the turn has ended. stop may be
// nil.
func (t *Turn) Begin(ctx context.Context, m *Member, stop <-chan struct{}) error {
	t.member, t.stop = m, stop
	_, err := t.Resume(ctx)
	t.begun, t.stop = err == nil, nil // what has begun is finished
	if err != nil {
		t.End() // it may have had a slot at the same moment
	}
	return err
}

// BeginBrief is Begin for work between requests, such as reading them, which does not
// count as begun and goes before the requests of its member. It counts as if it had taken
// so much longer. It waits for a quarter of a second at most: all requests of its member
// may be stuck.
func (t *Turn) BeginBrief(ctx context.Context, m *Member, stop <-chan struct{}, before time.Duration) error {
	t.begun, t.brief, t.before = true, true, before
	return t.Begin(ctx, m, stop)
}

// Resume waits until a paused turn has a slot again, and returns for how long it has
// waited. On an error the turn stays paused.
func (t *Turn) Resume(ctx context.Context) (waited time.Duration, err error) {
	switch {
	case t == nil || t.member == nil || t.done:
		return 0, nil
	case t.failed != nil:
		return 0, t.failed
	}
	s, m := t.member.scheduler, t.member
	now := time.Now()
	s.mu.Lock()
	if t.state != stopped {
		s.mu.Unlock()
		return 0, nil
	}
	if s.running < s.slots && len(s.waiting) == 0 && s.may(t) {
		s.wake(m, now)
		s.grant(t, now)
		s.mu.Unlock()
		return 0, nil
	}
	if !t.begun {
		return t.wait(ctx, now, (*list).pushBack)
	}
	return t.wait(ctx, now, (*list).pushFront)
}

// Yield gives the slot to whoever is to be served before the turn, and waits for the
// next one. It returns for how long it has waited. On an error the turn is paused, and
// has no slot any more: each later wait returns the same error.
func (t *Turn) Yield(ctx context.Context) (waited time.Duration, err error) { return t.yield(ctx, 0) }

// YieldLong is Yield for a turn that has held its slot for some milliseconds. It is for
// steps that are too short for a change of slots after each.
func (t *Turn) YieldLong(ctx context.Context) (waited time.Duration, err error) {
	return t.yield(ctx, slice)
}

func (t *Turn) yield(ctx context.Context, least time.Duration) (waited time.Duration, err error) {
	switch {
	case t == nil || t.member == nil || t.done:
		return 0, nil
	case t.failed != nil:
		return 0, t.failed
	case !t.member.scheduler.contended.Load():
		return 0, nil
	}
	// began changes only while the turn waits.
	s, now := t.member.scheduler, time.Now()
	if now.Sub(t.began) < least {
		return 0, nil
	}
	// Goroutines that hand slots to each other keep the processors from those that have
	// something to read, which may be of somebody who is to be served before them.
	runtime.Gosched()
	now = time.Now()
	s.mu.Lock()
	if t.state == stopped || len(s.waiting) == 0 {
		s.mu.Unlock()
		return 0, nil
	}
	s.halt(t, now)
	return t.wait(ctx, now, (*list).pushFront)
}

// pause gives the slot up, for the time of a wait that uses no processor.
func (t *Turn) pause() {
	if t == nil || t.member == nil {
		return
	}
	s, now := t.member.scheduler, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.state != stopped {
		s.halt(t, now)
		s.dispatch(now)
	}
}

// Await pauses the turn while f waits for something. Where no slot can be had after that,
// the turn stays paused.
func (t *Turn) Await(ctx context.Context, f func()) {
	t.pause()
	f()
	_, _ = t.Resume(ctx) // the error comes again from the next step that needs a slot
}

// End ends the turn. It cannot be resumed.
func (t *Turn) End() {
	if t == nil {
		return
	}
	if t.done = true; t.member == nil {
		return
	}
	if t.bytes > 0 {
		t.member.Release(t.bytes)
		t.bytes = 0
	}
	s, now := t.member.scheduler, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.state != stopped {
		s.halt(t, now)
	}
	s.close(t)
	s.dispatch(now)
}

// wait waits for a slot. It is called with the scheduler's lock, and releases it.
func (t *Turn) wait(ctx context.Context, now time.Time, push func(*list, *Turn)) (time.Duration, error) {
	s, m := t.member.scheduler, t.member
	s.enqueue(t, now, push)
	s.dispatch(now)
	if t.state != waiting { // it is its turn again
		s.mu.Unlock()
		return 0, nil
	}
	if t.ready == nil {
		t.ready = make(chan struct{}, 1)
	}
	t.parked = true
	s.mu.Unlock()
	patience := s.maxWait - t.waited
	if t.brief {
		patience = min(patience, briefWait)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	var err error
	select {
	case <-t.ready:
		waited := time.Since(now)
		t.waited += waited
		return waited, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-t.stop:
		err = ErrStopped
	case <-late.C:
		err = ErrBusy
	}
	t.failed = err
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.state == waiting {
		t.parked = false
		s.dequeue(t)
	} else { // it was granted at the same moment
		<-t.ready
		now := time.Now()
		s.halt(t, now)
		s.dispatch(now)
	}
	s.forget(m.user)
	return time.Since(now), err
}

type contextKey struct{}

// Context is a context with a turn. It is a type of its own so that it can be part of
// what a request allocates anyway.
type Context struct {
	context.Context
	Turn *Turn
}

// Value returns the turn, or a value of the parent.
func (c *Context) Value(key any) any {
	if key == (contextKey{}) {
		return c.Turn
	}
	return c.Context.Value(key)
}

// TurnOf returns the turn of a context, nil if it has none.
func TurnOf(ctx context.Context) *Turn {
	t, _ := ctx.Value(contextKey{}).(*Turn)
	return t
}
