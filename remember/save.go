package remember

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/remember/facts"
	"github.com/permd/permd/remember/history"
	"github.com/permd/permd/remember/labels"
	"github.com/permd/permd/remember/lives"
	"github.com/permd/permd/remember/seals"
)

// Save stores choices, all of them or none, and returns them. They are in force
// for the next Match. Before anything is stored, each choice is read back and
// must match the effect that it came from (ErrSelfCheck).
//
// If an equal choice is already in force, that one is returned. An effect that
// is never remembered is ErrNotRemembered.
func (s *Store) Save(_ context.Context, drafts ...Draft) ([]Choice, error) {
	live := make([]*lives.Life, len(drafts))
	for i := range drafts {
		live[i] = s.sessionOf(&drafts[i])
		defer s.lives.Release(live[i])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	choices, err := s.save(drafts, live)
	if err != nil {
		return nil, fmt.Errorf("saving choice: %w", err)
	}
	return choices, nil
}

// save is Save. live are those of the drafts' sessions, nil for those that are for none.
func (s *Store) save(drafts []Draft, live []*lives.Life) ([]Choice, error) {
	now := s.now()
	s.expireBeforeClockBack(now.UnixNano())
	entries := make([]*entry, len(drafts))
	var fresh []*entry
	for i := range drafts {
		e, err := s.entryOf(&drafts[i], now)
		if err != nil {
			return nil, err
		}
		e.life = live[i]
		if same := s.equalChoice(e, fresh); same != nil {
			entries[i] = same
			continue
		}
		if err := s.checkRoom(e, fresh); err != nil {
			return nil, err
		}
		e.setID(newID())
		entries[i], fresh = e, append(fresh, e)
	}
	var old []*entry
	for i, e := range entries {
		for _, other := range s.renewedBy(e, &drafts[i]) {
			if !slices.Contains(old, other) && !slices.Contains(entries, other) {
				old = append(old, other)
			}
		}
	}
	what := history.Add
	if slices.ContainsFunc(drafts, func(d Draft) bool { return d.DecisionID != "" }) {
		what = history.Answer
	}
	err := s.write(func(tx *sql.Tx) error {
		for i, e := range entries {
			if e.row == 0 {
				if err := s.insert(tx, e); err != nil {
					return err
				}
			}
			if err := s.selfCheck(tx, e, &drafts[i], now.UnixNano()); err != nil {
				return err
			}
		}
		if err := s.endRows(tx, old, now, renewed); err != nil {
			return err
		}
		_, err := s.record(tx, what, now, fresh, old)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.hold(old)
	s.drop(old...)
	s.add(fresh...)
	if len(old) > 0 || slices.ContainsFunc(fresh, func(e *entry) bool { return e.choice.Verdict == decisions.Deny }) {
		_ = s.db.Fold() // as for a revocation, the log must not be needed
	}
	// There may be space now for what could not be stored before; the status
	// reports if not.
	_ = s.storePending()
	choices := make([]Choice, len(entries))
	for i, e := range entries {
		choices[i] = e.snapshot()
		choices[i].Earlier = !slices.Contains(fresh, e)
	}
	return choices, nil
}

// checkRoom returns an error if there is no room for one more choice in
// addition to the fresh ones.
func (s *Store) checkRoom(e *entry, fresh []*entry) error {
	weight := e.weight()
	for _, other := range fresh {
		weight += other.weight()
	}
	if s.ofUser[e.choice.UID]+weight > maxChoices {
		return ErrTooMany
	}
	if e.choice.Verdict == decisions.Deny {
		if n, crowded := s.state.Load().index.rejects.full(e); crowded {
			return fmt.Errorf("%w: there are %d rejects that begin like this one", ErrTooMany, n)
		}
		return nil
	}
	if e.line == nil {
		return nil
	}
	n := 0
	key, _ := e.anchor()
	for _, list := range [][]*entry{s.candidates(e), fresh} {
		for _, other := range list {
			if other.line == nil || other.choice.Verdict != e.choice.Verdict || other.choice.UID != e.choice.UID {
				continue
			}
			if beside, _ := other.anchor(); beside == key {
				n++
			}
		}
	}
	if n >= maxAnchored {
		return fmt.Errorf("%w: there are %d lines that begin like this one", ErrTooMany, n)
	}
	return nil
}

// entryOf makes an entry from a draft, or returns why there can be none. It has
// no id yet.
func (s *Store) entryOf(d *Draft, now time.Time) (*entry, error) {
	if d.Verdict != decisions.Allow && d.Verdict != decisions.Deny {
		return nil, fmt.Errorf("%w: %q is no verdict to remember", ErrNotRemembered, d.Verdict)
	}
	if d.Verdict == decisions.Deny {
		return s.rejectOf(d, now)
	}
	q := d.Query
	if q == nil || q.Effect == nil {
		return nil, fmt.Errorf("%w: there is no effect", ErrNotRemembered)
	}
	if err := facts.CheckKnown(q, d.Verdict); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRemembered, err)
	}
	if err := s.allowable(q); err != nil {
		return nil, err
	}
	if !d.Expires.IsZero() && !d.Expires.After(now) {
		return nil, fmt.Errorf("%w: it would have expired already", ErrNotRemembered)
	}
	scope, err := scopeOf(d, q)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRemembered, err)
	}
	e := &entry{stored: factsVersion, choice: Choice{
		Verdict: d.Verdict, Kind: q.Effect.Kind, Pins: pinsOf(q, scope.Kind),
		Scope: scope, UID: q.UID, DecisionID: d.DecisionID, Created: now.UTC(),
	}}
	c := &e.choice
	if !d.Expires.IsZero() {
		c.Expires, e.expire = d.Expires.UTC(), d.Expires.UnixNano()
	}
	c.Pins.Guarded = q.Effect.Guarded() != 0
	if err := s.matchBy(e, d); err != nil {
		return nil, err
	}
	e.bound = s.boundOf(e, q)
	if c.DecisionID == "" {
		e.confirmed.Store(now.UnixNano())
	}
	e.finish()
	if c.Pins.Guarded && !e.answer.Exact {
		return nil, fmt.Errorf("%w: what is guarded is only remembered by its exact path", ErrNotRemembered)
	}
	return e, nil
}

