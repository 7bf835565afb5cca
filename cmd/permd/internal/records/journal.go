package records

import (
	"context"
	"errors"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
)

// Journal reads the journal in the form of the management methods.
type Journal struct {
	Reader *journal.Reader
	// Ending is closed when the daemon ends; nil means never.
	Ending <-chan struct{}
}

// List returns the records that match the filter.
func (l Journal) List(ctx context.Context, f decisions.RecordFilter) ([]*decisions.Record, error) {
	return l.Reader.List(ctx, f)
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
func (l Journal) IDs(ctx context.Context, prefix string, limit int) ([]string, error) {
	return l.Reader.IDs(ctx, prefix, limit)
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
