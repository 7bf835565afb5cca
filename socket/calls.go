package socket

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// cancelMethod is ACP's notification that withdraws a request by its id. It is
// served here because only the framing knows ids.
const cancelMethod = "$/cancel_request"

// enter counts a call as in flight. If there are too many it blocks, and with it the
// reading, so the client is slowed down rather than refused. It returns false if the
// connection ends meanwhile.
func (c *connection) enter(cl *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.calls) >= c.server.maxInFlight && c.ctx.Err() == nil {
		c.changed.Wait()
	}
	if c.ctx.Err() != nil {
		return false
	}
	c.calls = append(c.calls, cl)
	return true
}

// inUse reports whether a request with that id is in flight: two answers with the same
// id could be confused. Null counts as an id here.
func (c *connection) inUse(id strictjson.Value) bool {
	if id == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(id) != nil
}

// find ignores answered calls: a client may reuse an id at once.
func (c *connection) find(id strictjson.Value) *call {
	for _, cl := range c.calls {
		if !cl.answered && cl.id != nil && sameID(cl.id, id) {
			return cl
		}
	}
	return nil
}

// sameID reports whether two valid ids are equal to a client. Integers have only one
// notation, strings have many.
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

// finish answers a call, once, with body (nil: null) or err, and ends it.
func (c *connection) finish(cl *call, body []byte, err error) {
	c.mu.Lock()
	first := !cl.answered
	cl.answered = true
	c.mu.Unlock()
	if first && cl.id != nil {
		if err != nil {
			c.fault(cl.id, c.errorOf(cl, err))
		} else {
			if body == nil {
				body = null
			}
			c.answers.send(cl.id, "result", body)
		}
	} else if first && err != nil {
		c.server.Logger.Debug("a notification failed", "conn", c.ID, "error", err)
	}
	if cl.cancel != nil {
		cl.cancel(nil)
	}
	if cl.reserved > 0 {
		c.server.limits.release(c.Peer.UID, cl.reserved)
	}
	if first {
		c.leave(cl)
	}
}

// errorOf returns the error that the client gets for err.
func (c *connection) errorOf(cl *call, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		if e.Code == CodeAsk && cl.ctx != nil && errors.Is(context.Cause(cl.ctx), ErrWithdrawn) {
			// There is nothing left to ask the person.
			return cancelled()
		}
		return e
	}
	if cl.ctx != nil && errors.Is(err, context.Canceled) {
		cause := context.Cause(cl.ctx)
		if errors.Is(cause, ErrWithdrawn) {
			return cancelled()
		}
		if errors.Is(cause, errShutdown) || errors.Is(cause, errTooSlow) || errors.Is(cause, errDisconnected) {
			return busy(cause)
		}
	}
	c.server.Logger.Error("a method failed", "conn", c.ID, "error", err)
	return &Error{Code: CodeInternal, Message: "internal error; ask the person"}
}

// cancelled is the error for a request that the client has withdrawn.
func cancelled() *Error { return &Error{Code: CodeCancelled, Message: "request cancelled"} }

// busy is the error for a limit that was reached.
func busy(why error) *Error {
	return &Error{Code: CodeBusy, Message: why.Error() + "; ask the person"}
}

// fault answers with an error.
func (c *connection) fault(id strictjson.Value, e *Error) {
	body, err := marshal(e)
	if err != nil {
		c.server.Logger.Error("an error's data is not JSON", "conn", c.ID, "code", e.Code)
		body = []byte(`{"code":-32603,"message":"internal error; ask the person"}`)
	}
	c.answers.send(id, "error", body)
}

// refuse answers a message that is not dispatched; a notification with nothing.
func (c *connection) refuse(m message, e *Error) {
	if m.kind == request {
		c.fault(m.id, e)
	}
}

// withdraw cancels the request that params name. It is still answered: with its
// result if that is ready, else with CodeCancelled.
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
	if cl := c.find(id); cl != nil && cl.cancel != nil {
		cl.cancel(ErrWithdrawn)
	}
	c.mu.Unlock()
	for _, f := range c.onWithdraw {
		f(id)
	}
}

// stopReading stops reading. Requests that were read already are refused.
func (c *connection) stopReading() {
	c.stopping.Store(true)
	_ = c.net.SetReadDeadline(time.Unix(1, 0))
	c.handOverReading(c.leading.Load()) // the end is read now
}

// abandon cancels all requests that are not answered, and answers them with an error at
// once, without waiting for methods that ignore their context.
func (c *connection) abandon(cause error) {
	c.cancel(cause)
	var left []*call
	c.mu.Lock()
	for _, cl := range c.calls {
		if !cl.answered {
			cl.answered = true
			left = append(left, cl)
		}
	}
	c.changed.Broadcast()
	c.mu.Unlock()
	for _, cl := range left {
		if cl.id != nil {
			c.fault(cl.id, busy(cause))
		}
		c.leave(cl)
	}
}

// leave undoes enter, after the answer has been written: queued answers count as in
// flight, and the connection is closed when there are none.
func (c *connection) leave(cl *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.calls, cl); i >= 0 {
		c.calls = slices.Delete(c.calls, i, i+1)
		c.changed.Broadcast()
	}
}

// drop ends the connection at once, without answering.
func (c *connection) drop() {
	c.stopping.Store(true)
	c.cancel(errDisconnected)
	_ = c.net.Close()
	c.mu.Lock()
	c.gone = true
	c.changed.Broadcast()
	c.mu.Unlock()
}

// close ends the connection after what is in flight is answered, at most a
// grace period later. It is called on the reading goroutine, as its last.
func (c *connection) close() {
	close(c.work)
	c.lines.free()
	late := time.AfterFunc(c.server.Grace, func() {
		if c.stopping.Load() {
			c.abandon(errShutdown)
		} else {
			c.abandon(errTooSlow)
		}
	})
	c.mu.Lock()
	for len(c.calls) > 0 && !c.gone {
		c.changed.Wait()
	}
	c.mu.Unlock()
	late.Stop()
	c.answers.flush()
	c.cancel(errDisconnected)
	_ = c.net.Close()
	c.join()
	for _, f := range c.onClose {
		c.closed(f)
	}
}

// join waits for the workers, except those that ignore their context.
func (c *connection) join() {
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
