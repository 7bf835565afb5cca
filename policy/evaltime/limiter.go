// Package evaltime bounds how long one evaluation of rules may take, and how much
// memory.
package evaltime

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
)

// Timeout bounds the evaluation of one effect over all layers. A shorter
// time would expire when the machine stalls. OPA checks it only between
// expressions, which is why long-running builtins are not available.
const Timeout = 250 * time.Millisecond

// MaxGrowth is how much the heap may grow while evaluations run, in bytes. Nearly all
// evaluations end before that is looked at once; those that have been running for a tick
// when the heap has grown by so much are cancelled, whichever of them it was.
const MaxGrowth = 128 << 20

// collectEvery is the least time between two collections of what cancelled evaluations
// leave behind. Without them the garbage collector would wait until there is as much
// garbage as there was memory in use at the worst moment.
const collectEvery = time.Second

// Limiter cancels evaluations that take longer than Timeout, or too much memory. They
// all share one timer, which runs while there are any: setting a timer wakes a thread
// that waits for the network, and that takes as long as most evaluations.
type Limiter struct {
	mu      sync.Mutex
	running []*Evaluation
	ticking bool
	least   uint64 // the smallest size of the heap that was seen since it ticks

	collecting atomic.Bool

	heap func() uint64 // the size of the heap in bytes; heapSize if nil
}

// NewLimiter returns a limiter that has the size of the heap from a function; for tests,
// which the zero value serves otherwise.
func NewLimiter(heap func() uint64) *Limiter { return &Limiter{heap: heap} }

// Evaluation is one running evaluation.
type Evaluation struct {
	Cancel topdown.Cancel // for the query
	// Abandoned is closed when the evaluation has not ended long after it was
	// cancelled. OPA cannot end every step, so it may never end; nobody must wait for it.
	Abandoned chan struct{}

	ctx     context.Context // ends it too, when that is noticed at the next tick
	ticks   int             // ticks since it started
	tooMuch atomic.Bool
}

// limitTicks is the number of ticks in Timeout; up to one more may pass. After
// abandonTicks an evaluation is abandoned: a second, for a busy machine on which one that
// was cancelled does not get to know it at once.
const (
	limitTicks   = 10
	abandonTicks = 4 * limitTicks
)

// Start starts timing an evaluation, which ctx ends too; Stop must be called after it.
func (l *Limiter) Start(ctx context.Context) *Evaluation {
	e := &Evaluation{ctx: ctx, Cancel: topdown.NewCancel(), Abandoned: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = append(l.running, e)
	if !l.ticking {
		l.ticking, l.least = true, math.MaxUint64
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

// TooMuch reports whether the evaluation was cancelled because of the memory.
func (e *Evaluation) TooMuch() bool { return e.tooMuch.Load() }

func (l *Limiter) schedule() { time.AfterFunc(Timeout/limitTicks, l.tick) }

func (l *Limiter) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := heapSize
	if l.heap != nil {
		size = l.heap
	}
	grown := false
	if len(l.running) > 0 {
		now := size()
		l.least = min(l.least, now)
		grown = now-l.least > MaxGrowth
	}
	for _, e := range l.running {
		if e.ticks++; grown && e.ticks > 1 {
			e.tooMuch.Store(true)
			e.Cancel.Cancel()
		}
		if e.ticks > limitTicks || e.ctx.Err() != nil {
			e.Cancel.Cancel()
		}
		if e.ticks == abandonTicks {
			close(e.Abandoned)
		}
	}
	if grown {
		l.collect()
	}
	if l.ticking = len(l.running) > 0; l.ticking {
		l.schedule()
	}
}

// collect has the garbage collected, and the memory given back, unless that was done
// only a moment ago.
func (l *Limiter) collect() {
	if l.heap == nil && l.collecting.CompareAndSwap(false, true) {
		go debug.FreeOSMemory()
		time.AfterFunc(collectEvery, func() { l.collecting.Store(false) })
	}
}

// heapSize returns the size of all objects on the heap, also of those that are no
// longer used and not collected yet.
func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
