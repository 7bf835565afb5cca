package remember

import (
	"database/sql"
	"time"

	"github.com/permd/permd/decisions"
)

// A clock that is set back must not bring back what has ended. Allows therefore
// end by the latest time that was ever seen; rejects, which may stay too long
// rather than too short, by the clock.

// latest returns the latest time that was seen. It is kept to the second: all
// who match would write to it otherwise.
func (s *Store) latest(now int64) int64 {
	newest := s.newest.Load()
	if now > newest+int64(time.Second) {
		s.newest.CompareAndSwap(newest, now)
	}
	return max(now, newest)
}

// expired reports whether a choice has ended by now.
func (s *Store) expired(e *entry) bool {
	now := s.now().UnixNano()
	if e.choice.Verdict == decisions.Allow {
		now = s.latest(now)
	}
	return e.expiredAt(now)
}

// expireDue is called before choices are added. When the clock has been set back,
// what had ended by then is dropped for good, and time counts from here: else
// a choice made now would have ended as it is made.
func (s *Store) expireDue(now int64) {
	newest := s.newest.Load()
	if newest <= now+int64(time.Minute) {
		return // two requests whose times were taken in another order, no more
	}
	var over []*entry
	for _, e := range s.byID {
		if e.choice.Verdict == decisions.Allow && e.expiredAt(newest) {
			over = append(over, e)
		}
	}
	s.expire(over)
	s.newest.Store(now)
}

// expire drops choices that have ended. The database learns of it too, so that
// a restart does not bring them back; if it cannot be written, their stored times
// prevent that.
func (s *Store) expire(over []*entry) {
	if len(over) == 0 {
		return
	}
	s.drop(over...)
	_ = s.write(func(tx *sql.Tx) error {
		for _, e := range over {
			if _, err := tx.Exec("UPDATE choices SET revoked = ?, revoked_by = ? WHERE n = ? AND revoked IS NULL",
				max(s.newest.Load(), s.now().UnixNano()), expired, e.row); err != nil {
				return err
			}
		}
		return nil
	})
}

// newestIn is the latest time that the choices in the database know of: it was
// once, so what had ended by then has ended.
func newestIn(db *sql.DB) (int64, error) {
	var newest sql.NullInt64
	err := db.QueryRow("SELECT max(max(created), max(coalesce(last_used, 0))) FROM choices WHERE revoked IS NULL").Scan(&newest)
	return newest.Int64, err
}
