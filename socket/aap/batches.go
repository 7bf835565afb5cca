package aap

import (
	"cmp"
	"slices"
	"sync"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// Bounds of the batches kept for one connection. Above them the oldest is
// forgotten, and its client asks again. The newest is kept whatever the size of
// its decisions, unless other connections need the memory; its calls and results have
// their own bounds.
const (
	maxBatches    = 32
	maxBatchBytes = 8 << 20
)

// batches are the batches of one connection. They may be used from any goroutine.
type batches struct {
	mu   sync.Mutex
	list []*batch // the oldest first
	size int      // with lateSize

	late      []*lateQuestion // the oldest first
	lateSize  int
	forgotten []string // questions that are to be closed, see takeForgotten

	reserved int                           // of the connection's memory
	resize   func(reserved, size int) bool // see socket.Conn.Resize; nil for no bound
}

type stateKey struct{}

// batchesOf returns the batches of a connection. Only to be called from a
// method.
func batchesOf(c *socket.Conn) *batches {
	return c.Value(stateKey{}, func() any {
		s := &batches{resize: c.Resize}
		native.StateOf(c).OnEnd(s.end)
		native.StateOf(c).OnCancel(s.endLate)
		return s
	}).(*batches)
}

// add keeps a batch, and reports whether the connection has memory for it.
func (s *batches) add(b *batch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, b)
	s.size += b.size + b.decisionBytes
	s.makeRoom(b)
	return slices.Contains(s.list, b)
}

// supersede compares the calls of a batch with those of the same ids in the other
// batches of its session. The person's approval names only an id, so of two calls with
// one id only the later one can be meant: the earlier is closed. If that one was still
// waiting, the protocol forbids the later one too. If it may run, and no result was shown, the
// server may take the permission for either. results are the ids of which the later turn shows
// results. No batch's lock is held.
func (s *batches) supersede(b *batch, results map[string]bool, asks *native.PendingQuestions) {
	s.mu.Lock()
	list := slices.Clone(s.list)
	s.mu.Unlock()
	var contrary []string
	for _, o := range list {
		if o != b && o.session == b.session {
			o.noteResults(results)
			contrary = append(contrary, o.close(b, asks)...)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range contrary {
		if e := b.entry(id); !e.skip {
			e.whyDenied = cmp.Or(e.whyDenied, whyOther)
		}
	}
}

// noteResults notes of which calls of a session a turn shows results. No batch's lock is held.
func (s *batches) noteResults(ses *decisions.Session, ids map[string]bool) {
	s.mu.Lock()
	list := slices.Clone(s.list)
	s.mu.Unlock()
	for _, b := range list {
		if b.session == ses {
			b.noteResults(ids)
		}
	}
}

// makeRoom forgets the oldest batches, and b only if there is no memory for it alone.
func (s *batches) makeRoom(b *batch) {
	for len(s.late) > 0 && !s.reserveMemory() {
		s.removeOldestLate()
	}
	for i := 0; i < len(s.list) && (len(s.list) > maxBatches || s.size > maxBatchBytes || !s.reserveMemory()); {
		if s.list[i] == b {
			i++
			continue
		}
		s.forget(i)
	}
	if !s.reserveMemory() {
		s.forget(slices.Index(s.list, b))
		s.reserveMemory()
	}
}

// forget forgets the i-th batch.
func (s *batches) forget(i int) {
	s.size -= s.list[i].size + s.list[i].decisionBytes
	s.list = slices.Delete(s.list, i, i+1)
}

// reserveMemory reserves memory for the batches, and reports whether they may have it.
func (s *batches) reserveMemory() bool {
	if s.resize != nil && !s.resize(s.reserved, s.size) {
		return false
	}
	s.reserved = s.size
	return true
}

// find returns the batch with that id, if it was decided in the same declared
// session: a redeclared one may have other folders and another mode.
func (s *batches) find(id string, ses *decisions.Session) *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.list {
		if b.id == id && b.session == ses {
			return b
		}
	}
	return nil
}

// fits reports whether there is room for n bytes of results in a batch.
func (s *batches) fits(b *batch, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.size+n <= maxBatchBytes
}

// grow adds n bytes of results to the size of a batch.
func (s *batches) grow(b *batch, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.size += n
	s.makeRoomAfter(b, n)
}

// updateSize updates the size of a batch's decisions. Its lock is held.
func (s *batches) updateSize(b *batch) {
	n := 0
	for _, e := range b.entries {
		n += sizeOf(e.decision) + sizeOf(e.approvedOnce)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	more := n - b.decisionBytes
	b.decisionBytes = n
	s.makeRoomAfter(b, more)
}

// makeRoomAfter makes room after a batch has grown, unless it was dropped.
func (s *batches) makeRoomAfter(b *batch, n int) {
	if slices.Contains(s.list, b) {
		s.size += n
		s.makeRoom(b)
	}
}

// sizeOf estimates the bytes that a decision uses, without what it shares with the
// rules.
func sizeOf(d *decisions.Decision) int {
	if d == nil {
		return 0
	}
	n := 1 << 10
	for i := range d.Effects {
		e := &d.Effects[i]
		n += 400 + len(e.Text) + len(e.From) + len(e.Reason) + 16*len(e.Tags) + 96*len(e.Rules)
	}
	return n
}

// end drops the batches of a session.
func (s *batches) end(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []*batch
	for _, b := range s.list {
		if b.session.ID == session {
			s.size -= b.size + b.decisionBytes
		} else {
			left = append(left, b)
		}
	}
	s.list = left
	s.removeLate(func(q *lateQuestion) bool { return q.batch.session.ID == session })
	s.reserveMemory()
}
