package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/socket"
)

// Keys of what the context of a request holds.
type (
	peerKey   struct{} // a decisions.Peer
	memberKey struct{} // a *fairshare.Member
)

// admittingListener accepts the connections of peers that may use the server, within its
// limits.
type admittingListener struct {
	net.Listener
	server *server
}

// Accept returns the next admitted connection. Others get an error response and are
// closed.
func (g *admittingListener) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if a := g.server.admitConn(c); a != nil {
			return a, nil
		}
	}
}

// admittedConn is a connection that is counted in the limits until it is closed.
type admittedConn struct {
	net.Conn
	peer    decisions.Peer
	member  *fairshare.Member
	release func()
	once    sync.Once
}

func (a *admittedConn) Close() error {
	a.once.Do(a.release)
	return a.Conn.Close()
}

func (s *server) admitConn(c net.Conn) *admittedConn {
	peer := s.Owner
	if uc, ok := c.(*net.UnixConn); ok {
		var err error
		if peer, err = socket.PeerOf(uc); err != nil {
			s.log.Warn("finding out who connected", "error", err)
			_ = c.Close()
			return nil
		}
		if err := s.Socket.Admit(peer); err != nil {
			s.log.Info("refusing a connection", "uid", peer.UID, "pid", peer.PID, "error", err)
			turnAway(c, &apiError{http.StatusForbidden, "forbidden", "this user may not use this socket"})
			return nil
		}
	}
	if err := s.limits.Enter(peer.UID); err != nil {
		s.log.Info("refusing a connection", "uid", peer.UID, "pid", peer.PID, "error", err)
		turnAway(c, &apiError{http.StatusServiceUnavailable, "busy", err.Error()})
		return nil
	}
	if s.Socket.Open != nil {
		s.Socket.Open.Add(1)
	}
	member := s.Socket.Share.Join(peer.UID)
	return &admittedConn{Conn: c, peer: peer, member: member, release: func() {
		member.Leave()
		s.limits.Leave(peer.UID)
		if s.Socket.Open != nil {
			s.Socket.Open.Add(-1)
		}
	}}
}

// turnAway writes an error response without reading the request, and closes the
// connection. It waits at most 100 ms for the client to read it.
func turnAway(c net.Conn, f *apiError) {
	defer c.Close()
	body, err := json.Marshal(f)
	if err != nil {
		return
	}
	if err := c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err == nil {
		fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
			f.Status, http.StatusText(f.Status), len(body), body)
	}
}
