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

// trackedRequest is a request that permd is asked about, from its arrival to its answer.
type trackedRequest struct {
	from    peerSide
	id      strictjson.Value
	line    []byte
	session string
	call    string           // its toolCallId
	params  strictjson.Value // of a session/request_permission, also for a form
	form    *form            // set for a form that asks for permission
	options []option         // of params, see readOptions
	gate    bool

	optionsRead, optionsFit bool

	slot  uint64           // its place in what is sent to the other side
	ask   uint64           // number of the question to permd
	asked strictjson.Value // the params sent to permd; nil if it was not asked
	// method is that of a gate.
	method        string
	inPlace       bool // the other side has not seen it
	waitsForInput bool // it waits for an input that its agent sends late
	// decidedAgain is set if permd was asked a second time, with the late input.
	decidedAgain bool

	// The question that the person was shown, if they were asked.
	decision       *decisions.Decision
	connectionGone bool // permd's question was on a connection that has ended
	shown          *shownOptions
	// withdrawn is set if the agent has withdrawn the request after the person was asked,
	// turnCancelled if the client has cancelled the turn.
	withdrawn, turnCancelled bool
	// timesAsked is how often the person was asked again.
	timesAsked int
	// approval is the person's answer while it is being reported to permd.
	approval *approval
}

// permission handles a session/request_permission of the agent.
func (c *core) permission(m *message) {
	if !c.checkID(agentSide, m) {
		return
	}
	t := &trackedRequest{
		from: agentSide, id: m.id, line: m.line, params: m.params,
		session: text(m.params, "sessionId"),
	}
	c.decide(t)
}

// decide asks permd for a decision before the client sees the request.
func (c *core) decide(t *trackedRequest) {
	t.call = text(t.params, append(callAt(t.params), "toolCallId")...)
	c.declareUnknown(t.session)
	if c.cancelled(t.session) {
		// The request and the cancel have crossed. The client would answer so, and some
		// clients that have ended the turn would not answer at all.
		c.reply(agentSide, t.cancelled())
		c.answeredByPermd[agentSide].add(key(t.id))
		return
	}
	c.delay(t)
	c.askPermission(t, t.params)
}

// callAt returns the path of the tool call in a request: version 2 has it in the
// subject.
func callAt(params strictjson.Value) []string {
	if strictjson.Find(params, "toolCall") == nil && text(params, "subject", "type") == "tool_call" {
		return []string{"subject", "toolCall"}
	}
	return []string{"toolCall"}
}

