package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/permd/permd/socket/gatehttp"
)

// noPipelining accepts connections on which a client that sends more before its answer has
// come is taken for gone. net/http sees the end of a connection by reading one byte ahead of
// the next request; once it has read that byte it would not see it any more, and a person
// would be asked for a client that has gone.
type noPipelining struct{ net.Listener }

// Accept returns the next connection.
func (l noPipelining) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// conn is a connection of a client.
type conn struct {
	net.Conn

	serving atomic.Bool // a request is read, and its answer is not complete
	ahead   atomic.Bool // the last read was ahead of the next request
}

var errPipelined = errors.New("the client sends more before it has its answer")

// Read reads from the connection. What net/http reads ahead is one byte; bodies are read
// through its buffer.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	ahead := n == 1 && len(p) == 1
	c.ahead.Store(ahead)
	if ahead && c.serving.Load() {
		return 0, errPipelined
	}
	return n, err
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	if own, ok := c.(*conn); ok {
		ctx = gatehttp.ConnContext(ctx, own.Conn) // which it counts
	}
	return context.WithValue(ctx, connKey{}, c)
}

// servedConn serves requests and notes that on their connections. What comes after the
// handler has returned may be the next request: the client may have its answer.
func servedConn(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			c.serving.Store(true)
			defer c.serving.Store(false)
			if c.ahead.Load() { // it came before serving was set
				w.Header().Set("Connection", "close")
				(&fault{http.StatusBadRequest, errPipelined.Error()}).write(w)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}
