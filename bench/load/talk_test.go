package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// lateConn is the connection of a client that has no processor until its deadline is over,
// the first times.
type lateConn struct {
	*net.UnixConn
	times int
}

func (c *lateConn) late(t time.Time) time.Time {
	if c.times > 0 {
		c.times--
		return time.Unix(1, 0)
	}
	return t
}

func (c *lateConn) SetDeadline(t time.Time) error     { return c.UnixConn.SetDeadline(c.late(t)) }
func (c *lateConn) SetReadDeadline(t time.Time) error { return c.UnixConn.SetReadDeadline(c.late(t)) }

// pair returns a connected client and its other end.
func pair(t *testing.T) (here *lateConn, there net.Conn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "l") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if there, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); there.Close() })
	return &lateConn{UnixConn: conn.(*net.UnixConn)}, there
}

func clientOf(conn *lateConn) *connection {
	return &connection{load: &load{}, conn: conn, lines: bufio.NewReader(conn), rand: rand.New(rand.NewPCG(1, 1))}
}

// TestStarvedClient: a client that was not run for as long as it waits at most goes on, if
// the daemon did its part meanwhile. If the daemon did not, it is an error.
func TestStarvedClient(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: other systems do not say what is not read")
	}
	conn, there := pair(t)
	c := clientOf(conn)

	conn.times = 3
	if err := c.write("a\n"); err != nil || c.load.counts.starved.Load() != 3 {
		t.Errorf("the daemon has read everything: %v, %d times starved", err, c.load.counts.starved.Load())
	}
	conn.times = 1
	if err := c.write("b\n"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the daemon has not read what was sent before: %v", err)
	}
	if _, err := io.ReadFull(there, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}

	conn.times = 1
	if _, err := c.read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("there is no answer: %v", err)
	}
	if _, err := io.WriteString(there, `{"id":7,"result":{}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	conn.times = 2
	if r, err := c.read(); err != nil || r.ID != 7 {
		t.Errorf("the answer is there: %+v, %v", r, err)
	}
}

// TestRefusedForWaiting: what was refused because it waited for too long is sent again, and
// nothing else that is refused.
func TestRefusedForWaiting(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for a second; TestAnswered is the quick one")
	}
	conn, there := pair(t)
	c := clientOf(conn)
	go func() {
		r := bufio.NewReader(there)
		for n, message := range []string{"too many requests wait to be decided", "", "no room"} {
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
			e := fmt.Sprintf(`"error":{"code":-32051,"message":%q}`, message)
			if message == "" {
				e = `"result":{}`
			}
			fmt.Fprintf(there, `{"id":%d,%s}`+"\n", n+1, e)
		}
	}()
	if _, err := c.call("permd/session", struct{}{}); err != nil || c.load.counts.busy.Load() != 1 {
		t.Errorf("refused once: %v, %d refused", err, c.load.counts.busy.Load())
	}
	if _, err := c.call("permd/session", struct{}{}); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("refused for another reason: %v", err)
	}
}
