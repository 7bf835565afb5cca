package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/socket"
)

// patience is how long a client waits for the daemon. It is no measure of the daemon's
// speed, only of what is no longer an answer.
const patience = time.Minute

// maxTries bounds how often a client tries again.
const maxTries = 10

// call sends one request that is no request for a decision, and returns its answer. If it
// was refused because it would have waited for too long, it is sent again later.
func (c *connection) call(method string, params any) (*reply, error) {
	for try := 1; ; try++ {
		c.id++
		if err := c.write(message(c.id, method, params)); err != nil {
			return nil, fmt.Errorf("sending %s: %w", method, err)
		}
		r, err := c.read()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", method, err)
		case r.ID != c.id:
			return nil, fmt.Errorf("%s: an answer to request %d, which has one or does not exist", method, r.ID)
		case r.Error == nil:
			return r, nil
		case r.Error.Code != socket.CodeBusy || !strings.Contains(r.Error.Message, "too many requests wait") || try == maxTries:
			return r, fmt.Errorf("%s: %w", method, r.Error)
		}
		c.load.counts.busy.Add(1)
		time.Sleep(time.Duration(c.rand.IntN(1000)) * time.Millisecond)
	}
}

// write sends messages. It is an error if the daemon leaves anything unread for patience.
//
// On a machine with far too much work a client may itself have no processor for as long:
// then the daemon has read all that was sent, and the client goes on.
func (c *connection) write(text string) error {
	for try := 1; ; try++ {
		if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		n, err := io.WriteString(c.conn, text)
		text = text[n:]
		if !errors.Is(err, os.ErrDeadlineExceeded) || try == maxTries {
			return err
		}
		unread, uerr := unreadOf(c.conn, siocoutq)
		if uerr != nil || unread > 0 {
			return errors.Join(fmt.Errorf("%d bytes are not sent, and some before them not read: %w", len(text), err), uerr)
		}
		c.load.counts.starved.Add(1)
	}
}

// read returns the next answer. It is an error if there is none for patience.
func (c *connection) read() (*reply, error) {
	var line []byte
	for try := 1; ; try++ {
		if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return nil, err
		}
		part, err := c.lines.ReadBytes('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && try < maxTries {
			if unread, uerr := unreadOf(c.conn, siocinq); uerr == nil && unread > 0 {
				c.load.counts.starved.Add(1)
				continue // the answer is there
			}
		}
		return nil, fmt.Errorf("waiting for an answer, %d requests are open: %w", len(c.open), err)
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("reading %.200s: %w", line, err)
	}
	return &r, nil
}

// unreadOf asks how many bytes of a socket's queue are not read.
func unreadOf(conn net.Conn, queue uint) (n int, err error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), queue) })
	return n, errors.Join(err, cerr)
}
