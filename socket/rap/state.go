package rap

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// state is what is kept of one connection. It may be used from any goroutine.
type state struct {
	asks *native.PendingQuestions

	mu      sync.Mutex
	now     uint64 // counts invocations
	threads map[string]*thread
	// seen are the newest ids with what they were used for, the oldest first in order.
	seen  map[callID][sha256.Size]byte
	order []callID
	// open are the calls that are decided or wait for the person, the oldest first.
	open []*call
}

// thread is a conversation that calls came from.
type thread struct {
	id, parent string // "" for a root
	// above is the sum of all threads above it, as they were said first: a parent
	// that was closed, or forgotten, may come again below others.
	above [sha256.Size]byte
	used  uint64
	// kept is set once an answer may be remembered for it. Then it is forgotten last,
	// or another thread, or a session, of its id could have what it was given.
	kept bool
	// closed is set for good once the thread is closed or forgotten: nothing is
	// stored for it any more.
	closed bool
}

// callID names a call: ids are those of their thread.
type callID struct{ thread, id string }

// call is one that is decided, or waits for the person.
type call struct {
	callID
	session  string
	withdraw context.CancelCauseFunc // nil before it is decided
	// question is set once the person is asked.
	question *question
	gone     bool // cancelled
}

type stateKey struct{}

// stateOf returns the state of a connection. Only to be called from a method.
func stateOf(c *socket.Conn) *state {
	return c.Value(stateKey{}, func() any {
		own := native.StateOf(c)
		s := &state{asks: &own.Questions, threads: map[string]*thread{}, seen: map[callID][sha256.Size]byte{}}
		own.OnEnd(s.endSession)
		own.OnCancel(s.endSession)
		own.OnIDInUse(s.knows)
		return s
	}).(*state)
}

// lineage is the thread of a call with those above it.
type lineage struct {
	chain []*thread // the root first
	// above are the ids of all threads that the call's own was said to be below,
	// the nearest first.
	above []string
	// contrary is set when it was said to be below others before.
	contrary bool
}

// enter takes note of a chain of threads. The first that is said about a thread
// counts: should it be said to be elsewhere later, it is below both.
func (s *state) enter(chain []string) lineage {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
	var l lineage
	for _, id := range slices.Backward(chain[:len(chain)-1]) {
		l.above = append(l.above, id)
	}
	parent, above := "", [sha256.Size]byte{}
	for _, id := range chain {
		t := s.threads[id]
		if t == nil {
			t = &thread{id: id, parent: parent, above: above}
			s.threads[id] = t
		}
		t.used = s.now
		if t.above != above {
			l.contrary = true
			s.climb(t.parent, chain[len(chain)-1], &l.above)
		}
		l.chain = append(l.chain, t)
		parent, above = id, sha256.Sum256(append(above[:], id...))
	}
	s.forgetThreads()
	return l
}

// climb adds a thread with those above it, up to one that is there already. A
// call whose threads were said to be elsewhere is asked about, so not all of them
// are needed.
func (s *state) climb(id, own string, above *[]string) {
	for range maxAncestors {
		if id == "" || slices.Contains(*above, id) || len(*above) >= maxAbove {
			return
		}
		if id != own {
			*above = append(*above, id)
		}
		t := s.threads[id]
		if t == nil {
			return
		}
		id = t.parent
	}
}

// forgetThreads keeps the number of threads bounded.
func (s *state) forgetThreads() {
	for len(s.threads) > maxThreads {
		var oldest *thread
		for _, t := range s.threads {
			if t.used == s.now || t.kept && len(s.threads) <= 4*maxThreads {
				continue
			}
			if oldest == nil || t.used < oldest.used {
				oldest = t
			}
		}
		if oldest == nil {
			return
		}
		oldest.closed = true
		delete(s.threads, oldest.id)
	}
}

