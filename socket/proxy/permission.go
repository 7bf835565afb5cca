package proxy

import (
	"errors"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/client"
)

const methodCancelRequest = "$/cancel_request"

// The outcomes of a request for permission.
const (
	outcomeSelected  = "selected"
	outcomeCancelled = "cancelled"
)

// trackedRequest is a request that permd is asked about, from when it comes until it
// is answered.
type trackedRequest struct {
	from    peerSide
	id      strictjson.Value
	line    []byte
	session string
	call    string           // its toolCallId
	params  strictjson.Value // of a session/request_permission, also for a form
	form    *form            // it is a form that asks for the same, nil if not
	gate    bool

	slot  uint64           // its place in what is sent to the other side
	ask   uint64           // the question to permd
	asked strictjson.Value // what permd was asked; nil when it was not
	// method is that of a gate.
	method  string
	inPlace bool // the other side has not seen it
	late    bool // it waits for an input that its agent sends late
	// again is set when it was asked about a second time, with the input that
	// came late.
	again bool

	// What the person was shown, once they were asked.
	decision *decisions.Decision
	stale    bool // the connection on which permd asked is gone
	shown    *shownOptions
	// withdrawn is set when the agent has withdrawn what the person was asked,
	// over when the client has cancelled the turn.
	withdrawn, over bool
	// times is how often the person was asked again.
	times int
	// approval is the person's answer while it is being reported to permd.
	approval *approval
}

// permission takes a session/request_permission of the agent.
func (c *core) permission(m *message) {
	if !c.admit(agentSide, m) {
		return
	}
	t := &trackedRequest{
		from: agentSide, id: m.id, line: m.line, params: m.params,
		session: text(m.params, "sessionId"),
	}
	c.decide(t)
}

// decide has permd decide a request before the client sees it.
func (c *core) decide(t *trackedRequest) {
	t.call = text(t.params, append(callAt(t.params), "toolCallId")...)
	c.declareUnknown(t.session)
	if c.cancelled(t.session) {
		// The request and the cancel have crossed. The client would answer so, and
		// some that have ended the turn would not answer at all.
		c.reply(agentSide, t.cancelled())
		c.answeredByPermd[agentSide].add(key(t.id))
		return
	}
	c.hold(t)
	c.askPermission(t, t.params)
}

// callAt is where a request says something of its tool call: version 2 has it
// in the subject.
func callAt(params strictjson.Value) []string {
	if strictjson.Find(params, "toolCall") == nil && text(params, "subject", "type") == "tool_call" {
		return []string{"subject", "toolCall"}
	}
	return []string{"toolCall"}
}

func (c *core) askPermission(t *trackedRequest, params strictjson.Value) {
	if params == nil || len(params) > maxNotification-spare {
		c.toPerson(t, nil)
		return
	}
	t.asked = params
	t.ask = c.ask(acp.MethodRequestPermission, params, false)
	c.waiting[t.ask] = t
}

const (
	errInUse = "permd acp: the id is that of a request that is not answered yet"
	errMany  = "permd acp: too many requests at once"
)

// admit refuses a request whose id is in use: an answer would not say which of
// the two it is to.
func (c *core) admit(from peerSide, m *message) bool {
	k := key(m.id)
	if c.tracked[from][k] != nil || from == agentSide && c.undecided[short(k)] > 0 {
		c.reply(from, failure(m.id, socket.CodeRequest, errInUse))
		return false
	}
	if len(c.tracked[from]) >= maxCalls {
		c.reply(from, failure(m.id, socket.CodeBusy, errMany))
		return false
	}
	c.answeredByPermd[from].remove(k)
	if from == agentSide {
		c.answeredByPerson.remove(k)
	}
	return true
}

// hold keeps a request back, with all that its side says after it.
func (c *core) hold(t *trackedRequest) {
	c.last++
	t.slot, t.inPlace = c.last, true
	c.tracked[t.from][key(t.id)] = t
	c.add(action{Kind: actReserve, To: t.from.other(), Place: t.slot})
}

// release lets the other side see a request, as line; nil for never.
func (c *core) release(t *trackedRequest, line []byte) {
	t.inPlace = false
	c.add(action{Kind: actFill, To: t.from.other(), Place: t.slot, Line: line})
}

// finish answers a request in the place of the other side, which never sees it.
func (c *core) finish(t *trackedRequest, line []byte) {
	c.reply(t.from, line)
	c.release(t, nil)
	c.drop(t)
	c.answeredByPermd[t.from].add(key(t.id))
}

func (c *core) drop(t *trackedRequest) {
	delete(c.tracked[t.from], key(t.id))
	delete(c.waiting, t.ask)
}

func (c *core) withdraw(t *trackedRequest) {
	if t.ask != 0 {
		c.add(action{Kind: actWithdraw, N: t.ask})
	}
}

// decided takes permd's answer to a permission request.
func (c *core) decided(t *trackedRequest, result strictjson.Value, err error) {
	var rpc *client.Error
	switch {
	case err == nil:
		line, ok := t.answers(result)
		if !ok {
			if t.form == nil {
				c.print("permd's answer fits none of the agent's options, so the call is left to you")
			}
			c.toPerson(t, nil)
			return
		}
		c.finish(t, line)
	case errors.As(err, &rpc) && rpc.Code == socket.CodeAsk:
		// A connection that has answered takes the answer, except one that
		// ended just now, whose permd will ask again.
		t.stale = false
		d := question(rpc)
		if d != nil && !t.again && c.waitsFor(t) {
			t.late, t.decision = true, d
			c.add(action{Kind: actWake, N: t.ask, After: c.rules.LateWait})
			return
		}
		c.toPerson(t, d)
	case c.rules.Require && !errors.As(err, &rpc):
		c.finish(t, failure(t.id, socket.CodeInternal, "permd acp: "+client.ErrUnreachable.Error()))
	default:
		c.toPerson(t, nil)
	}
}

