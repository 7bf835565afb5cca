package proxy

import "sync"

// queue is what is to be written to one peer, in order. Some of it may still be
// open: a place that permd's decision fills.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	items   []*item
	slots   map[uint64]*item
	bytes   int // of lines that are forwarded
	own     int // of lines that are the proxy's
	ended   bool
	dead    bool
	cut     bool // the line before ended without its newline
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

// push adds a line without waiting: readers must ask for room before they
// continue.
func (q *queue) push(line []byte, own bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dead {
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

// hold keeps a place.
func (q *queue) hold(slot uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dead {
		return
	}
	i := &item{open: true}
	q.items = append(q.items, i)
	q.slots[slot] = i
}

// fill fills a place, with nothing where line is nil.
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

// next waits for the next line; false when there is none any more.
func (q *queue) next() ([]byte, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		switch {
		case q.dead:
			return nil, false
		case len(q.items) > 0 && !q.items[0].open:
			i := q.items[0]
			q.items[0] = nil
			q.items = q.items[1:]
			q.count(i.line, i.own, -1)
			q.changed.Broadcast()
			if len(i.line) > 0 {
				return q.whole(i.line), true
			}
			continue
		case len(q.items) == 0 && q.ended:
			return nil, false
		}
		q.changed.Wait()
	}
}

// whole keeps what comes after the last, broken-off line of a peer from
// becoming a part of it.
func (q *queue) whole(line []byte) []byte {
	if q.cut {
		line = append([]byte{'\n'}, line...)
	}
	q.cut = line[len(line)-1] != '\n'
	return line
}

// Bounds of what waits for a peer that does not read.
const (
	maxQueued = 1 << 20 // bytes; one line may be above it
	maxOwn    = 1 << 20
	maxItems  = 4096
)

// room waits until more may be forwarded.
func (q *queue) room() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.dead && (q.bytes > maxQueued || len(q.items) > maxItems) {
		q.changed.Wait()
	}
}

// drained waits until the peer has read most of what the proxy itself said.
func (q *queue) drained() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.dead && q.own > maxOwn {
		q.changed.Wait()
	}
}

// end says that nothing more comes.
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
	q.dead = true
	q.items, q.slots = nil, map[uint64]*item{}
	q.changed.Broadcast()
}
