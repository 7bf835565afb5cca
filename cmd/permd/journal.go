package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/socket/admin"
)

// journalLog is the journal's reading side in the words of the management
// methods.
type journalLog struct {
	r *journal.Reader
	// ending is closed when nobody is to wait any more; nil for never.
	ending <-chan struct{}
}

func (l journalLog) List(ctx context.Context, f admin.Filter) ([]*decisions.Record, error) {
	of := journal.Filter{
		Limit: f.Limit, After: f.After, Before: f.Before, Since: f.Since,
		Verdict: f.Verdict, Session: f.Session, Tool: f.Tool,
	}
	if f.Unasked {
		of.Outcomes = []decisions.Outcome{decisions.RanUnprompted, decisions.RanDespiteDeny}
	}
	return l.r.List(ctx, of)
}

func (l journalLog) Get(ctx context.Context, id string) (*decisions.Record, error) {
	rec, err := l.r.Get(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	return rec, err
}

// Wait ends as if its time were over when the daemon ends: whoever follows
// the journal must not keep it from ending.
func (l journalLog) Wait(ctx context.Context, seq int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-l.ending:
			cancel(context.DeadlineExceeded)
		case <-ctx.Done():
		}
	}()
	for _, err := range l.r.Follow(ctx, seq) {
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return context.Cause(ctx)
}

// openLogFile reads the journal's file, for when no daemon runs.
func (a *app) openLogFile() (*openedLog, error) {
	dirs, err := a.dirs()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dirs.Data, "decisions.db")
	r, err := journal.OpenReadOnly(journal.Options{Path: path})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failf(exitError, "start the daemon with: permd serve", "there is no journal yet at %s", path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", databaseFailure(err))
	}
	return &openedLog{journalLog{r: r}, func() { r.Close() }}, nil
}
