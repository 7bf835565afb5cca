package remember

import (
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/remember/lives"
)

// A session ends on the goroutine that reads its client's messages. That must not wait for
// the disk, nor for a lock that is held while something is written: the client's
// cancellations would wait too. So all choices for a session have one lives.Life in
// common, and match nothing from the moment it ends. They are removed from the index and
// revoked in the database afterwards.

// EndSession revokes the choices that were made for a session. They match nothing when
// it returns, and are revoked in the database soon after. It does not wait for the disk.
func (s *Store) EndSession(o decisions.Owner, id string) {
	if s.lives.End(o, &id) {
		s.revokeSoon()
	}
}

// EndConnection does what EndSession does for all sessions of a connection. Sessions
// without a connection (Conn 0) stay.
func (s *Store) EndConnection(o decisions.Owner) {
	if o.Conn != 0 && s.lives.End(o, nil) {
		s.revokeSoon()
	}
}

// revokeSoon revokes the choices of ended sessions on another goroutine.
func (s *Store) revokeSoon() {
	if !s.revoking.CompareAndSwap(false, true) {
		return
	}
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.revoking.Store(false) // what ends from here on may not be found below
		// Status reports a failure, and Flush tries again.
		_ = s.revokeEnded()
	}()
}

// revokeEnded revokes the choices of ended sessions. Store.mu must be held.
func (s *Store) revokeEnded() error {
	var over []*entry
	for _, e := range s.byID {
		if e.sessionEnded() {
			over = append(over, e)
		}
	}
	return s.revoke(over, sessionEnded)
}

// sessionEnded reports whether the choice was made for a session that has ended.
func (e *entry) sessionEnded() bool { return e.life != nil && e.life.IsOver() }

// sessionOf returns the life of the session that a draft is for, nil if it is for none.
// The caller must release it. It must be called before waiting for Store.mu, so that the
// choice does not become one of a later session with the same id.
func (s *Store) sessionOf(d *Draft) *lives.Life {
	q := d.Query
	if d.rejects != nil {
		q = &d.rejects.Query
	}
	if q == nil || !d.Scope.ofSession() {
		return nil
	}
	return s.lives.Use(decisions.Owner{UID: q.UID, Conn: q.Session.Conn}, q.Session.ID)
}

// addToSession makes an entry count as one of its session.
func (s *Store) addToSession(e *entry) {
	switch c := &e.choice; {
	case !c.Scope.Kind.ofSession():
	case e.life == nil: // from the database
		e.life = s.lives.Use(decisions.Owner{UID: c.UID, Conn: c.Scope.Conn}, c.Scope.Key)
	default:
		s.lives.UseAgain(e.life)
	}
}

// anyEnded reports whether the session of one of the entries has ended.
func anyEnded(entries []*entry) bool { return slices.ContainsFunc(entries, (*entry).sessionEnded) }
