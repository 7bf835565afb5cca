package socket

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// Bytes of requests.
const (
	// requestBytes is what a request in flight uses besides its message: a goroutine, contexts.
	requestBytes = 16 << 10
	// maxRequestBytes bounds the requests in flight of one connection, so that there is
	// memory left for deciding them.
	maxRequestBytes = 4 << 20
	// workBytes is about how many bytes deciding a request uses for each byte of its message,
	// if that has many short commands: an effect is larger than the words that it is of.
	workBytes = 64
)

// cancelMethod is ACP's notification that withdraws a request. It is handled here
// because methods do not see ids.
const cancelMethod = "$/cancel_request"

// addRequest adds a request to those in flight. If they are too many or too long, it blocks,
// and with it the reading goroutine: the client is slowed down rather than refused. It
// returns false if the connection ends meanwhile.
func (c *connection) addRequest(req *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	full := func() bool {
		n := len(c.requests)
		return n > 0 && (n >= c.server.maxInFlight || c.size+req.size > maxRequestBytes)
	}
	if full() {
		c.endReading()
	}
	for full() && c.ctx.Err() == nil {
		c.changed.Wait()
	}
	if c.ctx.Err() != nil {
		return false
	}
	c.requests = append(c.requests, req)
	c.size += req.size
	return true
}

// idInUse reports whether a request with that id is in flight: the client could not tell
// the two answers apart. Null is an id like others here.
func (c *connection) idInUse(id strictjson.Value) bool {
	if id == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findRequest(id) != nil
}

// findRequest returns the unanswered request with that id, nil if there is none. Answered
// ones do not count: a client may reuse an id at once.
func (c *connection) findRequest(id strictjson.Value) *request {
	for _, req := range c.requests {
		if !req.answered && req.id != nil && sameID(req.id, id) {
			return req
		}
	}
	return nil
}

// sameID reports whether two valid ids are the same to a client. An integer has one
// notation, a string many.
func sameID(a, b strictjson.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return false
	}
	x, ok := strictjson.ParseString(a)
	y, yok := strictjson.ParseString(b)
	return ok && yok && x == y
}

// finish answers a request, once, with body (nil means null) or err.
func (c *connection) finish(req *request, body []byte, err error) {
	c.mu.Lock()
	first := !req.answered
	req.answered = true
	c.mu.Unlock()
	if first && req.id != nil {
		if err != nil {
			c.replyError(req.id, c.errorOf(req, err))
		} else {
			if body == nil {
				body = nullID
			}
			c.answers.send(req.id, "result", body)
		}
	} else if first && err != nil {
		c.server.Logger.Debug("a notification failed", "conn", c.ID, "error", err)
	}
	if req.cancel != nil {
		req.cancel(nil)
	}
	if req.reservedBytes > 0 {
		c.member.Release(req.reservedBytes)
	}
	if first {
		c.removeRequest(req)
	}
}

// errorOf returns the error to answer with for err.
func (c *connection) errorOf(req *request, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		if e.Code == CodeAsk && req.ctx != nil && errors.Is(context.Cause(req.ctx), ErrWithdrawn) {
			// The request was withdrawn, so there is nothing left to ask the person.
			return withdrawnError()
		}
		return e
	}
	if req.ctx != nil && errors.Is(err, context.Canceled) {
		cause := context.Cause(req.ctx)
		if errors.Is(cause, ErrWithdrawn) {
			return withdrawnError()
		}
		if errors.Is(cause, errShutdown) || errors.Is(cause, errTooSlow) || errors.Is(cause, errDisconnected) {
			return busyError(cause)
		}
	}
	c.server.Logger.Error("a method failed", "conn", c.ID, "error", err)
	return &Error{Code: CodeInternal, Message: "internal error; ask the person"}
}

// withdrawnError is the error for a request that the client has withdrawn. The wire calls
// it cancelled, as it does a request whose turn was cancelled.
func withdrawnError() *Error { return &Error{Code: CodeCancelled, Message: "request cancelled"} }

// busyError is the error for an exceeded limit.
func busyError(why error) *Error {
	return &Error{Code: CodeBusy, Message: why.Error() + "; ask the person"}
}

