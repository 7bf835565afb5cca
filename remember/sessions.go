package remember

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/permd/permd/decisions"
)

// A session ends on the goroutine that reads its client's messages. That must not wait for
// the disk, nor for a lock that is held while something is written: the client's
// cancellations would wait too. So all choices for a session have one sessionLife in
// common, and match nothing from the moment it ends. They are removed from the index and
// revoked in the database afterwards.

// sessionLife is one life of a session: a session that is declared again with the same id
// has another one.
type sessionLife struct {
	key    sessionKey
	isOver atomic.Bool
	users  int // choices, and choices being saved; guarded by sessionLives.mu
}

type sessionKey struct {
	owner decisions.Owner
	id    string
}

// sessionLives are the lives of all sessions that have choices.
type sessionLives struct {
	mu       sync.Mutex // never held while waiting for anything
	of       map[decisions.Owner]map[string]*sessionLife
	revoking bool // a goroutine waits to revoke the choices of ended sessions
}

// use returns the life that the session has now. The caller must call release.
func (l *sessionLives) use(key sessionKey) *sessionLife {
	l.mu.Lock()
	defer l.mu.Unlock()
	life := l.of[key.owner][key.id]
	if life == nil {
		life = &sessionLife{key: key}
		if l.of == nil {
			l.of = map[decisions.Owner]map[string]*sessionLife{}
		}
		if l.of[key.owner] == nil {
			l.of[key.owner] = map[string]*sessionLife{}
		}
		l.of[key.owner][key.id] = life
	}
	life.users++
	return life
}

// useAgain is use for a life that is in use.
func (l *sessionLives) useAgain(life *sessionLife) {
	l.mu.Lock()
	defer l.mu.Unlock()
	life.users++
}

// release ends one use of a life.
func (l *sessionLives) release(life *sessionLife) {
	if life == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if life.users--; life.users > 0 || life.isOver.Load() {
		return
	}
	of := l.of[life.key.owner]
	delete(of, life.key.id)
	if len(of) == 0 {
		delete(l.of, life.key.owner)
	}
}

// end ends the lives of a session, or of all sessions of the owner if id is nil. It
// reports whether there were any.
func (l *sessionLives) end(o decisions.Owner, id *string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := false
	for key, life := range l.of[o] {
		if id == nil || key == *id {
			life.isOver.Store(true)
			delete(l.of[o], key)
			found = true
		}
	}
	if len(l.of[o]) == 0 {
		delete(l.of, o)
	}
	return found
}

// EndSession revokes the choices that were made for a session. They match nothing when
// it returns, and are revoked in the database soon after. It does not wait for the disk.
func (s *Store) EndSession(o decisions.Owner, id string) {
	if s.lives.end(o, &id) {
		s.revokeSoon()
	}
}

// EndConnection does what EndSession does for all sessions of a connection. Sessions
// without a connection (Conn 0) stay.
func (s *Store) EndConnection(o decisions.Owner) {
	if o.Conn != 0 && s.lives.end(o, nil) {
		s.revokeSoon()
	}
}

// revokeSoon revokes the choices of ended sessions on another goroutine.
func (s *Store) revokeSoon() {
	s.lives.mu.Lock()
	defer s.lives.mu.Unlock()
	if s.lives.revoking {
		return
	}
	s.lives.revoking = true
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lives.mu.Lock()
		s.lives.revoking = false // what ends from here on may not be found below
		s.lives.mu.Unlock()
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
func (e *entry) sessionEnded() bool { return e.life != nil && e.life.isOver.Load() }

// sessionOf returns the life of the session that a draft is for, nil if it is for none.
// The caller must release it. It must be called before waiting for Store.mu, so that the
// choice does not become one of a later session with the same id.
func (s *Store) sessionOf(d *Draft) *sessionLife {
	q := d.Query
	if d.rejects != nil {
		q = &d.rejects.Query
	}
	if q == nil || !d.Scope.ofSession() {
		return nil
	}
	return s.lives.use(sessionKey{decisions.Owner{UID: q.UID, Conn: q.Session.Conn}, q.Session.ID})
}

// addToSession makes an entry count as one of its session.
func (s *Store) addToSession(e *entry) {
	switch c := &e.choice; {
	case !c.Scope.Kind.ofSession():
	case e.life == nil: // from the database
		e.life = s.lives.use(sessionKey{decisions.Owner{UID: c.UID, Conn: c.Scope.Conn}, c.Scope.Key})
	default:
		s.lives.useAgain(e.life)
	}
}

// anyEnded reports whether the session of one of the entries has ended.
func anyEnded(entries []*entry) bool { return slices.ContainsFunc(entries, (*entry).sessionEnded) }
