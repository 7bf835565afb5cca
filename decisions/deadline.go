package decisions

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions/lookups"
	"github.com/permd/permd/decisions/underway"
	"github.com/permd/permd/internal/fairshare"
)

// defaultDeadline is how long deciding the calls of one request may take.
const defaultDeadline = 2 * time.Second

// deadline is a context that ends at a time. It is only asked: unlike that of package
// context it sets no timer, which would take as long as most decisions do.
type deadline struct {
	context.Context
	at     time.Time
	now    func() time.Time
	work   *underway.Request // see underway.Of
	turn   *fairshare.Turn
	waited atomic.Int64    // for a slot, in nanoseconds: that time does not count
	looks  *lookups.Shared // of the calls of the request, nil for a single one
}

// Value implements [context.Context].
func (d *deadline) Value(key any) any {
	if _, ok := key.(underway.Key); ok {
		return d.work
	}
	return d.Context.Value(key)
}

// Err returns why there is no more time, nil if there is some.
func (d *deadline) Err() error {
	if err := d.Context.Err(); err != nil {
		return err
	}
	if d.now().After(d.at.Add(time.Duration(d.waited.Load()))) {
		return context.DeadlineExceeded
	}
	return nil
}

// within returns a context that ends when a decision of so many calls that began at start
// must be made.
func (e *Engine) within(ctx context.Context, start time.Time, w *underway.Request, calls int) deadline {
	return deadline{
		Context: ctx, at: start.Add(cmp.Or(e.config.Deadline, defaultDeadline)), now: e.now,
		work: w, turn: fairshare.TurnOf(ctx), looks: lookups.NewShared(calls, start),
	}
}

// betweenCalls lets others go first that have used the processors for less time. It
// returns why the other calls are not looked at any more, "" if they are.
func (d *deadline) betweenCalls() string {
	d.work.Enter(underway.AtSlot)
	waited, err := d.turn.Yield(d.Context)
	d.work.Enter(underway.AtRules)
	d.waited.Add(int64(waited))
	d.looks.ForgetOld(d.now())
	if why := outOfTime(d); why != "" {
		return why
	}
	if err != nil {
		return "deciding the other calls had to wait for too long: " + err.Error()
	}
	return ""
}

// giveWay is betweenCalls between two steps of one call, where these take long.
func giveWay(ctx context.Context) {
	if d, ok := ctx.(*deadline); ok {
		d.GiveWay()
	}
}

// GiveWay is giveWay, for package lookups.
func (d *deadline) GiveWay() {
	waited, _ := d.turn.YieldLong(d.Context)
	d.waited.Add(int64(waited))
}

// tooMuchMemory is why the calls of a request are not looked at whose decisions would need
// more memory than its connection may use. Such a request is refused as a whole.
const tooMuchMemory = "the decisions of one request need too much memory"

// reserveLeast reserves what the decisions of a request need at least, before there is any
// work for it. It returns why its calls are not looked at, "" if they are.
func reserveLeast(turn *fairshare.Turn, calls int) string {
	if !turn.Reserve(calls * decisionBytes) {
		return tooMuchMemory
	}
	return ""
}

// outOfTime returns why a call is not looked at any more, "" if it is.
func outOfTime(ctx context.Context) string {
	if ctx.Err() == nil {
		return ""
	}
	return cmp.Or(abandonedReason(ctx), "deciding the calls before it took too long")
}
