package evaltime

import "sync"

// Handover hands over results from a goroutine that may never end to one that must not
// wait for ever.
type Handover[T any] struct {
	results chan T

	mu        sync.Mutex
	abandoned bool
}

// NewHandover returns a handover of at most n results.
func NewHandover[T any](n int) *Handover[T] { return &Handover[T]{results: make(chan T, n)} }

// Give hands over a result. It returns false if nobody waits any more: Abandon was called
// while this result was computed.
func (h *Handover[T]) Give(r T) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.abandoned {
		h.results <- r
	}
	return !h.abandoned
}

// Results receives what is handed over.
func (h *Handover[T]) Results() <-chan T { return h.results }

// Abandon says that nobody waits for the next result, and calls left before a Give can
// return false. If the result is there at this moment, it returns that instead.
func (h *Handover[T]) Abandon(left func()) (r T, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case r = <-h.results:
		return r, true
	default:
	}
	h.abandoned = true
	left()
	return r, false
}
