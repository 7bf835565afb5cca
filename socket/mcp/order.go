package mcp

import (
	"context"
	"slices"
	"sync"
)

// order keeps calls that are allowed at once in the client's order: what one of them does can
// be what the next one needs. A call that waits for a person is overtaken.
type order struct {
	mu     sync.Mutex
	places []chan struct{} // of the calls that have not left, the first one first
}

// place is that of a call. Only the call's goroutine uses it.
type place struct {
	order  *order
	done   chan struct{}   // closed when it is left
	before []chan struct{} // of calls before it
}

// enter returns the next place. The caller leaves it.
func (o *order) enter() *place {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := &place{order: o, done: make(chan struct{}), before: slices.Clone(o.places)}
	o.places = append(o.places, p.done)
	return p
}

// wait waits until all places before this one were left, or for ctx.
func (p *place) wait(ctx context.Context) {
	for _, done := range p.before {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
	p.before = nil
}

// leave leaves the place, if the call still has it.
func (p *place) leave() {
	p.order.mu.Lock()
	defer p.order.mu.Unlock()
	if i := slices.Index(p.order.places, p.done); i >= 0 {
		p.order.places = slices.Delete(p.order.places, i, i+1)
		close(p.done)
	}
}
