package gatehttp

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
)

// Watched is a connection on which a request can be held. The server of net/http sees the end
// of a connection by reading one byte ahead of the next request; once it has read that byte it
// would not see it any more, and a person would be asked for a client that has gone. So a
// client that sends more while its request is held is taken for gone.
type Watched struct {
	net.Conn

	held  atomic.Bool
	ahead atomic.Bool // the last read was ahead of the next request
	ended atomic.Bool // the client has sent more; nothing is read any more
}

// Watch returns the connection c, for a server whose ConnContext calls that of this package.
func Watch(c net.Conn) *Watched { return &Watched{Conn: c} }

// ErrPipelined is for a client that sends more before it has its answer.
var ErrPipelined = errors.New("the client sends more before it has its answer")

// Read reads from the connection. What net/http reads ahead is one byte; bodies are read
// through its buffer.
func (c *Watched) Read(p []byte) (int, error) {
	if c.ended.Load() {
		return 0, ErrPipelined
	}
	n, err := c.Conn.Read(p)
	ahead := n == 1 && len(p) == 1
	c.ahead.Store(ahead)
	if ahead && c.held.Load() {
		c.ended.Store(true)
		return 0, ErrPipelined
	}
	return n, err
}

// Hold has the context of a request, whose body is read, end when its client goes away or sends
// more, until release is called. It reports false if the client has sent more before.
// What comes after release may be the next request: the client may have its answer.
func Hold(ctx context.Context) (release func(), ok bool) {
	c, watched := ctx.Value(connKey{}).(*Watched)
	if !watched {
		return func() {}, true
	}
	c.held.Store(true)
	release = func() { c.held.Store(false) }
	if c.ahead.Load() { // it came before held was set
		release()
		return func() {}, false
	}
	return release, true
}
