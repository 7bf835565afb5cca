package proxy

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

const methodCancelRequest = "$/cancel_request"

// tracked is a request that permd is asked about, from when it comes until it
// is answered.
type tracked struct {
	from    Side
	id      strictjson.Value
	line    []byte
	session string
	call    string // its toolCallId
	params  strictjson.Value
	gate    bool

	slot uint64 // its place in what is sent to the other side
	ask  uint64 // the question to permd
	held bool   // the other side has not seen it
	late bool   // it waits for an input that its agent sends late
	// again is set when it was asked about a second time, with the input that
	// came late.
	again bool

	// What the person was shown, once they were asked.
	decision *decisions.Decision
	stale    bool // the connection on which permd asked is gone
	shown    *shown
	// withdrawn is set when the agent has withdrawn what the person was asked.
	withdrawn bool
}

// permission takes a session/request_permission of the agent.
func (c *Core) permission(m *message) {
	if !c.admit(Agent, m) {
		return
	}
	t := &tracked{
		from: Agent, id: m.id, line: m.line, params: m.params,
		session: text(m.params, "sessionId"), call: text(m.params, "toolCall", "toolCallId"),
	}
	c.known(t.session)
	c.hold(t)
	c.askPermission(t, t.params)
}

func (c *Core) askPermission(t *tracked, params strictjson.Value) {
	if params == nil || len(params) > maxTold-spare {
		c.toPerson(t, nil)
		return
	}
	t.ask = c.ask(acp.MethodRequestPermission, params, false)
	c.waiting[t.ask] = t
}

// admit refuses a request whose id is in use: an answer would not say which of
// the two it is to.
func (c *Core) admit(from Side, m *message) bool {
	k := key(m.id)
	if c.tracked[from][k] != nil {
		c.reply(from, failure(m.id, socket.CodeRequest, "permd acp: the id is that of a request that is not answered yet"))
		return false
	}
	if len(c.tracked[from]) >= maxCalls {
		c.reply(from, failure(m.id, socket.CodeBusy, "permd acp: too many requests at once"))
		return false
	}
	c.answered[from].remove(k)
	return true
}

// hold keeps a request back, with all that its side says after it.
func (c *Core) hold(t *tracked) {
	c.last++
	t.slot, t.held = c.last, true
	c.tracked[t.from][key(t.id)] = t
	c.add(Act{Kind: Hold, To: t.from.other(), Slot: t.slot})
}

// release lets the other side see a request, as line; nil for never.
func (c *Core) release(t *tracked, line []byte) {
	t.held = false
	c.add(Act{Kind: Fill, To: t.from.other(), Slot: t.slot, Line: line})
}

// finish answers a request in the place of the other side, which never sees it.
func (c *Core) finish(t *tracked, line []byte) {
	c.reply(t.from, line)
	c.release(t, nil)
	c.drop(t)
	c.answered[t.from].add(key(t.id))
}

func (c *Core) drop(t *tracked) {
	delete(c.tracked[t.from], key(t.id))
	delete(c.waiting, t.ask)
}

func (c *Core) withdraw(t *tracked) {
	if t.ask != 0 {
		c.add(Act{Kind: Withdraw, N: t.ask})
	}
}

// decided takes permd's answer to a permission request.
func (c *Core) decided(t *tracked, result strictjson.Value, err error) {
	var rpc *client.Error
	switch {
	case err == nil:
		if !offers(t.params, result) {
			c.say("permd's answer fits none of the agent's options, so the call is left to you")
			c.toPerson(t, nil)
			return
		}
		c.finish(t, response(t.id, result))
	case errors.As(err, &rpc) && rpc.Code == socket.CodeAsk:
		d := new(decisions.Decision)
		if strictjson.Unmarshal(rpc.Data, d) != nil || d.ID == "" {
			d = nil
		}
		if d != nil && !t.again && c.waitsFor(t) {
			t.late, t.decision = true, d
			c.add(Act{Kind: Wake, N: t.ask, After: c.rules.LateWait})
			return
		}
		c.toPerson(t, d)
	case c.rules.Require && !errors.As(err, &rpc):
		c.finish(t, failure(t.id, socket.CodeInternal, "permd acp: "+client.ErrUnreachable.Error()))
	default:
		c.toPerson(t, nil)
	}
}

// offers reports whether an answer names an option of the request, or none.
func offers(params, result strictjson.Value) bool {
	switch text(result, "outcome", "outcome") {
	case "cancelled":
		return true
	case "selected":
		options, ok := readOptions(params)
		id := text(result, "outcome", "optionId")
		return ok && slices.ContainsFunc(options, func(o option) bool { return o.ID == id })
	}
	return false
}

// toPerson leaves a request to the person. d is permd's question, nil when it
// could not be asked.
func (c *Core) toPerson(t *tracked, d *decisions.Decision) {
	t.decision, t.late = d, false
	line := t.line
	if d != nil {
		if shown, rewritten := c.rewrite(t, d); shown != nil {
			t.shown, line = shown, rewritten
		}
	}
	c.release(t, line)
	t.line = nil
}

