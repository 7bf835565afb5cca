package daemon

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/native"
)

// tell tells clients that something has changed by which the calls of a person are decided, of
// everybody if uid is nil, and has their open questions decided again. It waits for nobody.
func (d *daemon) tell(uid *uint32, what native.Changed) {
	d.changes.Tell(uid, what)
	d.again.Tell(uid)
}

// reconsider decides open questions again after changes, until ctx ends.
func (d *daemon) reconsider(ctx context.Context, share *fairshare.Scheduler) {
	d.again.Join = func(uid uint32) (next func(context.Context) (context.Context, func(), error), leave func()) {
		member := share.Join(uid)
		return func(ctx context.Context) (context.Context, func(), error) {
			turn := new(fairshare.Turn)
			if err := turn.Begin(ctx, member, nil); err != nil {
				return nil, nil, err
			}
			return &fairshare.Context{Context: ctx, Turn: turn}, turn.End, nil
		}, member.Leave
	}
	d.again.Run(ctx)
}

// nextEnd is when the next choice of a person expires, the zero time if none does. The end of a pause
// is told when it is there.
func (d *daemon) nextEnd(uid uint32) (next time.Time) {
	now := d.now()
	for _, c := range d.memory.List(&uid) {
		if c.Expires.After(now) && (next.IsZero() || c.Expires.Before(next)) {
			next = c.Expires
		}
	}
	return next
}

// touched tells of changes of choices.
func (d *daemon) touched(uid *uint32) {
	d.expiries.changed.Store(true)
	d.tell(uid, native.ChangedChoices)
}

// expiries say whose choices have expired. Choices are only looked at after they have changed, or when
// one has expired.
type expiries struct {
	changed atomic.Bool // since the choices were looked at

	next map[uint32]time.Time // when the next choice of each person expires; nil before the first look
}

// over returns whose choices have expired since the last call, which made it know of them.
func (x *expiries) over(now func() time.Time, all func(uid *uint32, newest bool) iter.Seq[*remember.Choice]) (over []uint32) {
	at := now()
	look := x.changed.Swap(false) || x.next == nil
	for _, next := range x.next {
		look = look || !at.Before(next)
	}
	if !look {
		return nil
	}
	next := map[uint32]time.Time{}
	for c := range all(nil, false) {
		if n, ok := next[c.UID]; !c.Expires.IsZero() && (!ok || c.Expires.Before(n)) {
			next[c.UID] = c.Expires
		}
	}
	at = now() // what has expired by then was not among all, or is found once more the next time
	for uid, n := range x.next {
		if !at.Before(n) {
			over = append(over, uid)
		}
	}
	x.next = next
	return over
}
