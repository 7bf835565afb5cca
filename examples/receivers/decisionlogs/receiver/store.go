// Package receiver takes uploads of OPA's decision logs over HTTP and keeps the events in
// SQLite. An event that comes again, by its decision_id, is kept once.
package receiver

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	_ "github.com/mattn/go-sqlite3" // the database
)

//go:embed schema.sql
var schema string

// Store keeps events.
type Store struct{ db *sql.DB }

// Open opens the database at a path, or makes it.
func Open(path string) (*Store, error) {
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", path, err), db.Close())
	}
	return &Store{db}, nil
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// event is what is read of one.
type event struct {
	ID     string    `json:"decision_id"`
	Path   string    `json:"path"`
	Time   time.Time `json:"timestamp"`
	Labels struct {
		ID string `json:"id"`
	} `json:"labels"`
	Custom struct {
		Permd struct {
			Seq     *int64 `json:"seq"`
			Entry   int64  `json:"entry"`
			Follows *int64 `json:"follows"`
		} `json:"permd"`
	} `json:"custom"`
}

const insert = `INSERT INTO events (decision_id, path, log, seq, entry, follows, time, received, event) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (decision_id) DO UPDATE SET entry = excluded.entry, follows = coalesce(events.follows, excluded.follows), event = excluded.event
	WHERE excluded.entry > events.entry`

// add stores the events of an upload, all or none, and returns when that is durable.
func (s *Store) add(ctx context.Context, events []json.RawMessage, now time.Time) (err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	for i, raw := range events {
		var e event
		if err := json.Unmarshal(raw, &e); err != nil || e.ID == "" { //nolint:forbidigo // the event is kept as it is
			return &badEvent{i}
		}
		permd := &e.Custom.Permd
		_, err := tx.ExecContext(ctx, insert, e.ID, e.Path, e.Labels.ID, permd.Seq, permd.Entry, permd.Follows,
			e.Time.UTC().Format(timeForm), now.UTC().Format(timeForm), string(raw))
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

// timeForm sorts as the times do.
const timeForm = "2006-01-02T15:04:05.000000000Z"

// badEvent is an event that cannot be kept.
type badEvent struct{ n int }

func (e *badEvent) Error() string { return fmt.Sprintf("event %d has no decision_id", e.n) }