// replyError answers a message with an error.
func (c *connection) replyError(id strictjson.Value, e *Error) {
	body, err := marshal(e)
	if err != nil {
		c.server.Logger.Error("an error's data is not JSON", "conn", c.ID, "code", e.Code)
		body = []byte(`{"code":-32603,"message":"internal error; ask the person"}`)
	}
	c.answers.send(id, "error", body)
}

// refuseMessage answers a message that is not dispatched. Notifications get no answer.
func (c *connection) refuseMessage(m message, e *Error) {
	if m.kind == kindRequest {
		c.replyError(m.id, e)
	}
}

// withdraw cancels the request whose id is in params. It is still answered: with its
// result if that is ready, otherwise with CodeCancelled.
func (c *connection) withdraw(params strictjson.Value) {
	if params == nil {
		return
	}
	obj, err := strictjson.ParseObject(params)
	if err != nil || obj.NearMiss("requestId") != "" {
		return
	}
	id, ok := obj.Get("requestId")
	if !ok {
		return
	}
	c.mu.Lock()
	if req := c.findRequest(id); req != nil && req.cancel != nil {
		req.cancel(ErrWithdrawn)
	}
	c.mu.Unlock()
	for _, f := range c.onWithdraw {
		f(id)
	}
}

// stopReading stops reading. Requests that were read before are refused unless they have
// started.
func (c *connection) stopReading() {
	c.stopping.Store(true)
	_ = c.net.SetReadDeadline(time.Unix(1, 0))
	c.handOverReading(c.leading.Load()) // so that the end is noticed now
}

// abandon cancels all unanswered requests and answers them with an error, without
// waiting for methods that ignore their context.
func (c *connection) abandon(cause error) {
	c.cancel(cause)
	var left []*request
	c.mu.Lock()
	for _, req := range c.requests {
		if !req.answered {
			req.answered = true
			left = append(left, req)
		}
	}
	c.changed.Broadcast()
	c.mu.Unlock()
	for _, req := range left {
		if req.id != nil {
			c.replyError(req.id, busyError(cause))
		}
		c.removeRequest(req)
	}
}

// removeRequest undoes addRequest after the answer was written: queued answers count as in
// flight, and the connection closes when none are left.
func (c *connection) removeRequest(req *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.requests, req); i >= 0 {
		c.requests = slices.Delete(c.requests, i, i+1)
		c.size -= req.size
		c.changed.Broadcast()
	}
}

// drop closes the connection at once, without answering.
func (c *connection) drop() {
	c.stopping.Store(true)
	c.cancel(errDisconnected)
	_ = c.net.Close()
	c.mu.Lock()
	c.dropped = true
	c.changed.Broadcast()
	c.mu.Unlock()
}

// close closes the connection after the requests in flight are answered, at most a grace
// period later. It is the last call on the reading goroutine.
func (c *connection) close() {
	close(c.workQueue)
	close(c.spare)
	c.lines.releaseBuffer()
	for _, f := range c.onEOF {
		c.closed(f)
	}
	grace := c.server.Grace
	if c.stopping.Load() {
		grace = c.server.StopGrace
	}
	late := time.AfterFunc(grace, func() {
		if c.stopping.Load() {
			c.abandon(errShutdown)
		} else {
			c.abandon(errTooSlow)
		}
	})
	c.mu.Lock()
	for len(c.requests) > 0 && !c.dropped {
		c.changed.Wait()
	}
	c.mu.Unlock()
	late.Stop()
	c.answers.flush()
	c.cancel(errDisconnected)
	_ = c.net.Close()
	c.waitWorkers()
	for _, f := range c.onClose {
		c.closed(f)
	}
}

// waitWorkers waits for the workers, except for those whose methods ignore their
// context.
func (c *connection) waitWorkers() {
	done := make(chan struct{})
	go func() {
		c.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(handlerGrace):
		c.server.methodStuck.Store(true)
		c.server.Logger.Error("a method goes on after its connection has ended", "conn", c.ID)
	}
}

func (c *connection) closed(f func()) {
	defer func() {
		if v := recover(); v != nil {
			c.server.Logger.Error("closing a connection panicked", "conn", c.ID)
		}
	}()
	f()
}
