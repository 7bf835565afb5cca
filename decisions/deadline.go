package decisions

import (
	"cmp"
	"context"
	"time"
)

// defaultDeadline is how long deciding the calls of one request may take.
const defaultDeadline = 2 * time.Second

// deadline is a context that ends at a time. It is only asked: unlike that of package
// context it sets no timer, which would take as long as most decisions do.
type deadline struct {
	context.Context
	at   time.Time
	now  func() time.Time
	work *Work // see workOf
}

// Value implements [context.Context].
func (d *deadline) Value(key any) any {
	if _, ok := key.(workKey); ok {
		return d.work
	}
	return d.Context.Value(key)
}

// Err returns why there is no more time, nil if there is some.
func (d *deadline) Err() error {
	if err := d.Context.Err(); err != nil {
		return err
	}
	if d.now().After(d.at) {
		return context.DeadlineExceeded
	}
	return nil
}

// within returns a context that ends when a decision that began at start must be made.
func (e *Engine) within(ctx context.Context, start time.Time, w *Work) context.Context {
	return &deadline{ctx, start.Add(cmp.Or(e.config.Deadline, defaultDeadline)), e.now, w}
}

// outOfTime returns why a call is not looked at any more, "" if it is.
func outOfTime(ctx context.Context) string {
	if ctx.Err() == nil {
		return ""
	}
	return cmp.Or(abandonedReason(ctx), "deciding the calls before it took too long")
}
