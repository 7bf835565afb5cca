package native

import (
	"sync"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// maxShells bounds the sessions whose shell is known to have changed.
const maxShells = decisions.MaxSessions

// Shells says in which sessions of a connection a call may have changed what
// later commands mean: in a shell that stays alive, a cd of one call moves the
// relative paths of the next. It may be used from any goroutine.
type Shells struct {
	mu      sync.Mutex
	changed map[string]bool
	all     bool // there were too many to tell apart
}

// Changed reports whether an earlier call may have changed the session's shell.
func (s *Shells) Changed(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all || s.changed[session]
}

// Note takes a decision in. A call that was denied does not run; one that was
// left to the person may.
func (s *Shells) Note(session string, d *decisions.Decision) {
	if session == "" || d.Verdict == decisions.Deny {
		return
	}
	for i := range d.Effects {
		if d.Effects[i].Kind == effects.KindState {
			s.note(session)
			return
		}
	}
}

func (s *Shells) note(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = map[string]bool{}
	}
	if s.changed[session] = true; len(s.changed) > maxShells {
		s.changed, s.all = nil, true
	}
}

func (s *Shells) forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.changed, session)
}
