package reviewweb

import (
	"net"
	"os"
	"sync"
)

// maxConns bounds the connections at one time: a browser opens six.
const maxConns = 64

// bounded is a listener that closes connections beyond a number, and those of other users as
// far as the system tells whose they are: they could hold all of them.
type bounded struct {
	net.Listener
	slots chan struct{}
}

func newBounded(ln net.Listener) *bounded {
	return &bounded{ln, make(chan struct{}, maxConns)}
}

// Accept returns the next connection that may be served.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, known := peerOf(c); known && uid != os.Getuid() && uid != 0 {
			c.Close()
			continue
		}
		select {
		case b.slots <- struct{}{}:
			return &boundedConn{Conn: c, done: sync.OnceFunc(func() { <-b.slots })}, nil
		default:
			c.Close()
		}
	}
}

type boundedConn struct {
	net.Conn
	done func()
}

// Close closes the connection and makes room for another one.
func (c *boundedConn) Close() error {
	defer c.done()
	return c.Conn.Close()
}
