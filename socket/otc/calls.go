package otc

import (
	"sync"
	"sync/atomic"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// maxCalls is how many calls of one connection are kept by id. Above it the oldest is
// dropped: if it is repeated, it is decided again.
const maxCalls = 1024

// maxCallBytes bounds the estimated size of these calls. There is less for them if other
// connections need the memory.
const maxCallBytes = 8 << 20

// calls are the calls of one connection by id. The first message with an id determines
// its call. The index is used on the connection's reading goroutine only.
type calls struct {
	entries map[callKey]*callEntry
	order   []callKey // the oldest first
	size    int

	reserved int                           // of the connection's memory
	resize   func(reserved, size int) bool // see socket.Conn.Resize; nil for no bound
}

type callKey struct{ session, id string }

// callEntry is one call that was asked about.
type callEntry struct {
	sum  sum
	size int // as counted in calls.size

	mu       sync.Mutex
	decision *decisions.Decision // nil before it is decided

	answer atomic.Pointer[personsAnswer] // nil if nobody has answered
}

// personsAnswer is what a person said to the question about a call, for that call alone.
// What is remembered is none: memory decides the repetitions of its call.
type personsAnswer struct {
	verdict  decisions.Verdict
	decision *decisions.Decision // the question
	request  *decisions.Request  // what it is about, without the input
	// taken is set when the caller has been told that the call may run.
	taken bool
}

type stateKey struct{}

// callsOf returns the calls of a connection. Only to be called from a method.
func callsOf(c *socket.Conn) *calls {
	return c.Value(stateKey{}, func() any {
		s := &calls{entries: map[callKey]*callEntry{}, resize: c.Resize}
		native.StateOf(c).OnEnd(s.end)
		return s
	}).(*calls)
}

// slotOf returns the entry of a call, or makes one; other is set if the id is used for
// another call. A call without an id gets a new entry. size is the estimated size of the
// call's decision.
func (s *calls) slotOf(key callKey, of sum, size int) (found *callEntry, other bool) {
	if key.id == "" {
		return &callEntry{sum: of}, false
	}
	if found = s.entries[key]; found != nil {
		return found, found.sum != of
	}
	found = &callEntry{sum: of, size: size + len(key.session) + len(key.id)}
	s.entries[key] = found
	s.order = append(s.order, key)
	s.size += found.size
	for len(s.order) > 1 && (len(s.order) > maxCalls || s.size > maxCallBytes) || !s.reserveMemory() {
		s.drop(s.order[0])
		s.order[0] = callKey{}
		s.order = s.order[1:]
	}
	return found, false
}

// reserveMemory reserves memory for the calls, and reports whether they may have it.
func (s *calls) reserveMemory() bool {
	if s.resize != nil && !s.resize(s.reserved, s.size) {
		return false
	}
	s.reserved = s.size
	return true
}

func (s *calls) drop(key callKey) {
	s.size -= s.entries[key].size
	delete(s.entries, key)
}

// end forgets the calls of a session that was closed.
func (s *calls) end(session string) {
	var rest []callKey
	for _, key := range s.order {
		if key.session == session {
			s.drop(key)
		} else {
			rest = append(rest, key)
		}
	}
	s.order = rest
	s.reserveMemory()
}
