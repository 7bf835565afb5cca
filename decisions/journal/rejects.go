package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// The journal also keeps the ids of the rejects that the memory holds, so that it
// shows when that has lost some.

// MaxRejects bounds the ids that are kept, and maxRejectID the length of one, in bytes.
const (
	MaxRejects  = 4096
	maxRejectID = 64
)

// rejects are the ids of remembered rejects. The mover stores them.
type rejects struct {
	atStart []string

	mu     sync.Mutex // guards the fields below
	wanted map[string]bool
	unsure bool // wanted may differ from what is stored

	stored  map[string]bool // used by the mover alone, as failing; nil if it must be read
	failing bool
}

// Rejects returns the ids that were kept when the journal was opened.
func (j *Journal) Rejects() []string { return slices.Clone(j.mover.rejects.atStart) }

// KeepRejects replaces the ids that are kept; those beyond MaxRejects are left out.
// It does not wait for the disk: they are stored soon, and by Close at the latest.
func (j *Journal) KeepRejects(ids []string) {
	r := &j.mover.rejects
	wanted := map[string]bool{}
	for _, id := range ids {
		if len(id) <= maxRejectID && len(wanted) < MaxRejects {
			wanted[id] = true
		}
	}
	r.mu.Lock()
	r.wanted, r.unsure = wanted, true
	r.mu.Unlock()
	j.mover.moveNow()
}

func (r *rejects) load(ctx context.Context, w *writer) (ids []string, err error) {
	rows, err := w.conn.QueryContext(ctx, "SELECT id FROM rejects LIMIT ?", MaxRejects)
	if err != nil {
		return nil, fmt.Errorf("reading the ids of rejects: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("reading the ids of rejects: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// store brings the database up to date. What fails is tried again the next time.
func (r *rejects) store(ctx context.Context, w *writer) error {
	r.mu.Lock()
	wanted, todo := r.wanted, r.unsure
	r.unsure = false
	r.mu.Unlock()
	if !todo {
		return nil
	}
	err := r.replace(ctx, w, wanted)
	if err != nil {
		r.stored = nil
		r.mu.Lock()
		r.unsure = true
		r.mu.Unlock()
		return fmt.Errorf("storing the ids of rejects: %w", err)
	}
	r.stored = wanted
	return nil
}

func (r *rejects) replace(ctx context.Context, w *writer, wanted map[string]bool) error {
	if r.stored == nil {
		ids, err := r.load(ctx, w)
		if err != nil {
			return err
		}
		r.stored = map[string]bool{}
		for _, id := range ids {
			r.stored[id] = true
		}
	}
	if err := w.inPlace(); err != nil {
		return err
	}
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for id := range r.stored {
		if !wanted[id] && err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM rejects WHERE id = ?", id)
		}
	}
	for id := range wanted {
		if !r.stored[id] && err == nil {
			_, err = tx.ExecContext(ctx, "INSERT OR IGNORE INTO rejects VALUES (?)", id)
		}
	}
	if err != nil {
		// The first error says more than that of the rollback.
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
