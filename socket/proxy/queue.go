package proxy

import "sync"

// queue is what is to be written to one peer, in order. Places in it may be reserved
// until permd has decided.
type queue struct {
	mu           sync.Mutex
	changed      sync.Cond
	items        []*item
	slots        map[uint64]*item
	bytes        int // of forwarded lines
	own          int // of the proxy's own lines
	ended        bool
	peerGone     bool
	unterminated bool // the previous line had no newline
}

type item struct {
	line []byte
	open bool
	own  bool
}

func newQueue() *queue {
	q := &queue{slots: map[uint64]*item{}}
	q.changed.L = &q.mu
	return q
}

// push adds a line without waiting: readers must call waitRoom before they continue.
func (q *queue) push(line []byte, own bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.peerGone {
		return
	}
	q.items = append(q.items, &item{line: line, own: own})
	q.count(line, own, 1)
	q.changed.Broadcast()
}

func (q *queue) count(line []byte, own bool, sign int) {
	if own {
		q.own += sign * len(line)
	} else {
		q.bytes += sign * len(line)
	}
}

// reserve reserves a place.
func (q *queue) reserve(slot uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.peerGone {
		return
	}
	i := &item{open: true}
	q.items = append(q.items, i)
	q.slots[slot] = i
}

// fill fills a place, with nothing if line is nil.
func (q *queue) fill(slot uint64, line []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.slots[slot]
	if i == nil {
		return
	}
	delete(q.slots, slot)
	i.line, i.open = line, false
	q.count(line, false, 1)
	q.changed.Broadcast()
}

// next waits for the next line; false if there is none any more.
func (q *queue) next() ([]byte, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		switch {
		case q.peerGone:
			return nil, false
		case len(q.items) > 0 && !q.items[0].open:
			i := q.items[0]
			q.items[0] = nil
			q.items = q.items[1:]
			q.count(i.line, i.own, -1)
			q.changed.Broadcast()
			if len(i.line) > 0 {
				return q.completeLine(i.line), true
			}
			continue
		case len(q.items) == 0 && q.ended:
			return nil, false
		}
		q.changed.Wait()
	}
}

// completeLine separates a line from a preceding one that was broken off without a
// newline.
func (q *queue) completeLine(line []byte) []byte {
	if q.unterminated {
		line = append([]byte{'\n'}, line...)
	}
	q.unterminated = line[len(line)-1] != '\n'
	return line
}

// Bounds of what waits for a peer that does not read.
const (
	maxQueued = 1 << 20 // bytes; one line may be above it
	maxOwn    = 1 << 20
	maxItems  = 4096
)

// waitRoom waits until more may be forwarded.
func (q *queue) waitRoom() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.peerGone && (q.bytes > maxQueued || len(q.items) > maxItems) {
		q.changed.Wait()
	}
}

// waitDrained waits until the peer has read most of the proxy's own messages.
func (q *queue) waitDrained() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.peerGone && q.own > maxOwn {
		q.changed.Wait()
	}
}

// end marks the end of the queue.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.changed.Broadcast()
}

// kill drops everything: the peer is gone.
func (q *queue) kill() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.peerGone = true
	q.items, q.slots = nil, map[uint64]*item{}
	q.changed.Broadcast()
}