// allowable returns why an allow of the effect must not be remembered.
func (s *Store) allowable(q *decisions.MemoryQuery) error {
	if off := s.state.Load().off; off != nil {
		return off
	}
	if s.options.Allowable != nil {
		if err := s.options.Allowable(q); err != nil {
			return fmt.Errorf("%w: %w", ErrNotRemembered, err)
		}
	}
	return nil
}

// matchBy sets how the entry is matched: by the exact facts of the effect, or
// by the line of the draft's level.
func (s *Store) matchBy(e *entry, d *Draft) error {
	q, c := d.Query, &e.choice
	any := false
	switch {
	case d.Level == 0:
	case c.Kind == effects.KindUse && d.Level == 1:
		any = true
	default:
		if e.line = d.line; e.line == nil {
			e.line = lineOf(q, c.Scope.Kind, d.Level)
		}
		if e.line == nil {
			return fmt.Errorf("%w: the effect has no line of that width", ErrNotRemembered)
		}
		// The displayed line is the one that is matched.
		c.Label, e.stored = e.line.String(), factsLine
		return nil
	}
	c.Pins.Arguments = c.Kind == effects.KindUse && !any
	if c.Label == "" {
		c.Label = labels.Of(q, any, c.Scope.Kind == ForUser)
		if c.Verdict == decisions.Allow && facts.SetsVariables(q.Effect) {
			c.Label = labels.WithVariables(q.Effect.Run, c.Label)
		}
	}
	sum, ok := s.key.digestOf(q, e.form(q))
	if !ok {
		return fmt.Errorf("%w: its facts are not known", ErrNotRemembered)
	}
	e.digest = sum
	return nil
}

