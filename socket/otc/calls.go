package otc

import (
	"sync"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// maxCalls is how many calls are known by their ids on one connection. Over it the
// oldest are forgotten: the same call is decided again.
const maxCalls = 1024

// maxCallBytes bounds about what is kept of them.
const maxCallBytes = 8 << 20

// calls are those of one connection by their ids. The first message that has an
// id is the first of its calls: the index is only touched on the connection's
// reading goroutine.
type calls struct {
	entries map[callKey]*callEntry
	order   []callKey // the oldest first
	size    int
}

type callKey struct{ session, id string }

// callEntry is one call that was asked about.
type callEntry struct {
	sum  sum
	size int // as it was counted

	mu       sync.Mutex
	decision *decisions.Decision // nil until there is one
}

type stateKey struct{}

// callsOf returns the calls of a connection. Only to be called from a method.
func callsOf(c *socket.Conn) *calls {
	return c.Value(stateKey{}, func() any {
		s := &calls{entries: map[callKey]*callEntry{}}
		native.StateOf(c).OnEnd(s.end)
		return s
	}).(*calls)
}

// slotOf finds the slot of a call, or makes one; other is set when the id is that
// of another call. A call without an id has a slot of its own. size is about what
// the call's decision will hold.
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
	for len(s.order) > 1 && (len(s.order) > maxCalls || s.size > maxCallBytes) {
		s.drop(s.order[0])
		s.order[0] = callKey{}
		s.order = s.order[1:]
	}
	return found, false
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
}
