package remember

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/remember/erase"
	"github.com/permd/permd/remember/history"
	"github.com/permd/permd/remember/pending"
)

// The reasons of a revocation, as they are stored.
const (
	byPerson     = pending.ByPerson
	sessionEnded = "session ended"
	expired      = "expired"
	renewed      = "renewed" // by a choice for the content of now
)

// Forget revokes choices and returns how many were in force. The revocation
// takes effect immediately, whatever happens to the disk; if it could not be
// made to survive a restart, the error is ErrPending. Unknown ids are
// ErrNotFound; the others are still revoked. The caller must check whether the
// person may revoke them.
func (s *Store) Forget(_ context.Context, ids ...string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*entry
	var errs []error
	for _, id := range ids {
		if e := s.byID[id]; e == nil {
			errs = append(errs, fmt.Errorf("%w: %q", ErrNotFound, id))
		} else if !slices.Contains(found, e) {
			found = append(found, e)
		}
	}
	s.noteForgotten(found)
	s.hold(found)
	errs = append(errs, s.revoke(found, byPerson))
	return len(found), errors.Join(errs...)
}

// revoke removes entries from RAM first, then from the database. If the
// database cannot be written, the ids go to a file that needs no new space.
func (s *Store) revoke(entries []*entry, reason string) error {
	if len(entries) == 0 {
		return nil
	}
	if slices.Contains(entries, s.lostEntry) {
		s.accepted = append(s.accepted, s.missing...)
	}
	s.drop(entries...)
	s.uncounted = append(s.uncounted, entries...)
	now := s.now().UnixNano()
	for _, e := range entries {
		s.pending.IDs[e.choice.ID] = pending.Revocation{
			At: now, By: reason, Created: e.choice.Created.UnixNano(),
			Temporary: e.choice.Scope.Conn != 0, NeverStored: e.choice.Verdict == decisions.Deny,
		}
	}
	if s.closed {
		return errors.Join(ErrPending, ErrClosed)
	}
	err := s.storePending()
	if err == nil {
		if slices.ContainsFunc(entries, func(e *entry) bool { return e.choice.Scope.Conn == 0 }) {
			// Choices of a connection end with the daemon anyway. If this
			// fails, the revocation is still in the write-ahead log.
			_ = s.db.Fold()
		}
		return nil
	}
	if perr := s.pending.Save(); perr != nil {
		return fmt.Errorf("%w: %w", ErrPending, errors.Join(err, perr))
	}
	return nil
}

// endRows revokes choices in a transaction.
func (s *Store) endRows(tx *sql.Tx, entries []*entry, now time.Time, reason string) error {
	for _, e := range entries {
		if err := erase.Rows(tx, s.key[:], now.UnixNano(), reason, "n = ? AND revoked IS NULL", e.row); err != nil {
			return err
		}
	}
	_, err := storeCounts(tx, entries)
	return err
}

// storePending writes the revocations that the database lacks. Those of choices
// that it does not contain are kept for the database that does.
func (s *Store) storePending() error {
	if len(s.pending.IDs) == 0 {
		if s.pending.Unsaved {
			return s.pending.Save()
		}
		return nil
	}
	absent := map[string]pending.Revocation{}
	err := s.write(func(tx *sql.Tx) error {
		clear(absent)
		for id, r := range s.pending.IDs {
			if err := erase.Rows(tx, s.key[:], r.At, r.By, "id = ? AND revoked IS NULL", id); err != nil {
				return err
			}
			var n int
			err := tx.QueryRow("SELECT count(*) FROM choices WHERE id = ?", id).Scan(&n)
			// A reject made in this run without a row was never stored, so no
			// database has it.
			if err != nil || n == 0 && !r.Temporary && !r.NeverStored {
				absent[id] = r
			}
		}
		for i := range s.unrecorded {
			if err := history.Record(tx, &s.unrecorded[i]); err != nil {
				return err
			}
		}
		if _, err := storeCounts(tx, s.uncounted); err != nil {
			return err
		}
		return accept(tx, s.accepted)
	})
	if err != nil {
		return err
	}
	s.accepted, s.unrecorded, s.uncounted = nil, nil, nil
	clear(s.pending.IDs)
	maps.Copy(s.pending.NotInDatabase, absent)
	return s.pending.Save()
}

// dropPending applies the revocations that an earlier run could not store, or
// stored in no database that contains their choices.
func (s *Store) dropPending() {
	now := s.now().UnixNano()
	old := 0
	for id, e := range s.byID {
		if e.choice.Verdict == decisions.Allow && e.choice.Created.UnixNano() <= s.pending.RevokedBefore {
			if _, named := s.pending.IDs[id]; !named {
				s.pending.IDs[id] = pending.Revocation{At: now, By: byPerson, Created: e.choice.Created.UnixNano()}
				old++
			}
		}
	}
	if old > 0 {
		s.problems = append(s.problems, fmt.Sprintf("%d remembered allows were revoked, since any of them may have been: more revocations than could be noted while the database could not be written", old))
	}
	var entries []*entry
	for id := range s.pending.IDs {
		if e := s.byID[id]; e != nil {
			entries = append(entries, e)
		}
	}
	s.drop(entries...)
	// They are in force in RAM; the status reports if the database still lacks
	// them.
	if s.storePending() == nil && len(entries) > 0 {
		_ = s.db.Fold() // like a revocation made in this run
	}
}

// Flush stores use counts and revocations that are not stored yet, and drops
// expired choices. The daemon calls it every few minutes; only the counts
// depend on it.
func (s *Store) Flush(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if err := s.flush(); err != nil {
		return fmt.Errorf("storing use counts: %w", err)
	}
	return nil
}

func (s *Store) flush() error {
	if err := errors.Join(s.revokeEnded(), s.storePending()); err != nil {
		return err
	}
	if len(s.unstored) > 0 {
		unstored := slices.DeleteFunc(s.unstored, func(e *entry) bool { return s.byID[e.choice.ID] == nil })
		if err := s.insertAll(unstored); err != nil {
			return err
		}
		s.unstored = nil
	}
	var used, over []*entry
	for _, e := range s.byID {
		if e.matchCount.Load() != e.flushed {
			used = append(used, e)
		}
		if s.expired(e) {
			over = append(over, e)
		}
	}
	if len(used) > 0 {
		slices.SortFunc(used, func(a, b *entry) int { return int(a.row - b.row) })
		var counts []int64
		err := s.write(func(tx *sql.Tx) (err error) {
			counts, err = storeCounts(tx, used)
			return err
		})
		if err != nil {
			return err
		}
		for i, e := range used {
			e.flushed = counts[i]
		}
	}
	s.expire(over)
	return nil
}

// storeCounts stores how often entries have matched, which it returns.
func storeCounts(tx *sql.Tx, entries []*entry) (counts []int64, err error) {
	for _, e := range entries {
		n, last := e.matchCount.Load(), e.lastMatch.Load()
		if n != e.flushed {
			if _, err := tx.Exec("UPDATE choices SET uses = ?, last_used = ? WHERE n = ?", n, last, e.row); err != nil {
				return nil, err
			}
		}
		counts = append(counts, n)
	}
	return counts, nil
}