// begin takes note of a call. other is true when its id was used for another call.
func (s *state) begin(c *call, sum [sha256.Size]byte) (other bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.seen[c.callID]
	if !known {
		s.seen[c.callID] = sum
		if s.order = append(s.order, c.callID); len(s.order) > maxCalls {
			delete(s.seen, s.order[0])
			s.order = s.order[1:]
		}
	}
	for _, o := range s.open {
		if o.callID == c.callID && o.question != nil {
			s.asks.Remove(o.question.id) // it is asked again
		}
	}
	s.open = slices.DeleteFunc(s.open, func(o *call) bool { return o.callID == c.callID && o.question != nil })
	if s.open = append(s.open, c); len(s.open) > maxCalls {
		if q := s.open[0].question; q != nil {
			s.asks.Remove(q.id)
		}
		s.open = slices.Delete(s.open, 0, 1)
	}
	return known && before != sum
}

// start takes note that a call is about to be decided; false means that it was
// cancelled before.
func (s *state) start(c *call, withdraw context.CancelCauseFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.withdraw = withdraw
	return !c.gone
}

// end takes note that a call is decided. With a question it waits for the person;
// false means that it was cancelled meanwhile.
func (s *state) end(c *call, q *question, ask *native.PendingQuestion) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.gone {
		return false
	}
	if q == nil {
		s.drop(func(o *call) bool { return o == c })
		return true
	}
	c.question = q
	s.asks.Add(ask)
	return true
}

// cancel withdraws calls, and reports whether one of them waited.
func (s *state) cancel(which func(*call) bool) (waited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drop(func(c *call) bool {
		if !which(c) {
			return false
		}
		c.gone = true
		if c.withdraw != nil {
			c.withdraw(socket.ErrWithdrawn)
		}
		return true
	})
}

// drop forgets calls with their questions, and reports whether one of them waited.
func (s *state) drop(which func(*call) bool) (waited bool) {
	s.open = slices.DeleteFunc(s.open, func(c *call) bool {
		if !which(c) {
			return false
		}
		waited = waited || c.question == nil
		if c.question != nil && s.asks.Remove(c.question.id) {
			waited = true
		}
		return true
	})
	return waited
}

// close ends a thread, and reports whether it was known.
func (s *state) close(id string) bool {
	s.cancel(func(c *call) bool { return c.thread == id })
	s.mu.Lock()
	defer s.mu.Unlock()
	for seen := range s.seen {
		if seen.thread == id {
			delete(s.seen, seen)
		}
	}
	s.order = slices.DeleteFunc(s.order, func(c callID) bool { return c.thread == id })
	t := s.threads[id]
	if t == nil {
		return false
	}
	t.closed = true
	delete(s.threads, id)
	return true
}

// endSession withdraws the calls of a session that was closed.
func (s *state) endSession(id string) {
	s.cancel(func(c *call) bool { return c.session == id })
}

// waiting returns the question of a decision, nil if there is none.
func (s *state) waiting(decision string) *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open {
		if c.question != nil && c.question.id == decision {
			return c.question
		}
	}
	return nil
}

// knows reports whether a thread of that id is known.
func (s *state) knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.threads[id] != nil
}

// keep takes note that an answer may be remembered for a thread.
func (s *state) keep(t *thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.kept = true
}

// isClosed reports whether a thread was closed.
func (s *state) isClosed(t *thread) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.closed
}

// ref is where a call comes from, as rules and memory may know it.
func (l *lineage) ref(c *socket.Conn, ses *decisions.Session) decisions.SessionRef {
	own := l.chain[len(l.chain)-1].id
	r := decisions.SessionRef{Conn: c.ID, ID: own, Ancestors: l.above}
	if ses == nil {
		return r
	}
	r.Mode = ses.Mode
	for _, id := range append([]string{ses.ID}, ses.Ancestors...) {
		if id != own && !slices.Contains(r.Ancestors, id) {
			r.Ancestors = append(r.Ancestors, id)
		}
	}
	return r
}

// answered forgets the call of a question that was answered.
func (s *state) answered(q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(c *call) bool { return c.question == q })
}
