package socket

import (
	"net"

	"github.com/permd/permd/decisions"
)

// What follows is for servers of permd's that speak something else than lines
// over a socket of theirs: the same peers, limits and methods.

// NewConn returns a connection of that peer which no server serves: methods are
// called on it one at a time, as on a connection's reading goroutine. The caller
// calls end when it is over, once.
func NewConn(peer decisions.Peer) (c *Conn, end func()) {
	c = &Conn{ID: connIDs.Add(1), Peer: peer}
	return c, func() {
		for _, f := range c.onClose {
			f()
		}
	}
}

// PeerOf is the process at the other end of a Unix socket.
func PeerOf(c *net.UnixConn) (decisions.Peer, error) { return peerOf(c) }

// Limits count what the connections of one server use, so that no user can take
// all of it.
type Limits struct{ limits }

// NewLimits returns the limits of Options, where a zero means the default.
func NewLimits(o Options) *Limits {
	o = o.withDefaults()
	return &Limits{o.limits()}
}

// Enter counts a connection, or says which limit it would exceed.
func (l *Limits) Enter(uid uint32) error { return l.enter(uid) }

// Leave ends what Enter began.
func (l *Limits) Leave(uid uint32) { l.leave(uid) }

// Reserve takes n bytes of what all messages may use together, for a user who has
// entered. A user gets at most half of it.
func (l *Limits) Reserve(uid uint32, n int) bool { return l.reserve(uid, n) }

// Release gives back n bytes.
func (l *Limits) Release(uid uint32, n int) { l.release(uid, n) }
