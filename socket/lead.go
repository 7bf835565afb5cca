package socket

import "time"

// If nothing else of the client has arrived, a connection's reading goroutine runs a
// second phase itself: waking a worker's thread would take longer than deciding. If
// the call takes long, the server's overseer hands the reading over to another
// goroutine, so that cancellations and further requests are read as if a worker had
// the call.

// leadTimeout is the interval of the overseer. A call can keep its connection from
// being read for at most twice as long.
const leadTimeout = 2 * time.Millisecond

// lead runs a call's second phase on the reading goroutine. It reports whether
// that goroutine still reads; if not, another one does.
func (c *connection) lead(cl *call) bool {
	c.workers.Add(1)
	c.leading.Store(cl)
	ended := true // its goroutine, by the method
	defer func() {
		if ended {
			c.handOverReading(cl)
		}
		c.workers.Done()
	}()
	c.server.startWatching()
	c.phase2(cl)
	ended = false
	return c.leading.CompareAndSwap(cl, nil)
}

// handOverReading hands the reading over to another goroutine if the reading one leads
// that call.
func (c *connection) handOverReading(cl *call) {
	if cl != nil && c.leading.CompareAndSwap(cl, nil) {
		go c.read()
	}
}

// checkOverdue hands the reading over if the reading goroutine leads the same call as
// at the last check. It reports whether to check again. It must only be called by the
// overseer.
func (c *connection) checkOverdue() bool {
	cl := c.leading.Load()
	if cl == c.lastLeading {
		c.handOverReading(cl)
		cl = nil
	}
	c.lastLeading = cl
	return cl != nil
}

// startWatching starts the overseer unless it runs. It is called after
// connection.leading was set.
func (s *server) startWatching() {
	if !s.leaderSeen.Load() {
		s.leaderSeen.Store(true)
	}
	if !s.watching.Load() && s.watching.CompareAndSwap(false, true) {
		time.AfterFunc(leadTimeout, s.watchLeaders)
	}
}

// watchLeaders is the overseer. It runs while calls are led, and ends if there was none
// since the last check.
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
		// One that was set between the two is not to be missed.
		if !s.leaderSeen.Load() || !s.watching.CompareAndSwap(false, true) {
			return
		}
	}
	time.AfterFunc(leadTimeout, s.watchLeaders)
}
