// Package lives knows which sessions that have choices go on. It keeps no choice.
package lives

import (
	"sync"
	"sync/atomic"

	"github.com/permd/permd/decisions"
)

// Life is one life of a session: a session that is declared again with the same id
// has another one.
type Life struct {
	owner  decisions.Owner
	id     string
	isOver atomic.Bool
	users  int // choices, and choices being saved; guarded by Lives.mu
}

// Lives are the lives of all sessions that have choices.
type Lives struct {
	mu sync.Mutex // never held while waiting for anything
	of map[decisions.Owner]map[string]*Life
}

// Use returns the life that the session has now. The caller must call Release.
func (l *Lives) Use(o decisions.Owner, id string) *Life {
	l.mu.Lock()
	defer l.mu.Unlock()
	life := l.of[o][id]
	if life == nil {
		life = &Life{owner: o, id: id}
		if l.of == nil {
			l.of = map[decisions.Owner]map[string]*Life{}
		}
		if l.of[o] == nil {
			l.of[o] = map[string]*Life{}
		}
		l.of[o][id] = life
	}
	life.users++
	return life
}

// UseAgain is Use for a life that is in use.
func (l *Lives) UseAgain(life *Life) {
	l.mu.Lock()
	defer l.mu.Unlock()
	life.users++
}

// Release ends one use of a life.
func (l *Lives) Release(life *Life) {
	if life == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if life.users--; life.users > 0 || life.isOver.Load() {
		return
	}
	of := l.of[life.owner]
	delete(of, life.id)
	if len(of) == 0 {
		delete(l.of, life.owner)
	}
}

// End ends the lives of a session, or of all sessions of the owner if id is nil. It
// reports whether there were any.
func (l *Lives) End(o decisions.Owner, id *string) bool {
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

// IsOver reports whether the session has ended.
func (l *Life) IsOver() bool { return l.isOver.Load() }
