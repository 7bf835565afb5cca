package records

import (
	"context"
	"errors"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/socket/admin"
)

// Journal is the journal's reading side in the words of the management
// methods.
type Journal struct {
	Reader *journal.Reader
	// Ending is closed when nobody is to wait any more; nil for never.
	Ending <-chan struct{}
}

// List returns the records that the filter lets pass.
func (l Journal) List(ctx context.Context, f admin.Filter) ([]*decisions.Record, error) {
	of := journal.Filter{
		Limit: f.Limit, After: f.After, Before: f.Before, Since: f.Since,
		Verdict: f.Verdict, Session: f.Session, Tool: f.Tool,
	}
	if f.Unasked {
		of.Outcomes = []decisions.Outcome{decisions.Unasked, decisions.Despite}
	}
	return l.Reader.List(ctx, of)
}

// Get returns one record, nil if there is none.
func (l Journal) Get(ctx context.Context, id string) (*decisions.Record, error) {
	rec, err := l.Reader.Get(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	return rec, err
}

// Wait ends as if its time were over when the daemon ends: whoever follows
// the journal must not keep it from ending.
func (l Journal) Wait(ctx context.Context, seq int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-l.Ending:
			cancel(context.DeadlineExceeded)
		case <-ctx.Done():
		}
	}()
	for _, err := range l.Reader.Follow(ctx, seq) {
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return context.Cause(ctx)
}
