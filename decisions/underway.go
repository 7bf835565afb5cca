package decisions

import (
	"context"
	"sync"
	"time"
)

// Place is where a request is on its way to its decision.
type Place string

// The places.
const (
	AtSlot    Place = "slot"    // waits for a slot, since others are decided
	AtFiles   Place = "files"   // looks at files
	AtRules   Place = "rules"   // is understood, and evaluated by rules
	AtJournal Place = "journal" // waits until its decision is stored
)

// Underway knows the requests that are under way to their decisions, so that permd can
// say which of them are stuck, and where. Its zero value is ready for use, a nil one
// knows nothing; it is safe for concurrent use. It is as large as the requests in flight
// are many, which sockets bound.
type Underway struct {
	mu    sync.Mutex
	first *Work
}

// Work is one request that is under way. A nil one is not known to anybody.
type Work struct {
	of         *Underway
	prev, next *Work // guarded by of.mu
	began      time.Time

	mu    sync.Mutex
	place Place
	path  string // that is being looked at, if the place is AtFiles
}

// Begin adds a request, which must be ended.
func (u *Underway) Begin(at Place, now time.Time) *Work {
	if u == nil {
		return nil
	}
	return u.begin(new(Work), at, now)
}

// begin is Begin with memory for the request.
func (u *Underway) begin(w *Work, at Place, now time.Time) *Work {
	if u == nil {
		return nil
	}
	w.of, w.place, w.began = u, at, now
	u.mu.Lock()
	defer u.mu.Unlock()
	if w.next = u.first; w.next != nil {
		w.next.prev = w
	}
	u.first = w
	return w
}

// End removes a request. It must be called once.
func (w *Work) End() {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.next != nil {
		w.next.prev = w.prev
	}
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		w.of.first = w.next
	}
}

// enter notes where the request is now.
func (w *Work) enter(at Place) { w.visit(at, "") }

// visit notes where the request is now, and at which file it looks.
func (w *Work) visit(at Place, path string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.place, w.path = at, path
	w.mu.Unlock()
}

// Late is a request that is under way for too long.
type Late struct {
	Place Place
	Path  string // that is being looked at, "" if the place is not AtFiles
	Since time.Time
}

// Late returns the requests that began before a time, in no order.
func (u *Underway) Late(before time.Time) (late []Late) {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for w := u.first; w != nil; w = w.next {
		if !w.began.Before(before) {
			continue
		}
		w.mu.Lock()
		late = append(late, Late{w.place, w.path, w.began})
		w.mu.Unlock()
	}
	return late
}

// workKey is the key of a request's Work in its context.
type workKey struct{}

// workOf returns the request that a context belongs to, nil if it is not known.
func workOf(ctx context.Context) *Work {
	if ctx == nil {
		return nil
	}
	w, _ := ctx.Value(workKey{}).(*Work)
	return w
}
