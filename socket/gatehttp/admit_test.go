package gatehttp

import (
	"net"
	"testing"
	"time"
)

// pipes is a listener whose connections come as fast as they are accepted.
type pipes struct{ net.Listener }

func (pipes) Accept() (net.Conn, error) {
	c, _ := net.Pipe()
	return c, nil
}

// TestManyAtOnce: of more connections at once than have places without a token, each is admitted
// whose token is read a moment later.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	ln := LimitConns(pipes{})
	admitted := make(chan bool, maxConns)
	for range maxConns {
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(strangerTime/5, func() { admitted <- c.(*Watched).Conn.(*countedConn).admit() })
	}
	for range maxConns {
		if !<-admitted {
			t.Fatal("a connection was closed before its token was read")
		}
	}
	begin := time.Now()
	for range maxStrangers + 1 {
		if _, err := ln.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took < strangerTime {
		t.Errorf("the oldest without a token was closed after %v", took)
	}
}
