package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"
)

// How often a client does what.
const (
	callsPerSession    = 50   // requests after which it closes its session and declares another
	callsPerConnection = 1000 // and after which it connects again
	withdrawnOf        = 20   // one batch of so many has a request that is withdrawn
	cancelledOf        = 40   // one has its turn cancelled
	vanishesOf         = 100  // one is cut off in the middle of a message
	changesOf          = 10   // after one, a choice is forgotten or added by hand
	answeredOf         = 3    // one question of so many is answered
)

// connection is a client with one connection at a time.
type connection struct {
	load   *load
	number int
	rand   *rand.Rand

	conn    net.Conn
	lines   *bufio.Reader
	session string
	calls   int // on this connection
	id      int
	open    map[int]*request // requests without an answer
	choices []choice
}

// request is a request for a decision.
type request struct {
	call
	sent       time.Time
	first      int64 // the newest change of the rules that was in force when it was sent
	remembered remembered
	// withdrawn and cancelled are set if it, or its turn, may be cancelled.
	withdrawn, cancelled bool
}

func (c *connection) run(ctx, timed context.Context) error {
	defer c.leave()
	for timed.Err() == nil && (c.load.options.requests == 0 || c.load.counts.sent.Load() < int64(c.load.options.requests)) {
		if err := c.prepare(); err != nil {
			return err
		}
		if err := c.batch(ctx); err != nil {
			return err
		}
		if c.conn != nil && c.rand.IntN(changesOf) == 0 {
			if err := c.changeChoices(ctx); err != nil {
				return err
			}
		}
	}
	return c.finish()
}

// leave closes the connection. What was remembered for the session ends with it.
func (c *connection) leave() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
	c.session = ""
	c.endSession()
}

// finish ends the connection as a client does that has nothing more to say. Whatever
// comes then is an answer to no request.
func (c *connection) finish() error {
	if c.conn == nil {
		return nil
	}
	if len(c.open) > 0 {
		return fmt.Errorf("%d requests have no answer", len(c.open))
	}
	if u, ok := c.conn.(*net.UnixConn); ok {
		if err := u.CloseWrite(); err != nil {
			return err
		}
	}
	if line, err := c.lines.ReadBytes('\n'); len(line) > 0 {
		return fmt.Errorf("an answer to no request: %.200s", line)
	} else if !errors.Is(err, io.EOF) {
		return fmt.Errorf("the daemon does not end the connection: %w", err)
	}
	return nil
}

// prepare connects and declares a session if it is time.
func (c *connection) prepare() error {
	if c.conn != nil && c.calls >= callsPerConnection {
		if err := c.finish(); err != nil {
			return err
		}
		c.leave()
	}
	if c.conn == nil {
		conn, err := net.Dial("unix", c.load.daemon.socket())
		if err != nil {
			return err
		}
		c.conn, c.lines, c.calls, c.open = conn, bufio.NewReaderSize(conn, 32<<10), 0, map[int]*request{}
		c.load.counts.connected.Add(1)
	}
	if c.session != "" && c.calls%callsPerSession >= c.load.options.inFlight {
		return nil
	}
	if c.session != "" {
		if _, err := c.call("permd/close", map[string]string{"sessionId": c.session}); err != nil {
			return err
		}
		c.endSession()
	}
	c.session = fmt.Sprintf("s-%d-%d", c.number, c.id)
	_, err := c.call("permd/session", declaration(c.session, c.load.daemon.project))
	return err
}

// batch sends some requests at once, and maybe cancels what it sent or vanishes. It
// checks the answers, and answers some questions.
func (c *connection) batch(ctx context.Context) error {
	text := ""
	first := c.load.rules.loaded.Load()
	n := 1 + c.rand.IntN(c.load.options.inFlight)
	for range n {
		c.id++
		r := &request{call: c.draw(c.id), first: first}
		r.remembered = c.remembered(r.own)
		for _, update := range r.updates {
			text += message(0, "session/update", update)
		}
		text += message(c.id, r.method, r.params)
		c.open[c.id] = r
	}
	c.calls += n
	c.load.counts.sent.Add(int64(n))
	switch {
	case c.rand.IntN(withdrawnOf) == 0:
		id := c.id - c.rand.IntN(n)
		c.open[id].withdrawn = true
		text += message(0, "$/cancel_request", map[string]any{"requestId": id})
	case c.rand.IntN(cancelledOf) == 0:
		for _, r := range c.open {
			r.cancelled = true
		}
		text += message(0, "session/cancel", map[string]any{"sessionId": c.session})
	case c.rand.IntN(vanishesOf) == 0:
		c.load.counts.abandoned.Add(int64(n))
		_, err := io.WriteString(c.conn, text[:c.rand.IntN(len(text))])
		c.leave()
		return err
	}
	now := time.Now()
	for _, r := range c.open {
		r.sent = now
	}
	if err := c.write(text); err != nil {
		return err
	}
	var questions []question
	if err := c.await(ctx, func(d *decision, asked *request) {
		if d.Verdict == "ask" && !asked.withdrawn && !asked.cancelled {
			questions = append(questions, question{d, asked})
		}
	}); err != nil {
		return err
	}
	for _, q := range questions {
		if c.rand.IntN(answeredOf) == 0 {
			if err := c.answer(q); err != nil {
				return err
			}
		}
	}
	return nil
}

// await reads until no request is open, and checks each answer. It calls decided with
// those that are decisions.
func (c *connection) await(ctx context.Context, decided func(*decision, *request)) error {
	for len(c.open) > 0 {
		r, err := c.read()
		if err != nil {
			return err
		}
		asked := c.open[r.ID]
		if asked == nil {
			return fmt.Errorf("an answer to request %d, which has one or does not exist", r.ID)
		}
		delete(c.open, r.ID)
		d, err := c.check(ctx, asked, r)
		if err != nil {
			return err
		}
		if d != nil {
			decided(d, asked)
		}
	}
	return nil
}
