package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/gatehttp"
	"github.com/permd/permd/socket/rap"
)

// call is one call, from its invocation until its result was delivered.
type call struct {
	*invocation // nil once it is finished
	sum         [32]byte
	ctx         context.Context
	cancel      context.CancelCauseFunc
	conn        *client.Client // on which permd was asked
	answers     chan selection // takes the answer of the runtime's person
	asked       chan struct{}  // closed when the question has ended
	held        *gatehttp.Held // the tool's answer, until the result is delivered
	sent        *client.Client // conn once the tool may have the call; guarded by Gateway.mu
	again       bool           // it was sent before the gateway was restarted
}

// invoke takes an invocation. The answer only says that it was taken.
func (g *Gateway) invoke(body []byte) (any, *gatehttp.Refusal) {
	in, f := g.readInvocation(body)
	if f != nil {
		return nil, f
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.ending:
		return nil, &gatehttp.Refusal{Status: http.StatusServiceUnavailable, Code: "ending", Message: "the gateway ends"}
	default:
	}
	if earlier := g.calls[in.callID]; earlier != nil {
		if earlier.sum != in.sum {
			return nil, bad("the id was used for another call of the thread")
		}
		return struct{}{}, nil // a runtime that saw no answer sends it again; it runs once
	}
	sent, same := g.o.Sent.Find(in.sum, in.thread, in.id)
	if sent && !same {
		return nil, bad("the id was used for another call of the thread")
	}
	if g.unfinished >= maxCalls {
		return nil, &gatehttp.Refusal{Status: http.StatusServiceUnavailable, Code: "busy", Message: "too many calls have no result yet"}
	}
	c := &call{invocation: in, sum: in.sum, answers: make(chan selection), asked: make(chan struct{}), again: sent}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	g.calls[in.callID] = c
	g.unfinished++
	g.runs.Go(func() { g.run(c) })
	return struct{}{}, nil
}

// decided is the part of the answers of rap/invoke and rap/choice that the gateway needs.
type decided struct {
	Outcome  rap.Outcome         `json:"outcome"`
	Decision *decisions.Decision `json:"decision"`
	Result   strictjson.Value    `json:"result"`
	Choice   *rap.UserChoice     `json:"choice"`
}

// Texts of results. What goes wrong here is no business of the model.
const (
	textUnasked   = "Error: permission could not be asked for"
	textCancelled = "Error: the call was cancelled"
	textCutOff    = "Error: the call was cancelled" + mayHaveRun // after it was sent
	textChoice    = "Error: the user could not be asked"
	textManyAsk   = "Error: too many calls wait for the user, so this one was not asked about and has not run"
	textWithheld  = "Error: the tool has run, and its answer is withheld since it holds a credential"
	textAgain     = "Error: the call was sent before, and its result is not known: it may have run"
	textUnnoted   = "Error: that the call is sent could not be noted, so it was not sent"
	textSelection = "Error: the selection is none of the choices"
)

// mayHaveRun ends what is said of a call that was sent and has no result.
const mayHaveRun = "; it may have run nevertheless"

// run carries a call through to its result.
func (g *Gateway) run(c *call) {
	defer g.finish(c)
	c.held = g.memory.Begin(c.callback.Address())
	defer c.held.Free()
	if c.again {
		g.deliver(c, c.failure(textAgain))
		return
	}
	d, result := g.decide(c)
	if d != nil && d.callbackDenied() {
		g.say("a result is not delivered: a rule denies its callback address")
		return
	}
	if result == nil && d.Outcome == rap.Ask {
		result = g.askPerson(c, d)
	}
	if result == nil {
		result = g.dispatch(c)
	}
	g.deliver(c, result)
}

// callbackDenied reports whether a rule denies the address that results go to.
func (d *decided) callbackDenied() bool {
	if d.Decision == nil {
		return false
	}
	for i := range d.Decision.Effects {
		if e := &d.Decision.Effects[i]; e.From == "callback_url" && e.Verdict == decisions.Deny {
			return true
		}
	}
	return false
}

