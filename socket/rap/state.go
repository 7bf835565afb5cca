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

// state holds the threads and calls of one connection. It is safe for concurrent use.
type state struct {
	questions *native.PendingQuestions

	mu      sync.Mutex
	clock   uint64 // counts invocations
	threads map[string]*thread
	// known maps the most recent call ids to what each was used for; order has them
	// oldest first.
	known map[callID]*usedID
	order []callID
	// pending are the calls that are being decided or wait for the person, oldest first.
	pending []*call

	unchecked int                           // bytes of ids since the state's size was looked at
	reserved  int                           // of the connection's memory
	resize    func(reserved, size int) bool // see socket.Conn.Resize; nil for no bound
}

// checkEvery is after how many bytes of ids the size of the state is looked at.
const checkEvery = 32 << 10

// reserveMemory is called with the length of the ids of an invocation, and reports whether
// the connection may have the memory for more.
func (s *state) reserveMemory(ids int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unchecked += ids + 1<<10; s.unchecked < checkEvery {
		return true
	}
	const each = 256 // bytes besides the ids
	size := 0
	for _, t := range s.threads {
		size += each + len(t.id) + len(t.parent)
	}
	for _, id := range s.order {
		size += each + len(id.thread) + len(id.id)
	}
	for _, c := range s.pending {
		size += 2*each + len(c.thread) + len(c.id) + len(c.session)
	}
	if size += checkEvery; s.resize != nil && !s.resize(s.reserved, size) {
		return false
	}
	s.reserved, s.unchecked = size, 0
	return true
}

// thread is a conversation that makes calls.
type thread struct {
	id, parent string // "" for a root
	// ancestorDigest identifies all threads above this one, as the first invocation gave
	// them. The parent alone is not enough: after it was closed or dropped, the same id
	// may appear below other threads.
	ancestorDigest [sha256.Size]byte
	lastUsed       uint64
	// remembering is set once an answer may be remembered for the thread. Such threads
	// are dropped last: a later thread or session with the same id would get what was
	// allowed for this one.
	remembering bool
	// closed is set when the thread is closed or dropped, and stays set: nothing more is
	// stored for it.
	closed bool
}

// callID identifies a call: ids are unique within a thread only.
type callID struct{ thread, id string }

// usedID says what the id of a call was used for.
type usedID struct {
	sum      [sha256.Size]byte
	decision string // id of the newest decision, "" if there is none yet
}

// call is a call that is being decided or waits for the person.
type call struct {
	callID
	session  string
	withdraw context.CancelCauseFunc // nil before deciding starts
	// question is set once the person is being asked.
	question  *question
	cancelled bool // withdrawn by the client
}

type stateKey struct{}

// stateOf returns the state of a connection. It must be called from a method's first
// phase.
func stateOf(c *socket.Conn) *state {
	return c.Value(stateKey{}, func() any {
		own := native.StateOf(c)
		s := &state{resize: c.Resize, questions: &own.Questions, threads: map[string]*thread{}, known: map[callID]*usedID{}}
		own.OnEnd(s.endSession)
		own.OnCancel(s.endSession)
		own.OnIDInUse(s.hasThread)
		return s
	}).(*state)
}

// lineage is the thread of a call and the threads above it.
type lineage struct {
	threads []*thread // the root first
	// ancestors are the ids of all threads that this or earlier invocations put above the
	// call's own, nearest first.
	ancestors []string
	// inconsistent is set if an earlier invocation put one of the threads below others.
	inconsistent bool
}

// addThreads records a chain of threads, the root first. A thread keeps the place that
// its first invocation gave it; if a later one puts it elsewhere, the call counts as
// below both.
func (s *state) addThreads(chain []string) lineage {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	var l lineage
	for _, id := range slices.Backward(chain[:len(chain)-1]) {
		l.ancestors = append(l.ancestors, id)
	}
	parent, above := "", [sha256.Size]byte{}
	for _, id := range chain {
		t := s.threads[id]
		if t == nil {
			t = &thread{id: id, parent: parent, ancestorDigest: above}
			s.threads[id] = t
		}
		t.lastUsed = s.clock
		if t.ancestorDigest != above {
			l.inconsistent = true
			s.addAncestors(t.parent, chain[len(chain)-1], &l.ancestors)
		}
		l.threads = append(l.threads, t)
		parent, above = id, sha256.Sum256(append(above[:], id...))
	}
	s.forgetThreads()
	return l
}

