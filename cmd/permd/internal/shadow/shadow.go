// Package shadow evaluates shadow rules: candidates that are not in force. After the answer to a
// call it decides the call again with them, and keeps counts and examples of the differences.
// It never changes an answer.
package shadow

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy"
)

// Bounds of what waits to be compared, and of the time that comparing takes.
const (
	maxQueued      = 1024
	maxQueuedBytes = 4 << 20
	// waitFor is how long calls are collected, so that the answers of most have been sent
	// and no request wakes anybody more often.
	waitFor = 200 * time.Millisecond
	// maxOne bounds one comparison.
	maxOne = 2 * time.Second
	// restAfter is the time of comparing after which nothing is compared for restTimes as long:
	// requests must not miss the processor.
	restAfter = 5 * time.Millisecond
	restTimes = 3
)

// Rules are the rules in use, with those to try.
type Rules interface {
	Trying() bool
	Shadow(of decisions.Snapshot) (snap decisions.Snapshot, current bool)
	ShadowDir() string
	ShadowStatus() *policy.LayerStatus
}

// Options are the options of a Comparer.
type Options struct {
	File   string        // where differences are kept, in the data folder
	MaxAge time.Duration // of what is kept; 0 means no limit
	Rules  Rules
	Log    *slog.Logger
	Now    func() time.Time
}

// Comparer decides calls by the rules to try. It implements [decisions.Shadow].
type Comparer struct {
	o       Options
	engine  *decisions.Engine
	in      fs.FileInfo // the data folder at the start, nil if there was none
	started atomic.Bool
	wake    chan struct{}
	cancel  context.CancelFunc // of run
	done    chan struct{}

	mu     sync.Mutex
	queue  []decisions.Decided
	spare  []decisions.Decided // memory for the next queue
	queued int                 // bytes
	missed int                 // calls that there was no room for

	reporting sync.Mutex
	report    Report
	totals    Totals
	unsaved   bool   // the report has changed since it was written
	failing   bool   // it cannot be written
	problem   string // of the rules to try, that was logged last

	due <-chan time.Time // when the report is to be written, nil if it has not changed; for run
}

// New returns a Comparer, which compares nothing before it is started.
func New(o Options) *Comparer {
	return &Comparer{o: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// Start begins to compare, with an engine that has the memory and the fences.
func (c *Comparer) Start(engine *decisions.Engine) {
	c.engine = engine
	c.in, _ = os.Stat(filepath.Dir(c.o.File)) // else nothing is kept
	c.load()
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.started.Store(true)
	go c.run(ctx)
}

// Close writes what was found and ends. What waits or is being compared is not compared.
func (c *Comparer) Close() {
	if !c.started.Load() {
		return
	}
	c.cancel()
	<-c.done
}

// Changed is called when the rules to try have changed.
func (c *Comparer) Changed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Trying reports whether there are rules to try.
func (c *Comparer) Trying() bool { return c.started.Load() && c.o.Rules.Trying() }

// Note has a call compared later, if there is room.
func (c *Comparer) Note(d decisions.Decided) {
	size := d.Size()
	c.mu.Lock()
	first := len(c.queue) == 0
	fits := len(c.queue) < maxQueued && c.queued+size <= maxQueuedBytes
	if fits {
		c.queue, c.queued = append(c.queue, d), c.queued+size
	} else {
		c.missed++
	}
	c.mu.Unlock()
	if first && fits {
		c.Changed()
	}
}

func (c *Comparer) run(ctx context.Context) {
	defer close(c.done)
	old := time.NewTicker(forgetEvery)
	defer old.Stop()
	c.look() // there may be none any more
	for {
		c.saveIfDue()
		select {
		case <-ctx.Done():
			list, missed := c.take()
			c.count(missed, tooMany)
			c.count(len(list), stopped)
			c.save()
			return
		case <-c.due:
			c.saveNow()
		case <-old.C:
			c.forgetOld()
		case <-c.wake:
			if !c.rest(ctx, waitFor) {
				continue
			}
			c.look()
			c.compareAll(ctx)
		}
	}
}

// rest waits, and reports whether it was not cut short. What is due is saved meanwhile.
func (c *Comparer) rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		c.saveIfDue()
		select {
		case <-ctx.Done():
			return false
		case <-c.due:
			c.saveNow()
		case <-t.C:
			return true
		}
	}
}

