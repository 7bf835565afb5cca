package socket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// maxIdleWorkers is how many idle workers a connection keeps: the stack of a kept worker has
// grown already.
const maxIdleWorkers = 4

// Causes for which a connection's requests are cancelled.
var (
	errDisconnected = errors.New("the connection is gone")
	errShutdown     = errors.New("shutting down")
	errTooSlow      = errors.New("not answered in time")
)

// connection serves one client. One goroutine at a time reads messages and runs the
// first phase of methods. The second phase runs on workers, or on the reading
// goroutine as long as there is nothing else to read (see lead.go).
type connection struct {
	Conn
	net     net.Conn
	server  *server
	lines   lines
	answers *answers
	ctx     context.Context // of all its requests
	cancel  context.CancelCauseFunc

	// stopping is set once no further calls are decided.
	stopping atomic.Bool
	// work hands calls to idle workers.
	work    chan *call
	idle    atomic.Int32
	workers sync.WaitGroup // the leading goroutine is one
	// leading is the call whose second phase the reading goroutine runs. Whoever
	// sets it to nil reads on.
	leading     atomic.Pointer[call]
	lastLeading *call  // what was leading when the overseer last looked
	ended       func() // called last

	mu      sync.Mutex
	changed sync.Cond // calls became fewer
	calls   []*call   // not answered yet, at most Options.maxInFlight
	gone    bool      // dropped
}

// call is a request or notification in progress.
type call struct {
	id       strictjson.Value // nil for a notification
	run      func(context.Context) (any, error)
	ctx      context.Context
	cancel   context.CancelCauseFunc
	answered bool // guarded by connection.mu
	reserved int  // bytes of the shared budget
}

func newConnection(s *server, c net.Conn, id uint64, peer decisions.Peer) *connection {
	conn := &connection{Conn: Conn{ID: id, Peer: peer}, net: c, server: s, work: make(chan *call)}
	conn.changed.L = &conn.mu
	conn.ctx, conn.cancel = context.WithCancelCause(s.ctx)
	conn.answers = newAnswers(c, s.WriteTimeout, func(err error) {
		s.Logger.Debug("dropping a connection that does not read", "conn", id, "error", err)
		conn.drop()
	})
	conn.lines = lines{
		r: c, max: s.MaxMessage,
		reserve: func(n int) bool { return s.limits.reserve(peer.UID, n) },
		release: func(n int) { s.limits.release(peer.UID, n) },
	}
	return conn
}

// read reads until the client or the server ends the connection, or another
// goroutine goes on with it.
func (c *connection) read() {
	reading := true
	defer func() {
		if reading {
			c.close()
			c.ended()
		}
	}()
	for {
		line, err := c.lines.next()
		switch {
		case err == nil:
			cl := c.handle(line)
			switch {
			case cl == nil:
			case c.lines.waiting():
				c.giveToWorker(cl)
			default:
				reading = false
				if !c.lead(cl) {
					return
				}
				reading = true
			}
		case errors.Is(err, errTooLong), errors.Is(err, errNoRoom):
			c.notifyUnread()
			e := busy(errNoRoom)
			if errors.Is(err, errTooLong) {
				e = invalid("message too long")
			}
			c.fault(null, e)
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded):
			// The client may have closed only its writing side; or the server
			// stops. What was asked is answered.
			return
		default:
			c.drop()
			return
		}
	}
}

// notifyUnread tells methods that a message was refused before they saw it (Conn.OnUnread).
func (c *connection) notifyUnread() {
	c.missed = true
	for _, f := range c.onUnread {
		f()
	}
}

// handle handles one message. It returns the call whose second phase must be run, nil if
// there is none.
func (c *connection) handle(line []byte) (cl *call) {
	missed := true // also when a method ends its goroutine
	defer func() {
		if missed {
			c.notifyUnread()
		}
	}()
	cl, missed = c.receive(line)
	return cl
}

// receive is handle without the notice to methods: missed says that the message was
// meant for one and did not reach it, or may have been.
func (c *connection) receive(line []byte) (cl *call, missed bool) {
	if len(bytes.TrimLeft(line, " \t\r")) == 0 {
		return nil, false
	}
	m, id, fault := decode(line)
	if fault != nil {
		c.fault(id, fault)
		return nil, true
	}
	if m.kind == dropped {
		return nil, m.method != ""
	}
	method, ok := c.server.methods[m.method]
	switch {
	case c.stopping.Load():
		c.refuse(m, busy(errShutdown)) // as all that follows
	case ok:
		cl, reached := c.dispatch(m, method, len(line))
		return cl, !reached
	case m.method == cancelMethod && m.kind == notification:
		c.withdraw(m.params)
	default:
		c.refuse(m, &Error{Code: CodeMethod, Message: "method not found"})
	}
	return nil, false
}

