package remember

import (
	"database/sql"
	"errors"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/remember/erase"
)

// Setting the clock back must not revive choices that have expired. Allows
// therefore expire by the latest time ever observed; rejects, which should last
// too long rather than too short, by the clock.

// latest returns the latest time observed. It has a resolution of a second:
// otherwise every match would write it.
func (s *Store) latest(now int64) int64 {
	newest := s.newest.Load()
	if now > newest+int64(time.Second) {
		s.newest.CompareAndSwap(newest, now)
	}
	return max(now, newest)
}

// expired reports whether a choice has expired by now.
func (s *Store) expired(e *entry) bool { return s.expiredNow()(e) }

// expiredNow returns what expired does at this moment.
func (s *Store) expiredNow() func(*entry) bool {
	now := s.now().UnixNano()
	latest := s.latest(now)
	return func(e *entry) bool {
		if e.choice.Verdict == decisions.Allow {
			return e.expiredAt(latest)
		}
		return e.expiredAt(now)
	}
}

// expireBeforeClockBack is called before choices are added. If the clock was set back,
// choices that had already expired are dropped permanently, and time restarts
// from here: otherwise a choice made now would expire immediately.
func (s *Store) expireBeforeClockBack(now int64) {
	newest := s.newest.Load()
	if newest <= now+int64(time.Minute) {
		return // just two requests whose times were taken out of order
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

// expire drops choices that have expired. It also removes them from the
// database, so that a restart does not revive them; if that fails, their stored
// times prevent it.
func (s *Store) expire(over []*entry) {
	if len(over) == 0 {
		return
	}
	s.drop(over...)
	_ = s.write(func(tx *sql.Tx) error {
		for _, e := range over {
			if err := erase.Rows(tx, s.key[:], max(s.newest.Load(), s.now().UnixNano()), expired, "n = ? AND revoked IS NULL", e.row); err != nil {
				return err
			}
		}
		return nil
	})
}

// newestIn returns the latest time recorded in the choices of the database.
// That time has been reached, so everything that expired by then has expired.
func newestIn(db *sql.DB) (int64, error) {
	var newest sql.NullInt64
	err := db.QueryRow("SELECT max(max(created), max(coalesce(last_used, 0))) FROM choices WHERE revoked IS NULL").Scan(&newest)
	return newest.Int64, err
}

// maxExpiry is the longest time limit of a choice; longer-lived choices have
// none.
const maxExpiry = 10 * 365 * 24 * time.Hour

// Expiry is a number of seconds as the time limit of a choice; 0 is none.
func Expiry(seconds int64) (time.Duration, error) {
	// What no time.Duration can hold is out of bounds either way.
	limit := time.Duration(min(max(seconds, -1), int64(maxExpiry/time.Second)+1)) * time.Second
	return limit, checkExpiry(limit)
}

// refused reports whether an allow applies to nothing, as Options.Refuse says.
func (s *Store) refused(e *entry) bool {
	return s.options.Refuse != nil && s.options.Refuse(&e.choice, e.confirmed.Load(), s.latest(s.now().UnixNano()), nil) != ""
}

// checkExpiry returns why a choice cannot have that time limit; 0 is none.
func checkExpiry(limit time.Duration) error {
	if limit < 0 || limit > maxExpiry {
		return errors.New("the time limit must be more than nothing and at most ten years")
	}
	return nil
}