// saveIfDue writes the report if it is time, without waiting for that.
func (c *Comparer) saveIfDue() {
	if c.due == nil {
		c.due = c.nextSave()
	}
	select {
	case <-c.due:
		c.saveNow()
	default:
	}
}

// saveNow writes the report, of the rules as they are.
func (c *Comparer) saveNow() {
	c.look()
	c.save()
	c.due = c.nextSave()
}

// take returns what waits.
func (c *Comparer) take() (list []decisions.Decided, missed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, missed = c.queue, c.missed
	c.queue, c.spare, c.queued, c.missed = c.spare, nil, 0, 0
	return list, missed
}

// compareAll compares what waits.
func (c *Comparer) compareAll(ctx context.Context) {
	list, missed := c.take()
	c.count(missed, tooMany)
	var spent time.Duration
	for i := range list {
		if ctx.Err() != nil {
			c.count(len(list)-i, stopped)
			break
		}
		begun := time.Now()
		c.compare(ctx, &list[i])
		list[i] = decisions.Decided{}
		c.saveIfDue()
		if spent += time.Since(begun); spent >= restAfter {
			c.rest(ctx, restTimes*spent)
			spent = 0
		}
	}
	clear(list)
	c.mu.Lock()
	c.spare = list[:0]
	c.mu.Unlock()
}

// Why a call was not compared.
const (
	tooMany    = "there were too many at one time"
	stopped    = "the daemon stopped before"
	notByRules = "a failure, a pause, a lock or an answer to an earlier question decided it"
	notKnown   = "what it was decided from is not kept"
	changed    = "the rules have changed meanwhile"
	notAsked   = "the rules in use denied it before remembered choices about the rest were looked up"
	otherwise  = "the rules in use decide it otherwise now"
	failed     = "deciding it failed: "
)

// compare decides one call by the rules to try.
func (c *Comparer) compare(ctx context.Context, d *decisions.Decided) {
	snap, current := c.o.Rules.Shadow(d.Snapshot)
	switch {
	case d.By == decisions.ByFailure, d.By == decisions.ByHuman, d.Paused:
		c.count(1, notByRules)
		return
	case !d.Known():
		c.count(1, notKnown)
		return
	case !current:
		c.count(1, changed)
		return
	case snap == nil:
		return // nothing is tried any more
	}
	now := c.under(ctx, d, snap)
	switch {
	case ctx.Err() != nil:
		c.count(1, stopped)
	case now == nil:
		c.count(1, notAsked)
	case now.By == decisions.ByFailure:
		c.count(1, failed+now.Reason)
	case !c.tries(d.Snapshot, snap):
		c.count(1, changed)
	case now.Verdict == d.Verdict:
		c.add(d, nil)
	default:
		// Where the rules in use do not repeat what they decided, something else differs.
		again := c.under(ctx, d, d.Snapshot)
		switch {
		case ctx.Err() != nil:
			c.count(1, stopped)
		case again == nil || again.Verdict != d.Verdict:
			c.count(1, otherwise)
		default:
			c.add(d, now)
		}
	}
}

// tries reports whether rules are still those to try.
func (c *Comparer) tries(used, snap decisions.Snapshot) bool {
	now, _ := c.o.Rules.Shadow(used)
	return now == snap
}

// under decides a call by other rules; nil if that is not possible.
func (c *Comparer) under(ctx context.Context, d *decisions.Decided, snap decisions.Snapshot) (now *decisions.Decision) {
	defer func() {
		if r := recover(); r != nil {
			c.o.Log.Error("trying rules panicked", "decision", d.ID, "panic", r)
			now = nil
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, maxOne)
	defer cancel()
	return c.engine.Under(ctx, d, snap)
}