func scopeOf(d *Draft, q *decisions.MemoryQuery) (Scope, error) {
	switch d.Scope {
	case ForSession, ForChildren:
		if q.Session.ID == "" {
			return Scope{}, errors.New("the session is not known")
		}
		if q.Session.OneRequest {
			return Scope{}, errors.New("the session ends with its request")
		}
		return Scope{Kind: d.Scope, Key: q.Session.ID, Conn: q.Session.Conn}, nil
	case ForProject:
		if q.Project == "" {
			return Scope{}, errors.New("the call belongs to no project")
		}
		return Scope{Kind: ForProject, Key: q.Key()}, nil
	case ForUser:
		if d.Verdict == decisions.Allow && q.Effect.Run != nil && path.Base(q.Effect.Run.Program) == "git" {
			return Scope{}, errors.New("git obeys the configuration of where it runs, so it is bound to the project")
		}
		return Scope{Kind: ForUser}, nil
	}
	return Scope{}, fmt.Errorf("unknown scope %q", d.Scope)
}

// equalChoice returns an equal choice in force or among fresh that is not about to end, nil if
// there is none.
func (s *Store) equalChoice(e *entry, fresh []*entry, ending ...*entry) *entry {
	for _, list := range [][]*entry{s.candidates(e), fresh} {
		for _, other := range list {
			a, b := &e.choice, &other.choice
			if e.life == other.life && e.digest == other.digest && a.Verdict == b.Verdict && a.Scope == b.Scope && a.UID == b.UID &&
				e.stored == other.stored && (e.line == nil || a.Kind == b.Kind && a.Label == b.Label) &&
				slices.EqualFunc(e.parts, other.parts, func(p, o *rejectPart) bool {
					return p.Kind == o.Kind && p.Rule == o.Rule && slices.Equal(p.Sums, o.Sums)
				}) &&
				samePins(a.Pins, b.Pins) && e.expire == other.expire && !s.expired(other) && !s.refused(other) && !slices.Contains(ending, other) &&
				// A choice made over the management socket counts for more.
				(other.confirmed.Load() != 0 || e.confirmed.Load() == 0) {
				return other
			}
		}
	}
	return nil
}

// candidates returns the entries that may be equal to e.
func (s *Store) candidates(e *entry) []*entry {
	x := s.state.Load().index
	switch {
	case len(e.parts) > 0: // all rejects but some of earlier versions, which are found by their facts
		return x.rejects.sameFirstKey(e)
	case e.line == nil:
		return x.lookup(&e.digest)
	}
	key, _ := e.anchor()
	return x.lines.at([]byte(key))
}

// samePins compares pins; the path of a script is only for display.
func samePins(a, b Pins) bool {
	a.Script, b.Script = "", ""
	return a == b
}

// selfCheck reads a choice back as a restart would and matches it.
func (s *Store) selfCheck(tx *sql.Tx, e *entry, d *Draft, now int64) (err error) {
	if changed, err := seals.Changed(tx, s.key[:], "n = ?", e.row); err != nil || len(changed) > 0 {
		return errors.Join(ErrSelfCheck, err)
	}
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
	if err := s.checkMatches(stored, d, now); err != nil {
		return err
	}
	return rows.Err()
}

// checkMatches checks that a choice alone matches the effect that it came from.
func (s *Store) checkMatches(e *entry, d *Draft, now int64) error {
	if d.Verdict == decisions.Deny {
		return s.checkRejects(e, d, now)
	}
	alone := (&index{}).with(e) // whether it is confirmed does not matter here
	if reject, allow := alone.matchUnconfirmed(&s.key, d.Query, now); allow != e || reject != nil {
		return ErrSelfCheck
	}
	return nil
}

// insertAll stores salvaged rejects in the new database.
func (s *Store) insertAll(entries []*entry) error {
	return s.write(func(tx *sql.Tx) error {
		for _, e := range entries {
			if err := s.insert(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// write runs f in a transaction. If the database turns out to be damaged, it
// turns allows off.
func (s *Store) write(f func(tx *sql.Tx) error) (err error) {
	defer func() {
		s.writeErr = ""
		if err != nil && !errors.Is(err, ErrSelfCheck) && !errors.Is(err, sqlitedb.ErrGone) {
			s.writeErr = err.Error() // what is gone, the status says by itself
		}
		if sqlitedb.IsDamaged(err) && s.state.Load().off == nil {
			s.turnOff(fmt.Errorf("%w: %w", ErrOff, err))
		}
	}()
	// Data written to a deleted file would be lost.
	if err := s.db.InPlace(); err != nil {
		_ = s.note(err)
		return err
	}
	tx, err := s.db.Write.Begin()
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		// The first error is more informative than that of the rollback.
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