// addAncestors adds a thread and those above it to the list, up to one that is there
// already. It may leave some out: permd asks about every call with inconsistent threads.
func (s *state) addAncestors(id, own string, above *[]string) {
	for range maxAncestors {
		if id == "" || slices.Contains(*above, id) || len(*above) >= maxAllAncestors {
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

// forgetThreads drops the threads used least recently if there are too many.
func (s *state) forgetThreads() {
	for len(s.threads) > maxThreads {
		var oldest *thread
		for _, t := range s.threads {
			if t.lastUsed == s.clock || t.remembering && len(s.threads) <= 4*maxThreads {
				continue
			}
			if oldest == nil || t.lastUsed < oldest.lastUsed {
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

// addCall records a call. reused is true if its id was used for a different call.
func (s *state) addCall(c *call, sum [sha256.Size]byte) (reused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.known[c.callID]
	if before == nil {
		before = &usedID{sum: sum}
		s.known[c.callID] = before
		if s.order = append(s.order, c.callID); len(s.order) > maxCalls {
			delete(s.known, s.order[0])
			s.order = s.order[1:]
		}
	}
	for _, o := range s.pending {
		if o.callID == c.callID && o.question != nil {
			s.questions.Remove(o.question.id) // it is asked again
		}
	}
	s.pending = slices.DeleteFunc(s.pending, func(o *call) bool { return o.callID == c.callID && o.question != nil })
	if s.pending = append(s.pending, c); len(s.pending) > maxCalls {
		if q := s.pending[0].question; q != nil {
			s.questions.Remove(q.id)
		}
		s.pending = slices.Delete(s.pending, 0, 1)
	}
	return before.sum != sum
}

// setDecision records the decision about a call.
func (s *state) setDecision(id callID, decision string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if used := s.known[id]; used != nil {
		used.decision = decision
	}
}

// decisionOf returns the id of the newest decision about a call, "" if there is none, or it
// was long ago.
func (s *state) decisionOf(id callID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if used := s.known[id]; used != nil {
		return used.decision
	}
	return ""
}

// startDeciding marks a call as being decided. It returns false if the call was
// cancelled before.
func (s *state) startDeciding(c *call, withdraw context.CancelCauseFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.withdraw = withdraw
	return !c.cancelled
}

// finishDeciding records that a call was decided, or with a question that it waits for
// the person. It returns false if the call was cancelled meanwhile.
func (s *state) finishDeciding(c *call, q *question, ask *native.PendingQuestion) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.cancelled {
		return false
	}
	if q == nil {
		s.remove(func(o *call) bool { return o == c })
		return true
	}
	c.question = q
	s.questions.Add(ask)
	return true
}

// cancel withdraws calls and reports whether any of them was being decided or waited for
// the person.
func (s *state) cancel(which func(*call) bool) (waited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(func(c *call) bool {
		if !which(c) {
			return false
		}
		c.cancelled = true
		if c.withdraw != nil {
			c.withdraw(socket.ErrWithdrawn)
		}
		return true
	})
}

// remove removes calls with their questions and reports whether any of them was being
// decided or waited for the person.
func (s *state) remove(which func(*call) bool) (waited bool) {
	s.pending = slices.DeleteFunc(s.pending, func(c *call) bool {
		if !which(c) {
			return false
		}
		waited = waited || c.question == nil
		if c.question != nil && s.questions.Remove(c.question.id) {
			waited = true
		}
		return true
	})
	return waited
}

// closeThread ends a thread and reports whether it was known.
func (s *state) closeThread(id string) bool {
	s.cancel(func(c *call) bool { return c.thread == id })
	s.mu.Lock()
	defer s.mu.Unlock()
	for seen := range s.known {
		if seen.thread == id {
			delete(s.known, seen)
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

// endSession withdraws the calls of a session that has ended.
func (s *state) endSession(id string) {
	s.cancel(func(c *call) bool { return c.session == id })
}

// questionFor returns the open question of a decision, nil if there is none.
func (s *state) questionFor(decision string) *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.pending {
		if c.question != nil && c.question.id == decision {
			return c.question
		}
	}
	return nil
}

// hasThread reports whether a thread with that id is known.
func (s *state) hasThread(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.threads[id] != nil
}

// markRemembering records that an answer may be remembered for a thread.
func (s *state) markRemembering(t *thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.remembering = true
}

// isClosed reports whether a thread was closed or dropped.
func (s *state) isClosed(t *thread) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.closed
}

// sessionRef returns the call's origin as rules and memory see it: its thread, with the
// threads and the declared session above it.
func (l *lineage) sessionRef(c *socket.Conn, ses *decisions.Session) decisions.SessionRef {
	own := l.threads[len(l.threads)-1].id
	r := decisions.SessionRef{Conn: c.ID, ID: own, Ancestors: l.ancestors, OneRequest: c.OneRequest}
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

// removeAnswered removes the call whose question was answered.
func (s *state) removeAnswered(q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = slices.DeleteFunc(s.pending, func(c *call) bool { return c.question == q })
}
