package sockettest

import (
	"net"
	"sync"
)

// Pipes is a listener for tests on the clock of a bubble (testing/synctest). Its connections have
// no buffers, so that a write to a peer that does not read blocks at once.
type Pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipes returns a listener, whose address is that of a Unix socket.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Dial connects, and returns the client's end.
func (p *Pipes) Dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// Accept returns the server's end of the next connection.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns an address without meaning.
func (p *Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
