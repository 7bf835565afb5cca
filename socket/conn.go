package socket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/underway"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
)

// maxIdleWorkers is the number of idle workers kept for a connection. Reusing one saves
// growing its stack again.
const maxIdleWorkers = 4

// Causes of cancelled requests.
var (
	errDisconnected = errors.New("the connection is gone")
	errShutdown     = errors.New("shutting down")
	errTooSlow      = errors.New("not answered in time")
)

// connection serves one client. One goroutine at a time reads messages and runs the
// first phase of methods. The second phase runs on workers, or on the reading goroutine
// while there is nothing else to read (see reading.go).
type connection struct {
	Conn
	net     net.Conn
	server  *server
	lines   lines
	answers *answers
	ctx     context.Context // parent of all requests' contexts
	cancel  context.CancelCauseFunc

	// stopping is set when no more requests are decided.
	stopping atomic.Bool
	// spare lets a goroutine continue reading that has lost the reading while it led a
	// request. It is closed when reading ends.
	spare    chan struct{}
	hasSpare atomic.Bool
	// workQueue passes requests to idle workers.
	workQueue chan *request
	idle      atomic.Int32
	workers   sync.WaitGroup // including the reading goroutine while it leads a request
	// leading is the request whose second phase runs on the reading goroutine. Whoever sets
	// it to nil continues reading.
	leading     atomic.Pointer[request]
	unpaid      int             // bytes that were read since the connection had a turn for that, less free
	lastRead    time.Time       // when the last message was read
	reading     *fairshare.Turn // in which a message is being read; nil for none
	lastLeading *request        // leading at the overseer's last check
	onEnd       func()          // called once, when everything has ended

	mu       sync.Mutex
	changed  sync.Cond  // signalled when requests has become shorter
	requests []*request // unanswered, at most Options.maxInFlight
	size     int        // sum of their sizes, at most maxRequestBytes if there are several
	dropped  bool       // closed by drop
}

// request is a request or notification in progress.
type request struct {
	id            strictjson.Value // nil for a notification
	run           func(context.Context) (any, error)
	ctx           context.Context
	cancel        context.CancelCauseFunc
	answered      bool // guarded by connection.mu
	size          int  // of the message and the request itself, in bytes
	reservedBytes int  // of its connection's share
	onRefused     []func()
	turn          fairshare.Turn
	withTurn      fairshare.Context // ctx with turn
}

func newConnection(s *server, c net.Conn, id uint64, peer decisions.Peer) *connection {
	conn := &connection{Conn: Conn{ID: id, Peer: peer}, net: c, server: s, spare: make(chan struct{}), workQueue: make(chan *request)}
	conn.changed.L = &conn.mu
	conn.member = s.Share.Join(peer.UID)
	conn.ctx, conn.cancel = context.WithCancelCause(s.ctx)
	conn.answers = newAnswers(c, s.WriteTimeout, func(err error) {
		s.Logger.Debug("dropping a connection that does not read", "conn", id, "error", err)
		conn.drop()
	})
	conn.notify = conn.answers.notify
	conn.lines = lines{
		r: c, max: s.MaxMessage,
		reserve: conn.member.Reserve,
		release: conn.member.Release,
	}
	return conn
}

// handleInTurn is handle. After much has been read in a short time, it waits for a slot:
// reading and decoding messages takes time as deciding does.
func (c *connection) handleInTurn(line []byte) *request {
	const (
		enough  = 16 << 10 // bytes
		message = 512      // what a message counts besides its bytes
		pace    = 10 * time.Nanosecond
		free    = 160 // bytes in a millisecond: a client that writes no faster waits once, for its request
	)
	now := time.Now()
	c.unpaid = int(max(0, int64(c.unpaid)-now.Sub(c.lastRead).Milliseconds()*free))
	c.lastRead = now
	if c.unpaid += len(line) + message; c.unpaid < enough || c.server.WithoutSlots {
		return c.handle(line)
	}
	before := time.Duration(c.unpaid-len(line)) * pace
	c.unpaid = 0
	c.reading = new(fairshare.Turn)
	defer c.endReading()
	// A message is handled although others need the processors for long: it may be a
	// notification, which has no answer.
	_ = c.reading.BeginBrief(c.ctx, c.member, c.server.stop, before)
	return c.handle(line)
}

// endReading ends the turn for reading, if there is one. It is called before anything
// that may wait for the client.
func (c *connection) endReading() {
	c.reading.End()
	c.reading = nil
}

// notifyUnread calls the functions registered with Conn.OnUnread.
func (c *connection) notifyUnread() {
	c.missed = true
	for _, f := range c.onUnread {
		f()
	}
}

// handle handles one message. It returns the request if its second phase must run,
// otherwise nil.
func (c *connection) handle(line []byte) (req *request) {
	missed := true // stays true if a method ends its goroutine
	defer func() {
		if missed {
			c.notifyUnread()
		}
	}()
	req, missed = c.receive(line)
	return req
}

// receive is handle without the call of notifyUnread. missed is true if the message was
// for a method and did not reach it, or may have been.
func (c *connection) receive(line []byte) (req *request, missed bool) {
	if len(bytes.TrimLeft(line, " \t\r")) == 0 {
		return nil, false
	}
	m, id, fault := decode(line)
	if fault != nil {
		c.endReading()
		c.replyError(id, fault)
		return nil, true
	}
	if m.kind == kindDropped {
		return nil, m.method != ""
	}
	method, ok := c.server.methods[m.method]
	switch {
	case c.stopping.Load():
		c.endReading()
		c.refuseMessage(m, busyError(errShutdown)) // as are all later messages
	case ok:
		req, reached := c.dispatch(m, method, len(line))
		return req, !reached
	case m.method == cancelMethod && m.kind == kindNotification:
		c.withdraw(m.params)
	default:
		c.endReading()
		c.refuseMessage(m, &Error{Code: CodeMethod, Message: "method not found"})
	}
	return nil, false
}