// decide asks permd. The result is nil if the call may run or a person must be asked.
func (g *Gateway) decide(c *call) (*decided, []byte) {
	conn, _, err := g.daemon.Connection(c.ctx)
	if err != nil {
		if c.ctx.Err() == nil {
			g.say("permd cannot be asked: " + err.Error())
		}
		return nil, c.failure(textUnasked)
	}
	set := g.unknown
	if t := g.tools[c.operation]; t != nil {
		set = t.set
	}
	params, err := c.params(set, g.session.ID)
	if err != nil {
		return nil, c.failure(textUnasked)
	}
	c.conn = conn
	var d decided
	// Not ended by a cancellation, with which the connection could end in the middle of a
	// message, and what is allowed for threads with it.
	err = conn.Call(context.WithoutCancel(c.ctx), rap.MethodInvoke, params, &d)
	if c.ctx.Err() != nil {
		g.withdraw(c)
	}
	if refused, ok := errors.AsType[*client.Error](err); ok {
		var data struct {
			Result strictjson.Value `json:"result"`
		}
		if strictjson.Unmarshal(refused.Data, &data) == nil && data.Result != nil {
			return nil, data.Result // it cannot be read, which the model is told
		}
	}
	return g.outcome(c, &d, err)
}

// outcome returns the result of a call that may not run.
func (g *Gateway) outcome(c *call, d *decided, err error) (*decided, []byte) {
	switch {
	case c.ctx.Err() != nil:
		g.ended(c, rap.Cancelled)
		return nil, c.failure(textCancelled)
	case err != nil:
		return nil, c.failure(textUnasked)
	case d.Outcome == rap.Run || d.Outcome == rap.Ask && d.Choice != nil && d.Decision != nil:
		return d, nil
	case d.Result != nil:
		return d, d.Result
	}
	return nil, c.failure(textUnasked)
}

// cancelCall cancels a call. The answer is the same if there is none.
func (g *Gateway) cancelCall(body []byte) (any, *gatehttp.Refusal) {
	r, f := readRef(body, true)
	if f != nil {
		return nil, f
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.calls[callID{r.ThreadID, r.ToolCallID}]; c != nil {
		c.cancel(errCancelled)
	}
	return struct{}{}, nil
}

// closeThread cancels the calls of a thread and ends what was remembered for it.
func (g *Gateway) closeThread(body []byte) (any, *gatehttp.Refusal) {
	r, f := readRef(body, false)
	if f != nil {
		return nil, f
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	sent := map[callID]*client.Client{}
	for id, c := range g.calls {
		if id.thread == r.ThreadID {
			c.cancel(errCancelled)
			if c.sent != nil {
				sent[id] = c.sent
			}
		}
	}
	select {
	case <-g.ending:
		return struct{}{}, nil // what is remembered for threads ends with the connection
	default:
	}
	g.runs.Go(func() {
		for id, conn := range sent { // afterwards permd does not know them any more
			g.report(conn, id, rap.Unknown)
		}
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		defer cancel()
		conn, _, err := g.daemon.Connection(ctx)
		if err == nil {
			err = conn.Call(ctx, rap.MethodCloseThread, map[string]string{"thread_id": r.ThreadID}, nil)
		}
		if err != nil {
			g.say("permd was not told that a thread is closed: " + err.Error())
		}
	})
	return struct{}{}, nil
}

// status says whether a call will have a result.
func (g *Gateway) status(body []byte) (any, *gatehttp.Refusal) {
	r, f := readRef(body, true)
	if f != nil {
		return nil, f
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.calls[callID{r.ThreadID, r.ToolCallID}]
	return map[string]bool{"alive": c != nil && c.invocation != nil}, nil
}

// finish forgets a call, but for its id.
func (g *Gateway) finish(c *call) {
	c.cancel(nil)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unfinished--
	g.finished = append(g.finished, c.callID)
	c.invocation, c.conn, c.sent = nil, nil, nil
	if len(g.finished) > maxFinished {
		delete(g.calls, g.finished[0])
		g.finished = g.finished[1:]
	}
}

// ended reports how a call ended, for the decision log.
func (g *Gateway) ended(c *call, how rap.Ended) { g.report(c.conn, c.callID, how) }

func (g *Gateway) report(conn *client.Client, id callID, how rap.Ended) {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	report := map[string]any{"thread_id": id.thread, "tool_call_id": id.id, "outcome": how}
	if err := conn.Call(ctx, rap.MethodEnded, report, nil); err != nil {
		g.say("how a call ended is not in the decision log: " + err.Error())
	}
}

// backoff are the waits before further attempts to deliver a message.
var backoff = [...]time.Duration{time.Second, 4 * time.Second, 16 * time.Second}
