package policy

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
)

// limiter cancels evaluations that take longer than evalTimeout. They all share
// one timer, which runs while there are any: setting a timer wakes a thread
// that waits for the network, and that takes as long as most evaluations.
type limiter struct {
	mu      sync.Mutex
	running []*evaluation
	ticking bool
}

// evaluation is one running evaluation.
type evaluation struct {
	ctx    context.Context // ends it too, when that is noticed at the next tick
	cancel topdown.Cancel
	ticks  int // ticks since it started
}

// limitTicks is the number of ticks in evalTimeout; up to one more may pass.
const limitTicks = 5

// start starts timing an evaluation; stop must be called after it.
func (l *limiter) start(ctx context.Context) *evaluation {
	e := &evaluation{ctx: ctx, cancel: topdown.NewCancel()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = append(l.running, e)
	if !l.ticking {
		l.ticking = true
		l.schedule()
	}
	return e
}

func (l *limiter) stop(e *evaluation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.running, e); i >= 0 {
		l.running = slices.Delete(l.running, i, i+1)
	}
}

func (l *limiter) schedule() { time.AfterFunc(evalTimeout/limitTicks, l.tick) }

func (l *limiter) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.running {
		if e.ticks++; e.ticks > limitTicks || e.ctx.Err() != nil {
			e.cancel.Cancel()
		}
	}
	if l.ticking = len(l.running) > 0; l.ticking {
		l.schedule()
	}
}