// dispatch runs a method's first phase and returns the request if it has a second one.
// reached is true if the first phase returned.
func (c *connection) dispatch(m message, method Method, size int) (_ *request, reached bool) {
	if c.idInUse(m.id) {
		c.endReading()
		// An error with that id would be taken for the answer to the first request.
		c.replyError(nullID, invalidRequest("id is in use by a request that is not answered yet"))
		return nil, false
	}
	req := &request{id: m.id, size: size + requestBytes}
	if !c.addRequest(req) {
		c.finish(req, nil, busyError(errShutdown))
		return nil, false
	}
	if !c.member.Reserve(req.size) {
		c.endReading()
		c.finish(req, nil, busyError(errNoRoom))
		return nil, false
	}
	req.reservedBytes = req.size
	c.request = m.id
	run, reached := c.phase1(req, method, m.params)
	req.onRefused, c.onRefused = c.onRefused, nil
	c.request = nil // it is a part of the message
	if run == nil {
		return nil, reached
	}
	c.mu.Lock()
	req.run = run
	req.ctx, req.cancel = context.WithCancelCause(c.ctx)
	c.mu.Unlock()
	return req, true
}

// giveToWorker passes a request to a worker, which runs its second phase.
func (c *connection) giveToWorker(req *request) {
	select {
	case c.workQueue <- req:
	default:
		c.workers.Add(1)
		go c.worker(req)
	}
}

// phase1 calls the method. If there is no second phase, it finishes the request. returned
// is false if the method panicked.
func (c *connection) phase1(req *request, method Method, params strictjson.Value) (run func(context.Context) (any, error), returned bool) {
	defer func() {
		if !returned {
			c.answerPanic(req, recover())
		}
	}()
	run, err := method(&c.Conn, params)
	returned = true
	c.endReading()
	if run == nil || err != nil {
		c.finish(req, nil, err)
		return nil, true
	}
	return run, true
}

// worker runs second phases, starting with that of req.
func (c *connection) worker(req *request) {
	defer c.workers.Done()
	for {
		c.phase2(req)
		if c.idle.Add(1) > maxIdleWorkers {
			c.idle.Add(-1)
			return
		}
		var ok bool
		req, ok = <-c.workQueue
		c.idle.Add(-1)
		if !ok {
			return
		}
	}
}

func (c *connection) phase2(req *request) {
	returned := false
	defer func() {
		if !returned {
			c.answerPanic(req, recover())
		}
	}()
	buf := c.server.buffers.get()
	body, err := c.result(req, buf)
	returned = true
	c.finish(req, body, err) // copies the body
	c.server.buffers.put(buf)
}

// result runs a second phase. It does not write the answer, which may be in buf, so that a
// client that is not reading cannot delay others.
func (c *connection) result(req *request, buf *[]byte) (body []byte, err error) {
	ctx := req.ctx
	if !c.server.WithoutSlots {
		req.turn.Work = workBytes * (req.size - requestBytes)
		waiting := c.server.Underway.Begin(underway.AtSlot, time.Now())
		err := req.turn.Begin(ctx, c.member, c.server.stop)
		waiting.End()
		if err != nil {
			for _, f := range req.onRefused {
				f()
			}
			return nil, waitError(ctx, err)
		}
		defer req.turn.End()
		req.withTurn = fairshare.Context{Context: ctx, Turn: &req.turn}
		ctx = &req.withTurn
	}
	result, err := req.run(ctx)
	if err == nil && req.turn.Refused() {
		return nil, busyError(errNoRoom)
	}
	if err == nil && req.id != nil {
		if body, err = encode(result, buf); err == nil { // may call methods of the result
			err = c.reserveAnswer(req, len(body))
		}
	}
	return body, err
}

// waitError is the error for a request that was not begun, for the given reason.
func waitError(ctx context.Context, why error) error {
	switch {
	case errors.Is(why, fairshare.ErrStopped):
		return busyError(errShutdown)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return busyError(why)
}

// reserveAnswer reserves the bytes of an answer until it is written, and returns an
// error if there is no room: a short request can have a long answer, and the client may
// not be reading.
func (c *connection) reserveAnswer(req *request, size int) error {
	if !c.member.Reserve(size) {
		return busyError(errNoRoom)
	}
	req.reservedBytes += size
	return nil
}

// answerPanic answers a request whose method panicked or ended its goroutine with an error.
// The panic's value is logged only if it is a runtime error; others may contain the
// client's input.
func (c *connection) answerPanic(req *request, value any) {
	what := fmt.Sprintf("%T", value)
	if err, ok := value.(runtime.Error); ok {
		what = err.Error()
	}
	c.server.Logger.Error("a method panicked", "conn", c.ID, "panic", what, "stack", string(debug.Stack()))
	c.finish(req, nil, &Error{Code: CodeInternal, Message: "internal error; ask the person"})
}

// NewConn returns a connection of that peer, for one request and without a server. Methods must be called on
// it one at a time, as on a connection's reading goroutine. The caller must call end
// once.
func NewConn(peer decisions.Peer) (c *Conn, end func()) {
	c = &Conn{ID: connIDs.Add(1), Peer: peer, OneRequest: true}
	return c, func() {
		for _, f := range append(c.onEOF, c.onClose...) {
			f()
		}
	}
}

// PeerOf returns the process at the other end of a Unix socket.
func PeerOf(c *net.UnixConn) (decisions.Peer, error) { return peerOf(c) }