// question is what permd asks of the person, nil when it cannot be read.
func question(rpc *client.Error) *decisions.Decision {
	d, err := rpc.Question()
	if err != nil || d.ID == "" {
		return nil
	}
	return d
}

// answers expresses permd's answer as one to the agent's request; false if that
// is not possible.
func (t *trackedRequest) answers(result strictjson.Value) ([]byte, bool) {
	switch {
	case !offers(t.params, result):
		return nil, false
	case t.form != nil:
		return t.form.answers(t.id, result)
	}
	return response(t.id, result), true
}

// cancelled is the answer to a request whose turn is over. Version 2 says with
// it that the request was declined, too.
func (t *trackedRequest) cancelled() []byte {
	if t.form != nil {
		return response(t.id, object(member("action", actionCancel)))
	}
	return response(t.id, object(strictjson.Member{Name: "outcome", Value: object(member("outcome", outcomeCancelled))}))
}

// offers reports whether an answer names an option of the request, or none.
func offers(params, result strictjson.Value) bool {
	switch text(result, "outcome", "outcome") {
	case outcomeCancelled:
		return true
	case outcomeSelected:
		options, ok := readOptions(params)
		id := text(result, "outcome", "optionId")
		return ok && slices.ContainsFunc(options, func(o option) bool { return o.ID == id })
	}
	return false
}

// toPerson leaves a request to the person. d is permd's question, nil when it
// could not be asked.
func (c *core) toPerson(t *trackedRequest, d *decisions.Decision) {
	t.decision, t.late = d, false
	c.release(t, c.shows(t))
}

// shows is the request as the person sees it.
func (c *core) shows(t *trackedRequest) []byte {
	if t.decision != nil && t.form == nil {
		if shown, line := c.rewrite(t, t.decision); shown != nil {
			t.shown = shown
			return line
		}
	}
	return t.line
}

// cancelTurn takes the client's session/cancel: what permd holds of the session
// is answered as the client would.
func (c *core) cancelTurn(m *message) {
	c.forward(clientSide, m.line)
	id := text(m.params, "sessionId")
	if s := c.sessions.byID[id]; s != nil {
		s.turn.cancel()
	}
	for _, t := range c.ofSession(id) {
		switch {
		case t.inPlace:
			c.finish(t, t.cancelled())
		case t.approval != nil:
			// The turn must not wait for permd, and without its word the yes
			// must not count.
			c.withdraw(t)
			c.finishApproval(t, t.cancelled())
		default:
			t.over = true
		}
	}
	if m.params != nil {
		c.notify(acp.MethodCancel, slices.Clone(m.params))
	}
}

// ofSession are the permission requests of a session, in their order.
func (c *core) ofSession(id string) (list []*trackedRequest) {
	for _, t := range c.tracked[agentSide] {
		if t.session == id && !t.gate {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *trackedRequest) int { return int(int64(a.slot) - int64(b.slot)) })
	return list
}

// cancelRequest takes a $/cancel_request of a side.
func (c *core) cancelRequest(from peerSide, m *message) {
	k := key(strictjson.Find(m.params, "requestId"))
	t := c.tracked[from][k]
	switch {
	case t != nil && t.inPlace:
		c.withdraw(t)
		c.finish(t, failure(t.id, socket.CodeCancelled, "request cancelled"))
	case t != nil && t.approval != nil:
		c.withdraw(t)
		c.finishApproval(t, failure(t.id, socket.CodeCancelled, "request cancelled"))
		c.forward(from, m.line)
	case c.answeredByPermd[from].has(k):
		// It has its answer, and the other side never saw it.
	default:
		if t != nil {
			c.withdraw(t)
			t.withdrawn = true
		}
		c.forward(from, m.line)
	}
}

// lateAgents send the input of a call after the request for it.
var lateAgents = []string{"opencode", "opencode-ai"}

// waitsFor reports whether the input of a request may still be on its way.
func (c *core) waitsFor(t *trackedRequest) bool {
	name := strings.ToLower(c.parties[agentSide].Name)
	return slices.Contains(lateAgents, name) && t.call != "" && nothing(strictjson.Find(t.params, append(callAt(t.params), "rawInput")...))
}

// nothing reports whether a value says nothing.
func nothing(v strictjson.Value) bool {
	switch strictjson.Kind(v) {
	case 0, 'n':
		return true
	case '{':
		o, err := strictjson.ParseObject(v)
		return err == nil && len(o) == 0
	}
	return false
}

// arrived takes the news that a call's input came: a request that waited for it
// is decided again, by what permd knows of the call now.
func (c *core) arrived(sessionID, callID string) {
	for _, t := range c.ofSession(sessionID) {
		if !t.late || t.call != callID {
			continue
		}
		params, ok := put(t.params, nil, append(callAt(t.params), "rawInput")...)
		if !ok {
			continue
		}
		c.withdraw(t)
		t.late, t.again = false, true
		c.askPermission(t, params)
	}
}

// plain is the option of the agent that allows just one call, where its profile
// names one.
func (c *core) plain(agent effects.Party) string {
	if c.rules.Plain == nil || agent.Name == "" {
		return ""
	}
	return c.rules.Plain(agent)
}
