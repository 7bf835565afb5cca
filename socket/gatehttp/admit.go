package gatehttp

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/permd/permd/socket"
)

// LimitConns returns a listener of ln's connections for the server of a gateway, whose
// ConnContext must be ConnContext, and which must call Admit. Its Accept may wait until the
// oldest connection without a token has had the time to send one.
func LimitConns(ln net.Listener) net.Listener {
	return &admitting{Listener: ln, freed: make(chan struct{}, 1)}
}

// ConnContext keeps the connection of requests for Admit and Hold.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Admit counts the connection of a request that has the token as one whose peer may ask. It
// reports whether there is a place for it. A request that it does not admit must not be served.
func Admit(r *http.Request) bool {
	w, ok := r.Context().Value(connKey{}).(*Watched)
	if !ok {
		return true
	}
	c, ok := w.Conn.(*countedConn)
	return !ok || c.admit()
}

// admitting is a listener that keeps a bounded number of connections. Any process of the
// machine can connect to a loopback address, and send nothing or half a request: connections
// on which no token has come yet have places of their own, where a new one takes that of the
// oldest. On a Unix socket only this user and root are served, who need no token.
type admitting struct {
	net.Listener

	mu        sync.Mutex
	strangers []*countedConn // without a token yet, the oldest first
	admitted  int            // further ones
	freed     chan struct{}  // holds one after a stranger's place was freed
}

// connKey is the key of a request's context for its connection.
type connKey struct{}

// countedConn is a connection that is counted until it is closed.
type countedConn struct {
	net.Conn
	by    *admitting
	since time.Time // when it got a place of those without a token

	// Guarded by by.mu.
	admitted, closed bool
}

// Accept returns the next connection that is served. Others are closed.
func (a *admitting) Accept() (net.Conn, error) {
	for {
		conn, err := a.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &countedConn{Conn: conn, by: a}
		uc, ok := conn.(*net.UnixConn)
		if !ok {
			a.enter(c)
			return Watch(c), nil
		}
		if peer, err := socket.PeerOf(uc); err == nil && socket.AdmitSelf(peer) == nil && c.admit() {
			return Watch(c), nil
		}
		conn.Close()
	}
}

// enter counts a connection without a token. If there are too many, the oldest is closed, but
// not before it had the time to send its token: many may come at once, faster than requests
// are read.
func (a *admitting) enter(c *countedConn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.strangers) >= maxStrangers {
		oldest := a.strangers[0]
		wait := time.Until(oldest.since.Add(strangerTime))
		if wait <= 0 { // it is not admitted meanwhile, as a.mu is held
			a.leave(oldest)
			_ = oldest.Conn.Close()
			continue
		}
		a.mu.Unlock()
		late := time.NewTimer(wait)
		select {
		case <-a.freed:
		case <-late.C:
		}
		late.Stop()
		a.mu.Lock()
	}
	c.since = time.Now()
	a.strangers = append(a.strangers, c)
}

// admit counts a connection as one of a peer that may ask. It reports whether there is a place
// for it, and it was not closed before.
func (c *countedConn) admit() bool {
	a := c.by
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case c.closed:
		return false
	case c.admitted:
		return true
	case a.admitted >= maxConns:
		return false
	}
	a.forget(c)
	a.admitted++
	c.admitted = true
	return true
}

// forget takes a connection from those without a token. The caller holds a.mu.
func (a *admitting) forget(c *countedConn) {
	before := len(a.strangers)
	if a.strangers = slices.DeleteFunc(a.strangers, func(s *countedConn) bool { return s == c }); len(a.strangers) == before {
		return
	}
	select {
	case a.freed <- struct{}{}:
	default:
	}
}

// leave frees the place of a connection that is closed. The caller holds a.mu.
func (a *admitting) leave(c *countedConn) {
	if c.closed {
		return
	}
	c.closed = true
	if c.admitted {
		a.admitted--
	}
	a.forget(c)
}

// Close closes the connection, and frees its place.
func (c *countedConn) Close() error {
	c.by.mu.Lock()
	c.by.leave(c)
	c.by.mu.Unlock()
	return c.Conn.Close()
}
