package client

import (
	"context"
	"errors"
	"net"
	"time"
)

// ErrConnectTimeout means that permd was not there, or did not take the session, within the
// time that a SessionConn allows.
var ErrConnectTimeout = errors.New("it did not answer in time")

// SessionConn is a connection to permd on which one session is declared. It is made when it
// is needed, and again after it has ended: a daemon that restarts is found again by the next
// call. What permd keeps for a connection, such as its questions, ends with each of them.
//
// It is safe for concurrent use. Whoever comes while another makes the connection waits, and
// can give up.
type SessionConn struct {
	dial    func(context.Context) (*Client, error)
	session func() *Session
	timeout time.Duration

	closed context.Context // ends with Close
	shut   context.CancelCauseFunc

	turn     chan struct{} // holds one while the rest is used
	conn     *Client
	declared *Session
}

// NewSessionConn returns a SessionConn that connects with dial and declares what session
// returns then, both within timeout. Close must be called.
func NewSessionConn(dial func(context.Context) (*Client, error), timeout time.Duration, session func() *Session) *SessionConn {
	s := &SessionConn{dial: dial, session: session, timeout: timeout, turn: make(chan struct{}, 1)}
	s.closed, s.shut = context.WithCancelCause(context.Background())
	return s
}

// Connection returns the connection, and the session as it was declared on it. A connection
// that is there is returned even if ctx has ended. The error is that of dial, of the
// declaration or of ctx, ErrConnectTimeout, or net.ErrClosed after Close.
func (s *SessionConn) Connection(ctx context.Context) (*Client, *Session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, ErrConnectTimeout)
	defer cancel()
	if err := s.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer func() { <-s.turn }()
	if s.closed.Err() != nil {
		return nil, nil, net.ErrClosed
	}
	if s.conn != nil {
		select {
		case <-s.conn.Done():
			s.conn, s.declared = nil, nil
		default:
			return s.conn, s.declared, nil
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.closed, func() { stop(net.ErrClosed) })()
	c, err := s.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	declared := s.session()
	if _, err := DeclareSession(ctx, c, declared); err != nil {
		c.Close()
		return nil, nil, err
	}
	s.conn, s.declared = c, declared
	return c, declared, nil
}

// enter takes the turn.
func (s *SessionConn) enter(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-s.closed.Done():
		return net.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close closes the connection, for good. Calls that still use it fail.
func (s *SessionConn) Close() {
	s.shut(net.ErrClosed)
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.conn != nil {
		s.conn.Close()
		s.conn, s.declared = nil, nil
	}
}
