package gateway

import (
	"sync"
	"time"
)

// Bounds of what is kept of calls by their ids.
const (
	maxCalls   = 16384
	maxAnswers = 32 << 20 // bytes of their answers
)

// record is what became of the call with an id.
type record struct {
	sum  [32]byte
	turn chan struct{} // holds one while a request about the call is handled

	// These are used by whoever has the turn.
	id      string
	sent    bool      // the upstream may have it: it is never sent again
	cleared time.Time // permd has let it run until then, and it was not sent
	person  bool      // a person has let it run, not only rules
	first   string    // the digest of the tool that permd was asked about first
	tool    string    // with which it was cleared: id and digest

	answer *response // of a call that was sent; guarded by records.mu
	users  int       // requests about it; guarded by records.mu
}

// records are the calls by id, the oldest first.
type records struct {
	mu    sync.Mutex
	by    map[string]*record
	order []string
	bytes int
}

// recordOf returns the record of a call. other is set if its id stands for another call; full
// if all that is kept is in use. Otherwise leave must follow.
func (r *records) recordOf(id string, sum [32]byte) (found *record, other, full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found = r.by[id]; found != nil {
		if found.sum != sum {
			return nil, true, false
		}
		found.users++
		return found, false, false
	}
	if len(r.order) >= maxCalls {
		oldest := r.by[r.order[0]]
		if oldest.users > 0 {
			return nil, false, true
		}
		r.forgetAnswer(oldest)
		delete(r.by, r.order[0])
		r.order = r.order[1:]
	}
	found = &record{id: id, sum: sum, turn: make(chan struct{}, 1), users: 1}
	r.by[id] = found
	r.order = append(r.order, id)
	return found, false, false
}

func (r *records) leave(c *record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.users--
}

// finish keeps the answer of a call. The oldest answers are dropped for it: their calls
// stay known.
func (r *records) finish(c *record, answer *response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.answer = answer
	r.bytes += len(answer.body)
	for i := 0; r.bytes > maxAnswers && i < len(r.order); i++ {
		if o := r.by[r.order[i]]; o != c {
			r.forgetAnswer(o)
		}
	}
}

func (r *records) forgetAnswer(c *record) {
	if c.answer != nil {
		r.bytes -= len(c.answer.body)
		c.answer = nil
	}
}

// sizeOf returns how many bytes the answer of a call has that is kept.
func (r *records) sizeOf(c *record) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.answer == nil {
		return 0
	}
	return len(c.answer.body)
}

func (r *records) answerOf(c *record) *response {
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.answer
}