// dispatch runs a method's first phase, and returns the call if it has a second.
// reached reports whether the first phase ran to its end.
func (c *connection) dispatch(m message, method Method, size int) (_ *call, reached bool) {
	if c.inUse(m.id) {
		// Answered with the same id, the error would be taken for the answer to
		// the first.
		c.fault(null, invalid("id is in use by a request that is not answered yet"))
		return nil, false
	}
	cl := &call{id: m.id}
	if size > keepBuffer {
		if !c.server.limits.reserve(c.Peer.UID, size) {
			c.finish(cl, nil, busy(errNoRoom))
			return nil, false
		}
		cl.reserved = size
	}
	if !c.enter(cl) {
		c.finish(cl, nil, busy(errShutdown))
		return nil, false
	}
	c.request = m.id
	run, reached := c.phase1(cl, method, m.params)
	if run == nil {
		return nil, reached
	}
	c.mu.Lock()
	cl.run = run
	cl.ctx, cl.cancel = context.WithCancelCause(c.ctx)
	c.mu.Unlock()
	return cl, true
}

// giveToWorker hands a call's second phase to a worker.
func (c *connection) giveToWorker(cl *call) {
	select {
	case c.work <- cl:
	default:
		c.workers.Add(1)
		go c.worker(cl)
	}
}

// phase1 calls the method. It returns the second phase; if there is none, the call is
// finished. returned is false if the method panicked.
func (c *connection) phase1(cl *call, method Method, params strictjson.Value) (run func(context.Context) (any, error), returned bool) {
	defer func() {
		if !returned {
			c.answerPanic(cl, recover())
		}
	}()
	run, err := method(&c.Conn, params)
	returned = true
	if run == nil || err != nil {
		c.finish(cl, nil, err)
		return nil, true
	}
	return run, true
}

// worker runs second phases, first that of cl.
func (c *connection) worker(cl *call) {
	defer c.workers.Done()
	for {
		c.phase2(cl)
		if c.idle.Add(1) > maxIdleWorkers {
			c.idle.Add(-1)
			return
		}
		var ok bool
		cl, ok = <-c.work
		c.idle.Add(-1)
		if !ok {
			return
		}
	}
}

func (c *connection) phase2(cl *call) {
	returned := false
	defer func() {
		if !returned {
			c.answerPanic(cl, recover())
		}
	}()
	body, err := c.result(cl)
	returned = true
	c.finish(cl, body, err)
}

// result runs a second phase. It does not write the answer, so that a client that does
// not read cannot delay others.
func (c *connection) result(cl *call) (body []byte, err error) {
	if why := c.begin(); why != nil {
		return nil, busy(why)
	}
	defer c.end()
	result, err := cl.run(cl.ctx)
	if err == nil && cl.id != nil {
		body, err = encode(result) // may call methods of the result's types
		if err == nil {
			err = c.reserveAnswer(cl, len(body))
		}
	}
	return body, err
}

// begin waits until another second phase may run, or returns an error if none may any
// more. It bounds the work that is left when the server stops.
func (c *connection) begin() error {
	s := c.server
	if s.running == nil {
		return nil
	}
	select {
	case s.running <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.running <- struct{}{}:
		return nil
	case <-s.stop:
		return errShutdown
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// end undoes begin.
func (c *connection) end() {
	if c.server.running != nil {
		<-c.server.running
	}
}

// reserveAnswer reserves a long answer's bytes of the budget until it is written, or
// returns an error if there is no room: a short request can have a long answer, and the
// client may not be reading.
func (c *connection) reserveAnswer(cl *call, size int) error {
	if size <= keepBuffer {
		return nil
	}
	if !c.server.limits.reserve(c.Peer.UID, size) {
		return busy(errNoRoom)
	}
	cl.reserved += size
	return nil
}

// answerPanic answers for a method that panicked or ended its goroutine: never
// with a result. The panic's value is logged only if it is the runtime's own;
// another may hold the client's input.
func (c *connection) answerPanic(cl *call, value any) {
	what := fmt.Sprintf("%T", value)
	if err, ok := value.(runtime.Error); ok {
		what = err.Error()
	}
	c.server.Logger.Error("a method panicked", "conn", c.ID, "panic", what, "stack", string(debug.Stack()))
	c.finish(cl, nil, &Error{Code: CodeInternal, Message: "internal error; ask the person"})
}

// NewConn returns a connection of that peer which no server serves: methods are
// called on it one at a time, as on a connection's reading goroutine. The caller
// calls end when it is over, once.
func NewConn(peer decisions.Peer) (c *Conn, end func()) {
	c = &Conn{ID: connIDs.Add(1), Peer: peer}
	return c, func() {
		for _, f := range c.onClose {
			f()
		}
	}
}

// PeerOf is the process at the other end of a Unix socket.
func PeerOf(c *net.UnixConn) (decisions.Peer, error) { return peerOf(c) }
