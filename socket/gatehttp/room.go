package gatehttp

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Bounds of the answers that a gateway holds at a time.
const (
	// roomBytes is for the part of answers that is longer than freeBytes.
	roomBytes = 64 << 20
	// firstBytes of these are for one answer that has waited, so that there is always one that
	// can be read to its end. No answer gets more.
	firstBytes = 24 << 20
	freeBytes  = 128 << 10 // of each answer
	roomWait   = 2 * time.Minute
)

// ErrNoRoom is the error for an answer that there was no room for in time.
var ErrNoRoom = errors.New("too many long answers are held at a time")

// Room is the memory for the answers that a gateway holds at a time, shared among its callers:
// one can have half of what the others leave, so that something is left for the next one, and
// short answers wait for nobody. The zero value is ready for use.
type Room struct {
	working sync.Mutex

	mu      sync.Mutex
	used    int            // by all but first
	by      map[string]int // by the callers, without first
	first   *Held          // the one that firstBytes are for, nil for none
	waiting []*Held        // in their order
}

// Held is what is held of one answer. A nil Held has no bound. It is for one goroutine.
type Held struct {
	by      *Room
	of      string
	size    int           // bytes that are held, with those that it waits for
	counted int           // of these, in by.used or as those of by.first; guarded by by.mu
	wants   int           // bytes that it waits for; guarded by by.mu
	granted chan struct{} // takes one when it has them
}

// Begin begins an answer to a caller. Free must follow.
func (r *Room) Begin(of string) *Held {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]int{}
	}
	return &Held{by: r, of: of, granted: make(chan struct{}, 1)}
}

// Try reports whether so many more bytes can be held at once. If so, they are.
func (h *Held) Try(n int) bool {
	if h == nil {
		return true
	}
	h.by.mu.Lock()
	defer h.by.mu.Unlock()
	more := h.more(n)
	if !h.by.has(h, more) {
		return false
	}
	h.size += n
	h.by.add(h, more)
	return true
}

// Wait waits until so many more bytes can be held, and holds them. For an answer that needs more
// than there ever is for one, the error is ErrNoRoom at once.
func (h *Held) Wait(ctx context.Context, n int) error {
	if h.Try(n) {
		return nil
	}
	r := h.by
	r.mu.Lock()
	more := h.more(n)
	if h.counted+more > firstBytes {
		r.mu.Unlock()
		return ErrNoRoom
	}
	h.wants = more
	r.waiting = append(r.waiting, h)
	r.settle()
	r.mu.Unlock()
	late := time.NewTimer(roomWait)
	defer late.Stop()
	var err error
	select {
	case <-h.granted:
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
		err = ErrNoRoom
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && h.wants > 0 {
		h.wants = 0
		r.waiting = slices.DeleteFunc(r.waiting, func(o *Held) bool { return o == h })
		r.settle()
		return err
	}
	if err != nil {
		<-h.granted // it came at the same time
	}
	h.size += n
	return nil
}

// Shrink gives back all but n bytes of what is held, if it is more than that.
func (h *Held) Shrink(n int) {
	if h == nil || n >= h.size {
		return
	}
	r := h.by
	r.mu.Lock()
	defer r.mu.Unlock()
	n -= h.size
	r.add(h, h.more(n))
	h.size += n
	r.settle()
}

// Free ends the answer.
func (h *Held) Free() { h.Shrink(0) }

// Work calls f, which reads the answer. It does so for one long answer at a time.
func (h *Held) Work(f func()) {
	if h != nil && h.size > freeBytes {
		h.by.working.Lock()
		defer h.by.working.Unlock()
	}
	f()
}

// more returns how many bytes are counted for n more ones.
func (h *Held) more(n int) int { return max(0, h.size+n-freeBytes) - max(0, h.size-freeBytes) }

// has reports whether there is room for n more bytes of h. The caller holds r.mu.
func (r *Room) has(h *Held, n int) bool {
	if r.first == h {
		return n <= 0 || h.counted+n <= firstBytes
	}
	left := roomBytes - firstBytes - r.used
	return n <= 0 || n <= left && r.by[h.of]+n <= (left+r.by[h.of])/2
}

// add counts n more bytes of h. The caller holds r.mu.
func (r *Room) add(h *Held, n int) {
	h.counted += n
	if r.first != h {
		r.count(h, n)
	}
}

// count counts n more bytes among those that are shared. The caller holds r.mu.
func (r *Room) count(h *Held, n int) {
	r.used += n
	if r.by[h.of] += n; r.by[h.of] == 0 {
		delete(r.by, h.of)
	}
}

// settle gives those that wait what there is room for. The caller holds r.mu.
func (r *Room) settle() {
	r.release()
	for i := 0; i < len(r.waiting); i++ {
		h := r.waiting[i]
		if r.has(h, h.wants) {
			r.grant(h)
			r.waiting = slices.Delete(r.waiting, i, i+1)
			i = -1 // there may be room for the first
		} else if r.first == nil && i == len(r.waiting)-1 {
			// Of a caller that has the least, the one that waits the longest.
			r.first = slices.MinFunc(r.waiting, func(a, b *Held) int { return r.by[a.of] - r.by[b.of] })
			r.count(r.first, -r.first.counted)
			i = -1
		}
	}
}

// release counts the first among the others once there is room for it, so that the next one can
// be the first: it may be held for long after it was read. The caller holds r.mu.
func (r *Room) release() {
	h := r.first
	if h == nil || h.wants > 0 {
		return
	}
	r.first = nil
	if r.has(h, h.counted) {
		r.count(h, h.counted)
	} else {
		r.first = h
	}
}

// grant gives h what it waits for. The caller holds r.mu.
func (r *Room) grant(h *Held) {
	r.add(h, h.wants)
	h.wants = 0
	h.granted <- struct{}{}
}
