package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/gatehttp"
)

// connKey is the key of a request's context for its *admittedConn.
type connKey struct{}

// connContext keeps the connection of requests.
func connContext(ctx context.Context, c net.Conn) context.Context {
	if a, ok := c.(*admittedConn); ok {
		return context.WithValue(gatehttp.ConnContext(ctx, a.Conn), connKey{}, a)
	}
	return ctx
}

// connOf returns the connection of a request, nil if it is not known.
func connOf(ctx context.Context) *admittedConn {
	a, _ := ctx.Value(connKey{}).(*admittedConn)
	return a
}

// memberOf returns the member of the shares that a request's connection is, nil if there is none.
func memberOf(ctx context.Context) *fairshare.Member {
	if a := connOf(ctx); a != nil {
		return a.member
	}
	return nil
}

// admittingListener accepts the connections of peers that may use the server, within its
// limits. On a loopback address any process of the machine can connect: a connection counts
// there once a request on it has the token (see [server.enter]).
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
	peer   decisions.Peer
	admin  bool              // of socket.Members
	member *fairshare.Member // nil until it is counted

	mu      sync.Mutex
	closed  bool
	release func() // nil until it is counted
}

func (a *admittedConn) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if release := a.release; release != nil {
		a.release = nil
		release()
	}
	a.closed = true
	return a.Conn.Close()
}

var errClosed = errors.New("the connection is closed")

// count counts a connection in the limits, once.
func (s *server) count(a *admittedConn) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return errClosed
	case a.release != nil:
		return nil
	}
	if err := s.limits.Enter(a.peer.UID); err != nil {
		s.log.Info("refusing a connection", "uid", a.peer.UID, "pid", a.peer.PID, "error", err)
		return err
	}
	if s.Socket.Open != nil {
		s.Socket.Open.Add(1)
	}
	member := s.Socket.Share.Join(a.peer.UID)
	a.member, a.release = member, func() {
		member.Leave()
		s.limits.Leave(a.peer.UID)
		if s.Socket.Open != nil {
			s.Socket.Open.Add(-1)
		}
	}
	return nil
}

// enter counts the connection of a request that may be served. It returns why there is no
// place for it.
func (s *server) enter(r *http.Request) *apiError {
	if !gatehttp.Admit(r) {
		return &apiError{Status: http.StatusServiceUnavailable, Code: "busy", Message: "too many connections"}
	}
	if a := connOf(r.Context()); a != nil {
		if err := s.count(a); err != nil {
			return &apiError{Status: http.StatusServiceUnavailable, Code: "busy", Message: err.Error()}
		}
	}
	return nil
}

func (s *server) admitConn(c net.Conn) *admittedConn {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return &admittedConn{Conn: c, peer: s.Owner}
	}
	peer, err := socket.PeerOf(uc)
	if err != nil {
		s.log.Warn("finding out who connected", "error", err)
		_ = c.Close()
		return nil
	}
	admin, err := s.Socket.Allows(c, peer)
	if err != nil {
		s.log.Info("refusing a connection", "uid", peer.UID, "pid", peer.PID, "error", err)
		turnAway(c, &apiError{Status: http.StatusForbidden, Code: "forbidden", Message: "this user may not use this socket"})
		return nil
	}
	a := &admittedConn{Conn: gatehttp.Watch(c), peer: peer, admin: admin}
	if err := s.count(a); err != nil {
		turnAway(c, &apiError{Status: http.StatusServiceUnavailable, Code: "busy", Message: err.Error()})
		return nil
	}
	return a
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
