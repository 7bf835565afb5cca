// Package underway knows which requests are on their way to a decision, and where, so that
// permd can say which of them are stuck.
package underway

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

// Requests are those that are under way to their decisions. The zero value is ready for use, a nil one
// knows of none; it is safe for concurrent use. It is as large as the requests in flight
// are many, which sockets bound.
type Requests struct {
	mu    sync.Mutex
	first *Request
}

// Request is one request that is under way. A nil one is not known to anybody.
type Request struct {
	of         *Requests
	prev, next *Request // guarded by of.mu
	began      time.Time

	mu    sync.Mutex
	place Place
	path  string // that is being looked at, if the place is AtFiles
}

// Begin adds a request, which must be ended.
func (u *Requests) Begin(at Place, now time.Time) *Request {
	if u == nil {
		return nil
	}
	return u.BeginIn(new(Request), at, now)
}

// BeginIn is Begin with memory for the request.
func (u *Requests) BeginIn(w *Request, at Place, now time.Time) *Request {
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
func (w *Request) End() {
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

// Enter notes where the request is now.
func (w *Request) Enter(at Place) { w.Visit(at, "") }

// Visit notes where the request is now, and at which file it looks.
func (w *Request) Visit(at Place, path string) {
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
func (u *Requests) Late(before time.Time) (late []Late) {
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

// Key is the key of a request, a *Request, in its context.
type Key struct{}

// Of returns the request that a context belongs to, nil if it is not known.
func Of(ctx context.Context) *Request {
	if ctx == nil {
		return nil
	}
	w, _ := ctx.Value(Key{}).(*Request)
	return w
}
