package native

import (
	"context"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
)

// What open questions were decided by may change: rules, choices, a pause or a lock. Then they
// are decided again, by goroutines that no request waits for: at most one for each client, which
// has a timer, and a slot like a request of it for each call. A failure leaves the question open.

// Reconsiderer decides the calls of open questions again; decisions.Engine is one.
type Reconsiderer interface {
	// Reconsider returns nil if the person would be shown the same as before, and otherwise what
	// would be decided now, which is not recorded.
	Reconsider(ctx context.Context, req *decisions.Request, asked *decisions.Decision) (*decisions.Decision, error)
	// DecideAgain decides the call of an open question, for the record. No approval is consumed.
	DecideAgain(ctx context.Context, req *decisions.Request, asked *decisions.Decision) *decisions.Decision
}

// Bounds of deciding again.
const (
	// reconsiderDelay is how long further changes are waited for.
	reconsiderDelay = 100 * time.Millisecond
	// reconsiderRest is how many times as long as it took a client's next round waits.
	reconsiderRest = 4
	// A client with a call that could not be decided is tried again after the first of these,
	// later after twice as long each time, up to the last.
	minReconsiderRetry = time.Second
	maxReconsiderRetry = time.Minute
	// maxReconsiderSleep is how long a client is kept for what ends by itself, while it may have
	// gone.
	maxReconsiderSleep = 15 * time.Minute
	// changeSlack is how much earlier than a question a change may have been that the question's
	// decision has not seen: more than deciding takes.
	changeSlack = 10 * time.Second
)

// Reconsideration decides open questions again after changes. Its members must be set before
// Run; before that, and without Run, changes have no effect.
type Reconsideration struct {
	Reconsiderer Reconsiderer
	Waiting      *WaitingQuestions
	Persistent   *PersistentSessions
	// Join has a client's calls wait for their turns, as those of one more connection of the
	// person, until leave is called. turn waits for the next one, and returns what ends it. Nil
	// means that no call needs to wait.
	Join func(uid uint32) (turn func(context.Context) (context.Context, func(), error), leave func())
	// Next is when something ends by itself by which calls of a person are decided, the zero
	// time for never. No request waits for it. May be nil.
	Next func(uid uint32) time.Time

	mu      sync.Mutex
	ctx     context.Context // of Run; nil outside of it
	running sync.WaitGroup
	told    map[uint32]time.Time // when what concerns a person has changed last
	all     time.Time            // when what concerns everybody did
	wake    *time.Timer          // runs when changes are to be passed on; nil for none
	pending map[uint32]bool      // whose changes are to be passed on
	anybody bool                 // those of everybody
	clients map[any]*reconsideredClient
	next    map[uint32]time.Time // of Next, since the last change
}

// reconsideredClient is a client with open questions: a connection, or a tree of sessions.
type reconsideredClient struct {
	uid       uint32
	timer     *time.Timer // of the next round; nil for none
	at        time.Time   // when that is
	running   bool
	due       bool          // something has changed since the round began
	ended     bool          // nothing of it waits any more since then
	notBefore time.Time     // when the next round may be
	retry     time.Duration // after the last failure, 0 for none
}

// Run decides questions again until ctx ends, and returns when nothing is being decided any more.
func (r *Reconsideration) Run(ctx context.Context) {
	r.Waiting.setReconsideration(r)
	r.Persistent.setReconsideration(r)
	r.mu.Lock()
	r.ctx, r.clients = ctx, map[any]*reconsideredClient{}
	r.told, r.pending, r.next = map[uint32]time.Time{}, map[uint32]bool{}, map[uint32]time.Time{}
	r.mu.Unlock()
	<-ctx.Done()
	r.mu.Lock()
	r.ctx = nil
	for _, c := range r.clients {
		if c.timer != nil {
			c.timer.Stop()
		}
	}
	if r.wake != nil {
		r.wake.Stop()
	}
	r.mu.Unlock()
	r.running.Wait()
}

// Tell tells that something has changed by which calls of a person are decided, of everybody if uid
// is nil. It waits for nobody and calls nothing.
func (r *Reconsideration) Tell(uid *uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx == nil {
		return
	}
	now := time.Now()
	if uid == nil {
		r.all, r.anybody = now, true
		clear(r.next)
	} else {
		r.told[*uid], r.pending[*uid] = now, true
		delete(r.next, *uid)
	}
	r.passOnSoon()
}

// passOnSoon has changes passed on. r.mu is held.
func (r *Reconsideration) passOnSoon() {
	if r.wake == nil {
		r.wake = time.AfterFunc(reconsiderDelay, r.passOn)
	}
}

// passOn has the clients that changes concern decided again.
func (r *Reconsideration) passOn() {
	r.mu.Lock()
	r.wake = nil
	concerned, anybody := r.pending, r.anybody
	r.pending, r.anybody = map[uint32]bool{}, false
	r.mu.Unlock()
	for key, uid := range r.open() {
		if anybody || concerned[uid] {
			r.schedule(key, uid, 0)
		}
	}
}

// open returns the clients with questions that can be decided again, and whose they are.
func (r *Reconsideration) open() map[any]uint32 {
	clients := map[any]uint32{}
	r.Waiting.clients(clients)
	r.Persistent.clients(clients)
	return clients
}

