package daemon

import (
	"context"
	"time"

	"github.com/permd/permd/internal/fairshare"
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
