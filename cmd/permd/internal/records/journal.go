package records

import (
	"context"
	"errors"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/socket/admin"
)

// Journal reads the journal in the form of the management methods.
type Journal struct {
	Reader *journal.Reader
	// Ending is closed when the daemon ends; nil means never.
	Ending <-chan struct{}
}

// Page returns a part of a list.
func (l Journal) Page(ctx context.Context, f decisions.RecordFilter) (admin.Records, error) {
	p, err := l.Reader.Page(ctx, f)
	return admin.Records{Records: p.Records, Next: p.Next, Left: p.Left}, err
}

// Tally counts decisions by group.
func (l Journal) Tally(ctx context.Context, f decisions.RecordFilter, by []tally.By, starts []time.Time) (admin.Tallies, error) {
	t, err := l.Reader.Tally(ctx, f, by, starts)
	return admin.Tallies{Groups: t.Groups, Next: t.Next, Left: t.Left}, err
}

// Get returns one record, nil if there is none.
func (l Journal) Get(ctx context.Context, id string) (*decisions.Record, error) {
	rec, err := l.Reader.Get(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	return rec, err
}

// IDs returns the ids that begin with prefix.
func (l Journal) IDs(ctx context.Context, uid *uint32, prefix string, limit int) ([]string, error) {
	return l.Reader.IDs(ctx, uid, prefix, limit)
}

// Wait returns as if its time were over when the daemon ends, so that a client that
// follows the journal does not delay that.
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
