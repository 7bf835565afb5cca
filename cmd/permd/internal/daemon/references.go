package daemon

import (
	"sync/atomic"
	"time"

	"github.com/permd/permd/remember"
)

// references returns which choices still exist, so that the journal keeps their
// decisions. Only the journal's mover calls it.
type references struct {
	store atomic.Pointer[remember.Store] // nil until it is open

	degraded bool
	looked   time.Time
}

// has reports whether a choice may still exist: a memory that has lost some may
// get them back.
func (r *references) has(choice string) bool {
	s := r.store.Load()
	if s == nil {
		return true
	}
	if _, err := s.Get(choice); err == nil {
		return true
	}
	if now := time.Now(); now.Sub(r.looked).Abs() >= time.Minute {
		r.degraded, r.looked = len(s.Status().Degraded) > 0, now
	}
	return r.degraded
}