func (c *core) askPermission(t *trackedRequest, params strictjson.Value) {
	if params == nil || len(params) > maxNotification-spare {
		c.leaveToPerson(t, nil)
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

// checkID refuses a request whose id is in use: an answer would not say which of the two
// it is for.
func (c *core) checkID(from peerSide, m *message) bool {
	k := key(m.id)
	if c.tracked[from][k] != nil || from == agentSide && c.undecided[shortKey(k)] > 0 {
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

// delay holds a request back, and everything that its side sends after it.
func (c *core) delay(t *trackedRequest) {
	c.last++
	t.slot, t.inPlace = c.last, true
	c.tracked[t.from][key(t.id)] = t
	c.add(action{Kind: actReserve, To: t.from.other(), Place: t.slot})
}

// release sends line to the other side in place of the request, nothing if it is nil.
func (c *core) release(t *trackedRequest, line []byte) {
	t.inPlace = false
	c.add(action{Kind: actFill, To: t.from.other(), Place: t.slot, Line: line})
}

// finish answers a request in place of the other side, which never sees it.
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

// onDecided handles permd's answer to a permission request.
func (c *core) onDecided(t *trackedRequest, result strictjson.Value, err error) {
	var rpc *client.Error
	switch {
	case err == nil:
		line, ok := t.agentAnswer(result)
		if !ok {
			if t.form == nil {
				c.print("permd's answer fits none of the agent's options, so the call is left to you")
			}
			c.leaveToPerson(t, nil)
			return
		}
		c.finish(t, line)
	case errors.As(err, &rpc) && rpc.Code == socket.CodeAsk:
		// A connection that has answered accepts the person's answer, unless it ended just
		// now: then permd will be asked again.
		t.connectionGone = false
		d := question(rpc)
		if d != nil && !t.decidedAgain && c.mayWaitForInput(t) {
			t.waitsForInput, t.decision = true, d
			c.add(action{Kind: actWake, N: t.ask, After: c.rules.LateWait})
			return
		}
		c.leaveToPerson(t, d)
	case c.rules.Require && !errors.As(err, &rpc):
		c.finish(t, failure(t.id, socket.CodeInternal, "permd acp: "+client.ErrUnreachable.Error()))
	default:
		c.leaveToPerson(t, nil)
	}
}

// question returns permd's question to the person, nil if it cannot be read.
func question(rpc *client.Error) *decisions.Decision {
	d, err := rpc.Question()
	if err != nil || d.ID == "" {
		return nil
	}
	return d
}

// agentAnswer expresses permd's answer as one to the agent's request; false if that
// is not possible.
func (t *trackedRequest) agentAnswer(result strictjson.Value) ([]byte, bool) {
	switch {
	case !t.isOffered(result):
		return nil, false
	case t.form != nil:
		return t.form.formAnswer(t.id, result)
	}
	return response(t.id, result), true
}

// cancelled returns the answer to a request whose turn is over. In version 2 this also
// means that the request was declined.
func (t *trackedRequest) cancelled() []byte {
	if t.form != nil {
		return response(t.id, object(member("action", actionCancel)))
	}
	return response(t.id, object(strictjson.Member{Name: "outcome", Value: object(member("outcome", outcomeCancelled))}))
}

// isOffered reports whether an answer names an option of the request, or none.
func (t *trackedRequest) isOffered(result strictjson.Value) bool {
	switch text(result, "outcome", "outcome") {
	case outcomeCancelled:
		return true
	case outcomeSelected:
		return t.hasOption(text(result, "outcome", "optionId"))
	}
	return false
}

// leaveToPerson leaves a request to the person. d is permd's question, nil if there is
// none.
func (c *core) leaveToPerson(t *trackedRequest, d *decisions.Decision) {
	t.decision, t.waitsForInput = d, false
	c.release(t, c.requestForPerson(t))
}

// requestForPerson returns the request as the person sees it.
func (c *core) requestForPerson(t *trackedRequest) []byte {
	if t.decision != nil && t.form == nil {
		if shown, line := c.rewrite(t, t.decision); shown != nil {
			t.shown = shown
			return line
		}
	}
	return t.line
}

// cancelTurn handles the client's session/cancel: requests of the session that are being
// decided are answered as the client would.
func (c *core) cancelTurn(m *message) {
	c.forward(clientSide, m.line)
	id := text(m.params, "sessionId")
	if s := c.sessions.byID[id]; s != nil {
		s.turn.cancel()
	}
	for _, t := range c.inSession(id) {
		switch {
		case t.inPlace:
			c.finish(t, t.cancelled())
		case t.approval != nil:
			// The turn must not wait for permd, and without permd's answer the approval
			// must not count.
			c.withdraw(t)
			c.finishApproval(t, t.cancelled())
		default:
			t.turnCancelled = true
		}
	}
	if m.params != nil {
		c.notify(acp.MethodCancel, slices.Clone(m.params))
	}
}

// inSession returns the permission requests of a session, in order.
func (c *core) inSession(id string) (list []*trackedRequest) {
	for _, t := range c.tracked[agentSide] {
		if t.session == id && !t.gate {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *trackedRequest) int { return int(int64(a.slot) - int64(b.slot)) })
	return list
}

// cancelRequest handles a $/cancel_request of a side.
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
		// It has been answered, and the other side never saw it.
	default:
		if t != nil {
			c.withdraw(t)
			t.withdrawn = true
		}
		c.forward(from, m.line)
	}
}

// lateAgents send the input of a call after the permission request for it.
var lateAgents = []string{"opencode", "opencode-ai"}

// mayWaitForInput reports whether the input of a request may still arrive.
func (c *core) mayWaitForInput(t *trackedRequest) bool {
	name := strings.ToLower(c.parties[agentSide].Name)
	return slices.Contains(lateAgents, name) && t.call != "" && isNothing(strictjson.Find(t.params, append(callAt(t.params), "rawInput")...))
}

// isNothing reports whether a value is empty.
func isNothing(v strictjson.Value) bool {
	switch strictjson.Kind(v) {
	case 0, 'n':
		return true
	case '{':
		o, err := strictjson.ParseObject(v)
		return err == nil && len(o) == 0
	}
	return false
}

// onInput is called when a call's input has arrived: a request that waited for it is
// decided again, with what permd knows about the call now.
func (c *core) onInput(sessionID, callID string) {
	for _, t := range c.inSession(sessionID) {
		if !t.waitsForInput || t.call != callID {
			continue
		}
		params, ok := put(t.params, nil, append(callAt(t.params), "rawInput")...)
		if !ok {
			continue
		}
		c.withdraw(t)
		t.waitsForInput, t.decidedAgain = false, true
		c.askPermission(t, params)
	}
}

// onceOption returns the id of the agent's option that allows just one call, if its
// profile names one.
func (c *core) onceOption(agent effects.Party) string {
	if c.rules.Plain == nil || agent.Name == "" {
		return ""
	}
	return c.rules.Plain(agent)
}
