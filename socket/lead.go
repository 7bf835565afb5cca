package socket

import "time"

// If the client has sent nothing else, the connection's reading goroutine runs the
// second phase itself: waking a worker's thread would take longer than deciding. If the
// request takes long, the server's overseer hands the reading over to another goroutine, so
// that cancellations and further requests are read as if a worker ran the request.

// leadTimeout is the interval of the overseer. A request can keep its connection from being
// read for at most twice as long.
const leadTimeout = 2 * time.Millisecond

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
	if req != nil && c.leading.CompareAndSwap(req, nil) {
		go c.read()
	}
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
