package remember

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/sqlitedb"
)

// Save stores choices, all of them or none, and returns them. They hold for
// the next Match. Before anything is stored, each choice is read back and must
// match the effect that it came from (ErrSelfCheck).
//
// A choice that holds already in the same way is returned as it is. An effect
// that is never remembered is ErrNotRemembered.
func (s *Store) Save(_ context.Context, drafts ...Draft) ([]Choice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	choices, err := s.save(drafts)
	if err != nil {
		return nil, fmt.Errorf("saving choice: %w", err)
	}
	return choices, nil
}

func (s *Store) save(drafts []Draft) ([]Choice, error) {
	now := s.now()
	entries := make([]*entry, len(drafts))
	var fresh []*entry
	for i := range drafts {
		e, err := s.entryOf(&drafts[i], now)
		if err != nil {
			return nil, err
		}
		if same := s.same(e, fresh, now.UnixNano()); same != nil {
			entries[i] = same
			continue
		}
		if s.ofUser[e.choice.UID]+len(fresh) >= MaxChoices {
			return nil, ErrTooMany
		}
		entries[i], fresh = e, append(fresh, e)
	}
	err := s.write(func(tx *sql.Tx) error {
		for i, e := range entries {
			if e.row == 0 {
				if err := insert(tx, e); err != nil {
					return err
				}
			}
			if err := s.selfCheck(tx, e, &drafts[i], now.UnixNano()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.add(fresh...)
	// There is space again for what could not be stored before; the state says
	// if not.
	_ = s.storePending()
	choices := make([]Choice, len(entries))
	for i, e := range entries {
		choices[i] = e.snapshot()
	}
	return choices, nil
}

// entryOf makes an entry from a draft, or says why there can be none.
func (s *Store) entryOf(d *Draft, now time.Time) (*entry, error) {
	if d.Verdict != decisions.Allow && d.Verdict != decisions.Deny {
		return nil, fmt.Errorf("%w: %q is no verdict to remember", ErrNotRemembered, d.Verdict)
	}
	q := d.Query
	if q == nil || q.Effect == nil {
		return nil, fmt.Errorf("%w: there is no effect", ErrNotRemembered)
	}
	if err := known(q.Effect, d.Verdict); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRemembered, err)
	}
	if d.Verdict == decisions.Allow {
		if off := s.state.Load().off; off != nil {
			return nil, off
		}
		if s.options.Allowable != nil {
			if err := s.options.Allowable(q); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrNotRemembered, err)
			}
		}
	}
	if !d.Expires.IsZero() && !d.Expires.After(now) {
		return nil, fmt.Errorf("%w: it would have expired already", ErrNotRemembered)
	}
	scope, err := scopeOf(d)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRemembered, err)
	}
	anyArguments := d.AnyArguments && q.Effect.Kind == effects.KindUse
	e := &entry{choice: Choice{
		ID: newID(), Verdict: d.Verdict, Kind: q.Effect.Kind, Label: d.Label, Pins: pinsOf(q, anyArguments),
		Scope: scope, UID: q.UID, DecisionID: d.DecisionID, Created: now.UTC(),
	}}
	if e.choice.Label == "" {
		e.choice.Label = q.Effect.Text
	}
	if !d.Expires.IsZero() {
		e.choice.Expires, e.expire = d.Expires.UTC(), d.Expires.UnixNano()
	}
	sum, ok := s.key.digestOf(q, anyArguments)
	if !ok {
		return nil, fmt.Errorf("%w: its facts are not known", ErrNotRemembered)
	}
	e.digest = sum
	e.finish()
	return e, nil
}

func scopeOf(d *Draft) (Scope, error) {
	q := d.Query
	switch d.Scope {
	case ForSession, ForChildren:
		if q.Session.ID == "" {
			return Scope{}, errors.New("the session is not known")
		}
		return Scope{Kind: d.Scope, Key: q.Session.ID, Conn: q.Session.Conn}, nil
	case ForProject:
		if q.Project == "" {
			return Scope{}, errors.New("the call belongs to no project")
		}
		return Scope{Kind: ForProject, Key: q.Project}, nil
	case ForUser:
		return Scope{Kind: ForUser}, nil
	}
	return Scope{}, fmt.Errorf("unknown scope %q", d.Scope)
}

// same returns a choice that says exactly what e says, nil if there is none.
func (s *Store) same(e *entry, fresh []*entry, now int64) *entry {
	for _, list := range [][]*entry{s.state.Load().index.lookup(&e.digest), fresh} {
		for _, other := range list {
			a, b := &e.choice, &other.choice
			if e.digest == other.digest && a.Verdict == b.Verdict && a.Scope == b.Scope && a.UID == b.UID &&
				e.expire == other.expire && !other.over(now) {
				return other
			}
		}
	}
	return nil
}

// selfCheck reads a choice back as a restart would and matches it.
func (s *Store) selfCheck(tx *sql.Tx, e *entry, d *Draft, now int64) (err error) {
	rows, err := tx.Query(selectHolding+" AND n = ?", e.row)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return errors.Join(ErrSelfCheck, rows.Err())
	}
	stored, err := scan(rows)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSelfCheck, err)
	}
	reject, allow := (&index{}).with(stored).match(&s.key, d.Query, now)
	switch d.Verdict {
	case decisions.Allow:
		if allow != stored || reject != nil {
			return ErrSelfCheck
		}
	default:
		if reject != stored || allow != nil {
			return ErrSelfCheck
		}
	}
	return nil
}

// insertAll stores salvaged rejects in the new database.
func (s *Store) insertAll(entries []*entry) error {
	return s.write(func(tx *sql.Tx) error {
		for _, e := range entries {
			if err := insert(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// write runs f in a transaction. A database that turns out to be damaged turns
// allows off.
func (s *Store) write(f func(tx *sql.Tx) error) (err error) {
	defer func() {
		s.writing = ""
		if err != nil && !errors.Is(err, ErrSelfCheck) {
			s.writing = err.Error()
		}
		if sqlitedb.IsDamaged(err) && s.state.Load().off == nil {
			s.turnOff(fmt.Errorf("%w: %w", ErrOff, err))
		}
	}()
	tx, err := s.db.Write.Begin()
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		// The first error says more than that of a rollback.
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
