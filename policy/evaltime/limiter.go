// Package evaltime bounds how long one evaluation of rules may take, and how much
// memory.
package evaltime

import (
	"cmp"
	"context"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Timeout bounds the evaluation of one effect over all layers. A shorter
// time would expire when the machine stalls. OPA checks it only between
// expressions, which is why long-running builtins are not available.
const Timeout = 250 * time.Millisecond

// maxBuilt is how much the builtins that one evaluation calls may allocate together, in
// bytes. It is counted before each call (package builtins).
const maxBuilt = 32 << 20

// MaxGrowth is how much the heap may grow while evaluations run, in bytes: what the rules
// themselves build, one value in each step, cannot be counted. Nearly all evaluations end
// before that is looked at once; those of many steps that are running when the heap has
// grown by so much are cancelled, whichever of them it was.
const MaxGrowth = 48 << 20

// looksEvery is after how many of its steps an evaluation looks at the heap, in addition to
// each tick. One with fewer steps is not cancelled because of the heap.
const looksEvery = 256

// collectEvery is the least time between two collections of what cancelled evaluations
// leave behind. Without them the garbage collector would wait until there is as much
// garbage as there was memory in use at the worst moment.
const collectEvery = time.Second

// Limiter cancels evaluations that take longer than Timeout, or too much memory. They
// all share one timer, which runs while there are any: setting a timer wakes a thread
// that waits for the network, and that takes as long as most evaluations.
type Limiter struct {
	// Growth is how much the heap may grow during an evaluation, in bytes; MaxGrowth if 0.
	Growth uint64
	// Times is how many times Timeout an evaluation may take that no call waits for; 1 if 0.
	Times int

	mu      sync.Mutex
	running []*Evaluation
	ticking bool

	collecting atomic.Bool

	heap func() uint64 // the size of the heap in bytes; heapSize if nil
}

// NewLimiter returns a limiter that has the size of the heap from a function; for tests,
// which the zero value serves otherwise.
func NewLimiter(heap func() uint64) *Limiter { return &Limiter{heap: heap} }

// Evaluation is one running evaluation.
type Evaluation struct {
	Cancel *Cancel // for the query
	// Abandoned is closed when the evaluation has not ended long after it was
	// cancelled. OPA cannot end every step, so it may never end; nobody must wait for it.
	Abandoned chan struct{}

	ctx   context.Context // ends it too, when that is noticed at the next tick
	ticks int             // ticks since it started
}

// Cancel cancels an evaluation, and counts what it takes. OPA asks Cancelled before each
// step.
type Cancel struct {
	limiter   *Limiter
	cancelled atomic.Bool
	tooMuch   atomic.Bool
	steps     atomic.Int64
	built     atomic.Int64
	least     atomic.Uint64 // the smallest size of the heap that was seen during this evaluation; 0 if none yet
}

// Cancel cancels the evaluation.
func (c *Cancel) Cancel() { c.cancelled.Store(true) }

// Cancelled reports whether the evaluation was cancelled, and counts a step.
func (c *Cancel) Cancelled() bool {
	if c.steps.Add(1)%looksEvery == 0 {
		c.observe(c.limiter.size())
	}
	return c.cancelled.Load()
}

// observe cancels the evaluation if the heap has grown too much since it was first looked at.
func (c *Cancel) observe(size uint64) {
	for {
		least := c.least.Load()
		if least != 0 && size >= least {
			if size-least <= cmp.Or(c.limiter.Growth, MaxGrowth) {
				return
			}
			c.tooMuch.Store(true)
			c.Cancel()
			c.limiter.collect()
			return
		}
		if c.least.CompareAndSwap(least, size) {
			return
		}
	}
}

// Spend takes so many bytes of [maxBuilt], and reports whether there was so much left.
func (c *Cancel) Spend(bytes int64) bool { return c.built.Add(bytes) <= maxBuilt }

// Built returns how many bytes were spent.
func (c *Cancel) Built() int64 { return c.built.Load() }

// limitTicks is the number of ticks in Timeout; up to one more may pass. An evaluation that
// does not end within graceTicks after it was cancelled is abandoned: those of a busy machine
// do not get to know it at once.
const (
	limitTicks = 10
	graceTicks = 3 * limitTicks
)

// Start starts timing an evaluation, which ctx ends too; Stop must be called after it.
func (l *Limiter) Start(ctx context.Context) *Evaluation {
	e := &Evaluation{ctx: ctx, Cancel: &Cancel{limiter: l}, Abandoned: make(chan struct{})}
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

// TooMuch reports whether the evaluation was cancelled because of the memory.
func (e *Evaluation) TooMuch() bool { return e.Cancel.tooMuch.Load() }

func (l *Limiter) schedule() { time.AfterFunc(Timeout/limitTicks, l.tick) }

func (l *Limiter) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, limit := uint64(0), limitTicks*max(1, l.Times)
	for _, e := range l.running {
		if size == 0 {
			size = l.size()
		}
		if e.ticks++; e.Cancel.steps.Load() >= looksEvery {
			e.Cancel.observe(size)
		}
		if e.ticks > limit || e.ctx.Err() != nil {
			e.Cancel.Cancel()
		}
		if e.ticks == limit+graceTicks {
			close(e.Abandoned)
		}
	}
	if l.ticking = len(l.running) > 0; l.ticking {
		l.schedule()
	}
}

func (l *Limiter) size() uint64 {
	if l.heap != nil {
		return l.heap()
	}
	return heapSize()
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
