// Package evaltime bounds how long one evaluation of rules may take.
package evaltime

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
)

// Timeout bounds the evaluation of one effect over all layers. A shorter
// time would expire when the machine stalls. OPA checks it only between
// expressions, which is why long-running builtins are not available.
const Timeout = 250 * time.Millisecond

// Limiter cancels evaluations that take longer than Timeout. They all share
// one timer, which runs while there are any: setting a timer wakes a thread
// that waits for the network, and that takes as long as most evaluations.
type Limiter struct {
	mu      sync.Mutex
	running []*Evaluation
	ticking bool
}

// Evaluation is one running evaluation.
type Evaluation struct {
	Cancel topdown.Cancel  // for the query
	ctx    context.Context // ends it too, when that is noticed at the next tick
	ticks  int             // ticks since it started
}

// limitTicks is the number of ticks in Timeout; up to one more may pass.
const limitTicks = 5

// Start starts timing an evaluation, which ctx ends too; Stop must be called after it.
func (l *Limiter) Start(ctx context.Context) *Evaluation {
	e := &Evaluation{ctx: ctx, Cancel: topdown.NewCancel()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = append(l.running, e)
	if !l.ticking {
		l.ticking = true
		l.schedule()
	}
	return e
}

// Stop ends the timing of an evaluation.
func (l *Limiter) Stop(e *Evaluation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.running, e); i >= 0 {
		l.running = slices.Delete(l.running, i, i+1)
	}
}

func (l *Limiter) schedule() { time.AfterFunc(Timeout/limitTicks, l.tick) }

func (l *Limiter) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.running {
		if e.ticks++; e.ticks > limitTicks || e.ctx.Err() != nil {
			e.Cancel.Cancel()
		}
	}
	if l.ticking = len(l.running) > 0; l.ticking {
		l.schedule()
	}
}