// picked takes an answer of the client.
func (c *Core) picked(m *message) {
	k := key(m.id)
	t := c.tracked[Agent][k]
	switch {
	case t == nil && c.answered[Agent].has(k), t != nil && t.held:
		// The client never saw such a request; the agent gets its answer from
		// permd, and just one.
		c.say("an answer of the client to a request that it was not sent was not passed on")
		return
	case t == nil || t.gate:
		c.forward(Client, m.line)
		return
	}
	c.drop(t)
	if t.decision == nil {
		c.forward(Client, m.line)
		return
	}
	id := text(m.result, "outcome", "optionId")
	if text(m.result, "outcome", "outcome") != "selected" || id == "" {
		c.forward(Client, m.line)
		c.withdraw(t)
		return
	}
	if t.shown == nil {
		c.forward(Client, m.line)
		c.save(t, saving{}, member("optionId", id))
		return
	}
	pick := t.shown.pick(id)
	line := m.line
	if pick.option != id {
		v, ok := put(bytes.TrimSpace(m.line), quoted(nil, pick.option), "result", "outcome", "optionId")
		if !ok { // it was found there
			v = response(m.id, object(strictjson.Member{Name: "outcome", Value: object(member("outcome", "cancelled"))}))
		}
		line = append(bytes.TrimSpace(v), '\n')
	}
	c.forward(Client, line)
	if pick.width != "" {
		c.save(t, saving{always: true}, member("verdict", string(decisions.Allow)), member("width", pick.width))
		return
	}
	c.save(t, saving{always: pick.always}, member("optionId", id))
}

// saving is an answer of the person on its way to permd.
type saving struct {
	always bool // it was to be remembered
	ask    uint64
}

// save tells permd what the person answered. Nothing is said to permd before it
// has stored that, so that the next request finds it.
func (c *Core) save(t *tracked, s saving, answer ...strictjson.Member) {
	if t.withdrawn {
		return
	}
	if t.stale {
		if s.always {
			c.say("your answer holds for this call and was not remembered: permd has been restarted since it asked")
		}
		return
	}
	s.ask = t.ask
	params := object(append([]strictjson.Member{member("decisionId", t.decision.ID)}, answer...)...)
	c.saving[c.ask(native.MethodChoose, params, true)] = s
}

// saved takes permd's answer to that.
func (c *Core) saved(s saving, result strictjson.Value, err error) {
	if err != nil {
		c.add(Act{Kind: Withdraw, N: s.ask})
		if s.always {
			c.say("your answer holds for this call and was not remembered: " + err.Error())
		}
		return
	}
	stored, _ := strictjson.ParseArray(strictjson.Find(result, "stored"))
	if s.always && len(stored) == 0 {
		c.say("your answer holds for this call; there was nothing that could be remembered")
	}
}

// cancelTurn takes the client's session/cancel: what permd holds of the session
// is answered as the client would.
func (c *Core) cancelTurn(m *message) {
	c.forward(Client, m.line)
	id := text(m.params, "sessionId")
	for _, t := range c.ofSession(id) {
		if t.held {
			c.finish(t, response(t.id, object(strictjson.Member{Name: "outcome", Value: object(member("outcome", "cancelled"))})))
		}
	}
	if m.params != nil {
		c.tell(acp.MethodCancel, slices.Clone(m.params))
	}
}

// ofSession are the permission requests of a session, in their order.
func (c *Core) ofSession(id string) (list []*tracked) {
	for _, t := range c.tracked[Agent] {
		if t.session == id && !t.gate {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *tracked) int { return int(int64(a.slot) - int64(b.slot)) })
	return list
}

// cancelRequest takes a $/cancel_request of a side.
func (c *Core) cancelRequest(from Side, m *message) {
	k := key(strictjson.Find(m.params, "requestId"))
	t := c.tracked[from][k]
	switch {
	case t != nil && t.held:
		c.withdraw(t)
		c.finish(t, failure(t.id, socket.CodeCancelled, "request cancelled"))
	case c.answered[from].has(k):
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
func (c *Core) waitsFor(t *tracked) bool {
	name := strings.ToLower(c.parties[Agent].Name)
	return slices.Contains(lateAgents, name) && t.call != "" && nothing(strictjson.Find(t.params, "toolCall", "rawInput"))
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
func (c *Core) arrived(sessionID, callID string) {
	for _, t := range c.ofSession(sessionID) {
		if !t.late || t.call != callID {
			continue
		}
		params, ok := put(t.params, nil, "toolCall", "rawInput")
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
func (c *Core) plain(agent effects.Party) string {
	if c.rules.Plain == nil || agent.Name == "" {
		return ""
	}
	return c.rules.Plain(agent)
}
