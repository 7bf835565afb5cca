package socket

import "time"

// A connection's reading goroutine runs a second phase itself when nothing else
// of the client's has arrived: to hand it to a worker wakes another thread,
// which takes longer than to decide. Should the call take its time, the server's
// overseer gives the reading to another goroutine, so that cancellations and
// further requests are read as if a worker had the call.

// leadTimeout is how long a call may keep its connection from being read; up to
// twice as long, since the overseer looks that often.
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

// handOverReading gives the reading to another goroutine if the one that reads leads
// that call.
func (c *connection) handOverReading(cl *call) {
	if cl != nil && c.leading.CompareAndSwap(cl, nil) {
		go c.read()
	}
}

// checkOverdue relieves the reading goroutine if it leads the call that it led when
// this was last asked. It reports whether it is to be asked again. Only to be
// called by the overseer.
func (c *connection) checkOverdue() bool {
	cl := c.leading.Load()
	if cl == c.lastLeading {
		c.handOverReading(cl)
		cl = nil
	}
	c.lastLeading = cl
	return cl != nil
}

// startWatching makes sure that the overseer looks again. It is called after
// connection.leading was set.
func (s *server) startWatching() {
	if !s.leaderSeen.Load() {
		s.leaderSeen.Store(true)
	}
	if !s.watching.Load() && s.watching.CompareAndSwap(false, true) {
		time.AfterFunc(leadTimeout, s.watchLeaders)
	}
}

// watchLeaders is the overseer. It goes on while calls are led, and rests when none has
// been since it looked last.
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
