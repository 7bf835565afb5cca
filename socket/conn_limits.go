package socket

import (
	"errors"
	"sync"
)

var (
	errConns       = errors.New("too many connections")
	errConnsPerUID = errors.New("too many connections of this user")
)

// connLimits counts the connections and their memory, so that no user can take all of
// it. The requests of one connection are bounded in calls.go.
type connLimits struct {
	maxConns, maxConnsPerUID int
	maxBytes                 int // of long messages, shared by all users

	mu    sync.Mutex
	conns int
	bytes int
	users map[uint32]*usage
}

type usage struct{ conns, bytes int }

// enter counts a connection. The error is the limit that it would exceed.
func (l *connLimits) enter(uid uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.users[uid]
	if u == nil {
		u = &usage{}
	}
	switch {
	case l.conns >= l.maxConns:
		return errConns
	case u.conns >= l.maxConnsPerUID:
		return errConnsPerUID
	}
	if l.users == nil {
		l.users = map[uint32]*usage{}
	}
	l.users[uid] = u
	l.conns++
	u.conns++
	return nil
}

// leave undoes enter.
func (l *connLimits) leave(uid uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns--
	u := l.users[uid]
	if u.conns--; u.conns == 0 && u.bytes == 0 {
		delete(l.users, uid)
	}
}

// reserve takes n bytes of the budget for a user with a connection. One user gets at
// most half of it.
func (l *connLimits) reserve(uid uint32, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.users[uid]
	if u == nil || l.bytes+n > l.maxBytes || u.bytes+n > l.maxBytes/2 {
		return false
	}
	l.bytes += n
	u.bytes += n
	return true
}

// release returns n bytes to the budget.
func (l *connLimits) release(uid uint32, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= n
	u := l.users[uid]
	if u.bytes -= n; u.conns == 0 && u.bytes == 0 {
		delete(l.users, uid)
	}
}

// Limits counts what the connections of one server use, so that no user can take all of
// it.
type Limits struct{ connLimits }

// NewLimits returns the limits in o. Zero values mean the defaults.
func NewLimits(o Options) *Limits {
	o = o.withDefaults()
	return &Limits{o.limits()}
}

// Enter counts a connection of a user. The error is the limit that it would exceed.
func (l *Limits) Enter(uid uint32) error { return l.enter(uid) }

// Leave undoes Enter.
func (l *Limits) Leave(uid uint32) { l.leave(uid) }

// Reserve takes n bytes of the budget for a user with a connection. One user gets at
// most half of it.
func (l *Limits) Reserve(uid uint32, n int) bool { return l.reserve(uid, n) }

// Release returns n bytes to the budget.
func (l *Limits) Release(uid uint32, n int) { l.release(uid, n) }
