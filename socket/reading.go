package socket

import (
	"errors"
	"io"
	"os"
	"time"
)

// If the client has sent nothing else, the connection's reading goroutine runs the
// second phase itself: waking a worker's thread would take longer than deciding. If the
// request takes long, the server's overseer hands the reading over to another goroutine, so
// that cancellations and further requests are read as if a worker ran the request.

// leadTimeout is the interval of the overseer. A request can keep its connection from being
// read for at most twice as long.
const leadTimeout = 2 * time.Millisecond

// read reads messages until the client or the server ends the connection, or another
// goroutine continues reading and no goroutine is needed that could do that later.
func (c *connection) read() {
	for c.readOn() && c.awaitReading() {
	}
}

// readOn reads messages until the end of the connection. It returns true if another
// goroutine has continued reading.
func (c *connection) readOn() bool {
	reading := true
	defer func() {
		if reading {
			c.close()
			c.onEnd()
		}
	}()
	for {
		line, err := c.lines.next()
		switch {
		case err == nil:
			req := c.handleInTurn(line)
			switch {
			case req == nil:
			case c.lines.buffered():
				c.giveToWorker(req)
			default:
				reading = false
				if !c.lead(req) {
					return true
				}
				reading = true
			}
		case errors.Is(err, errTooLong), errors.Is(err, errNoRoom):
			c.notifyUnread()
			e := busyError(errNoRoom)
			if errors.Is(err, errTooLong) {
				e = invalidRequest("message too long")
			}
			c.replyError(nullID, e)
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded):
			// The client may have closed only its writing side, or the server is stopping.
			// Requests that were read are answered.
			return false
		default:
			c.drop()
			return false
		}
	}
}

// lead runs the second phase of a request on the reading goroutine. It returns false if
// another goroutine has continued reading.
func (c *connection) lead(req *request) bool {
	c.workers.Add(1)
	c.leading.Store(req)
	ended := true // by the method, with runtime.Goexit
	defer func() {
		if ended {
			c.handOverReading(req)
		}
		c.workers.Done()
	}()
	c.server.startWatching()
	c.phase2(req)
	ended = false
	return c.leading.CompareAndSwap(req, nil)
}

// handOverReading lets another goroutine continue reading if the reading goroutine leads
// that request.
func (c *connection) handOverReading(req *request) {
	if req == nil || !c.leading.CompareAndSwap(req, nil) {
		return
	}
	select {
	case c.spare <- struct{}{}: // open, since nobody else reads
	default:
		go c.read()
	}
}

// awaitReading waits until the reading is handed over to its goroutine, and returns true
// then. It returns false if reading has ended, or another goroutine waits already. When many
// ask, most requests wait for a slot long enough to lose the reading, and the stack of a
// new goroutine would have to grow for each.
func (c *connection) awaitReading() bool {
	if !c.hasSpare.CompareAndSwap(false, true) {
		return false
	}
	_, ok := <-c.spare
	c.hasSpare.Store(false)
	return ok
}

// checkOverdue hands the reading over if the reading goroutine leads the same request as at
// the last check. It returns whether to check again. Only the overseer may call it.
func (c *connection) checkOverdue() bool {
	req := c.leading.Load()
	if req == c.lastLeading {
		c.handOverReading(req)
		req = nil
	}
	c.lastLeading = req
	return req != nil
}

// startWatching starts the overseer if it is not running. It must be called after
// connection.leading is set.
func (s *server) startWatching() {
	if !s.leaderSeen.Load() {
		s.leaderSeen.Store(true)
	}
	if !s.watching.Load() && s.watching.CompareAndSwap(false, true) {
		time.AfterFunc(leadTimeout, s.watchLeaders)
	}
}

// watchLeaders is the overseer. It runs while requests are led, and ends when there were
// none since the last check.
func (s *server) watchLeaders() {
	s.leaderSeen.Store(false)
	led := false
	s.mu.Lock()
	for c := range s.conns {
		led = c.checkOverdue() || led
	}
	s.mu.Unlock()
	if !led && !s.leaderSeen.Load() {
		s.watching.Store(false)
		// A request may have been led between the two lines above.
		if !s.leaderSeen.Load() || !s.watching.CompareAndSwap(false, true) {
			return
		}
	}
	time.AfterFunc(leadTimeout, s.watchLeaders)
}
