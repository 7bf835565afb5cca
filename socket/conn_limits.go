package socket

import (
	"errors"
	"sync"
)

var (
	errConns       = errors.New("too many connections")
	errConnsPerUID = errors.New("too many connections of this user")
)

// connLimits counts the connections, so that no user can take all of them. What they use
// is shared by package fairshare; the requests of one connection are bounded in requests.go.
type connLimits struct {
	maxConns, maxConnsPerUID int
	// leaveFree is set if a user may hold no more connections than are free, besides the
	// first: then several users together cannot take all of them from the others either. Two
	// that open as many as they can hold a third each, and leave one.
	leaveFree bool

	mu    sync.Mutex
	conns int
	users map[uint32]int
}

// enter counts a connection. The error is the limit that it would exceed.
func (l *connLimits) enter(uid uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.conns >= l.maxConns:
		return errConns
	case l.users[uid] >= l.maxConnsPerUID, l.leaveFree && l.users[uid] > 0 && l.users[uid] >= l.maxConns-l.conns:
		return errConnsPerUID
	}
	if l.users == nil {
		l.users = map[uint32]int{}
	}
	l.users[uid]++
	l.conns++
	return nil
}

// leave undoes enter.
func (l *connLimits) leave(uid uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns--
	if l.users[uid]--; l.users[uid] == 0 {
		delete(l.users, uid)
	}
}

// Limits counts the connections of one server, so that no user can take all of them.
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
