package socket

import (
	"context"
	"sync/atomic"
	"time"
)

// Probe finds out whether requests of a server get slots for their second phases. Its
// zero value is ready for use; Options.Probe connects it with a server.
type Probe struct {
	server atomic.Pointer[server]
}

// probePatience is how long a probe waits for a slot of its own while others get theirs.
const probePatience = 3 * time.Second

// Take waits for a slot as a request does, and returns a function that gives it back. If
// it gets none for a while, it returns as soon as another request has given one back
// since: then slots are in use, and not stuck. The error is that of ctx.
func (p *Probe) Take(ctx context.Context) (release func(), err error) {
	s := p.server.Load()
	if s == nil || s.runningSlots == nil {
		return func() {}, nil
	}
	before := s.slotsReturned.Load()
	patience := time.NewTicker(probePatience)
	defer patience.Stop()
	for {
		select {
		case s.runningSlots <- struct{}{}:
			return s.returnSlot, nil
		case <-patience.C:
			if s.slotsReturned.Load() != before {
				return func() {}, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// returnSlot gives back the slot of a second phase.
func (s *server) returnSlot() {
	<-s.runningSlots
	s.slotsReturned.Add(1)
}