// isLate reports whether a question may have been decided before the last change.
func (r *Reconsideration) isLate(uid uint32, asked time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return asked.Add(-changeSlack).Before(r.all) || asked.Add(-changeSlack).Before(r.told[uid])
}

// begun tells of a question that waits from now on, and when it was asked.
func (r *Reconsideration) begun(key any, uid uint32, asked time.Time) {
	if r.isLate(uid, asked) {
		r.schedule(key, uid, 0)
	}
	if r.Next == nil {
		return
	}
	r.mu.Lock()
	next, known := r.next[uid]
	if !known && r.ctx != nil {
		r.pending[uid] = true // who decides again asks for it
		r.passOnSoon()
	}
	r.mu.Unlock()
	if !next.IsZero() {
		r.schedule(key, uid, min(time.Until(next), maxReconsiderSleep))
	}
}

// ended tells that nothing of a client waits any more.
func (r *Reconsideration) ended(key any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.clients[key]
	switch {
	case c == nil:
	case c.running:
		c.ended = true
	default:
		r.rest(key, c)
	}
}

// rest forgets a client that waits for nothing, once its next round may be. r.mu is held.
func (r *Reconsideration) rest(key any, c *reconsideredClient) {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	rest := time.Until(c.notBefore)
	if rest <= 0 {
		delete(r.clients, key)
		return
	}
	time.AfterFunc(rest, func() { r.forget(key, c) })
}

// schedule has the questions of a client decided again after a time. If that is happening, it is
// done once more.
func (r *Reconsideration) schedule(key any, uid uint32, after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx == nil {
		return
	}
	c := r.clients[key]
	if c == nil {
		c = &reconsideredClient{uid: uid}
		r.clients[key] = c
	}
	if c.running {
		c.due, c.ended = c.due || after == 0, false
		return
	}
	r.setTimer(key, c, after)
}

// setTimer sets the timer of a client, which runs no later than it did. r.mu is held.
func (r *Reconsideration) setTimer(key any, c *reconsideredClient, after time.Duration) {
	after = max(after, time.Until(c.notBefore))
	at := time.Now().Add(after)
	if c.timer != nil {
		if !at.Before(c.at) {
			return
		}
		c.timer.Stop()
	}
	c.at = at
	var own *time.Timer
	own = time.AfterFunc(after, func() {
		r.mu.Lock()
		if r.ctx == nil || c.running || c.timer != own {
			r.mu.Unlock()
			return
		}
		c.running, c.due, c.ended, c.timer = true, false, false, nil
		ctx := r.ctx
		r.running.Add(1)
		r.mu.Unlock()
		defer r.running.Done()
		r.round(ctx, key, c)
	})
	c.timer = own
}

// round decides the questions of one client again, one after the other.
func (r *Reconsideration) round(ctx context.Context, key any, c *reconsideredClient) {
	start, failed, open := time.Now(), false, 0
	turn, leave := r.asConnection(c.uid)
	defer leave()
	each := func(one func(ctx context.Context) (known bool)) {
		if ctx.Err() != nil {
			return
		}
		open++
		known := false
		if inTurn, done, err := turn(ctx); err == nil {
			known = one(inTurn)
			done()
		}
		failed = failed || !known
	}
	for _, w := range r.Waiting.of(key) {
		each(func(ctx context.Context) bool { return r.Waiting.reconsider(ctx, r.Reconsiderer, w) })
	}
	if tree, ok := key.(*sessionTree); ok {
		for _, q := range r.Persistent.questionsOf(tree) {
			each(func(ctx context.Context) bool { return r.Persistent.reconsider(ctx, r.Reconsiderer, q) })
		}
	}
	var next time.Time
	if r.Next != nil && open > 0 {
		next = r.Next(c.uid)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Next != nil && open > 0 && !r.all.After(start) && !r.told[c.uid].After(start) {
		r.next[c.uid] = next
	}
	c.running = false
	rest := max(reconsiderDelay, reconsiderRest*time.Since(start))
	c.notBefore = time.Now().Add(rest)
	if c.retry = min(max(2*c.retry, minReconsiderRetry), maxReconsiderRetry); !failed {
		c.retry = 0
	}
	switch {
	case r.ctx == nil:
	case c.ended:
		r.rest(key, c)
	case c.due:
		r.setTimer(key, c, 0)
	case failed:
		r.setTimer(key, c, c.retry)
	case !next.IsZero():
		r.setTimer(key, c, min(time.Until(next), maxReconsiderSleep))
	default:
		r.rest(key, c)
	}
}

// forget forgets a client that waits for nothing.
func (r *Reconsideration) forget(key any, c *reconsideredClient) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients[key] == c && c.timer == nil && !c.running {
		delete(r.clients, key)
	}
}

func (r *Reconsideration) asConnection(uid uint32) (turn func(context.Context) (context.Context, func(), error), leave func()) {
	if r.Join == nil {
		return func(ctx context.Context) (context.Context, func(), error) { return ctx, func() {}, nil }, func() {}
	}
	return r.Join(uid)
}
