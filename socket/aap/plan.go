package aap

import (
	"bytes"
	"cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// protocol is the name of the protocol in decisions.
const protocol = effects.ProtocolAAP

// plannedCall is one call of a batch, before rules decide.
type plannedCall struct {
	id    string
	tool  effects.Tool
	side  side
	input strictjson.Value // nil if it was left out
	// skip is set for a call that has a result.
	skip bool
	// whyDenied says why the protocol forbids the call, "" if it does not.
	whyDenied string
	// permitted is set if the history contains a permission for the call.
	permitted bool
}

// idUse is the use of an id in the items read so far. An id may have been used for
// several calls; the last one counts, with those before its result.
type idUse struct {
	call        item // the last call; the first of several without a result between them
	noResult    bool // it has no result
	beforeUser  bool // it precedes the last message of the user
	reused      bool // the id is also used for another call
	earlierCall bool // there was an earlier call, or only a result, that has ended
	hasResult   bool // there is a result
	permitted   bool // there is a permission
}

// idUses are the uses of ids by some items.
type idUses map[string]*idUse

// note records an item, and reports whether it begins a call.
func (u idUses) note(it item, old bool) bool {
	if it.kind == itemUser {
		return false
	}
	o := u[it.id]
	if o == nil {
		o = new(idUse)
		u[it.id] = o
	}
	switch {
	case it.kind == itemResult:
		o.noResult, o.hasResult = false, true
	case it.kind == itemPermission:
		o.permitted = true
	case o.noResult:
		o.reused = o.reused || !sameCall(o.call, it)
		// A call repeated after the user's message waits again.
		begins := o.beforeUser && !old
		o.beforeUser = old
		return begins
	default:
		o.call, o.noResult, o.beforeUser, o.reused, o.earlierCall = it, true, old, false, o.hasResult
		return true
	}
	return false
}

// plan determines which calls are waiting. With a turn, they are its calls, and
// the history shows earlier uses of their ids; without one, they are those of
// the history after the last message of the user.
func plan(w *parties, t *turn, history []item) ([]plannedCall, error) {
	last := -1
	for i := range history {
		if history[i].kind == itemUser {
			last = i
		}
	}
	before := idUses{}
	var order []string
	for i, it := range history {
		if before.note(it, i <= last) && i > last {
			order = append(order, it.id)
		}
	}
	if t == nil {
		return before.list(w, order)
	}
	ids := idUses{}
	order = nil
	for _, it := range t.items {
		if ids.note(it, false) {
			order = append(order, it.id)
		}
	}
	for id, b := range before {
		if b.noResult && !b.beforeUser && ids[id] == nil {
			return nil, socket.Refuse("the history holds a call without a result that the turn does not have")
		}
	}
	calls, err := ids.list(w, order)
	if err != nil {
		return nil, err
	}
	for i := range calls {
		if b := before[calls[i].id]; b != nil {
			calls[i].compare(b, ids[calls[i].id])
		}
		if t.stop != stopToolUse && !calls[i].skip {
			return nil, socket.Refuse("the turn has not stopped for tool_use, and calls have no result")
		}
	}
	return calls, nil
}

// compare compares a call of a turn with the use of its id in the history.
func (c *plannedCall) compare(b, now *idUse) {
	c.permitted = c.permitted || b.permitted
	other := b.call.id != "" && (b.reused || !sameCall(b.call, now.call))
	switch {
	case other && b.noResult && !b.beforeUser:
		// The history contains the turn as well, with another call of that id.
		c.skip, c.whyDenied = false, cmp.Or(c.whyDenied, whyContrary)
	case c.skip:
	case b.hasResult:
		c.whyDenied = cmp.Or(c.whyDenied, whyFinished)
	case other:
		c.whyDenied = cmp.Or(c.whyDenied, whyOther)
	}
}

// list returns the calls of ids, each once, in order.
func (u idUses) list(w *parties, order []string) ([]plannedCall, error) {
	calls := make([]plannedCall, 0, len(order))
	listed := make(map[string]bool, len(order))
	waiting := 0
	for _, id := range order {
		if listed[id] {
			continue
		}
		listed[id] = true
		o := u[id]
		c := plannedCall{id: id, tool: effects.Tool{Name: o.call.name}, input: o.call.input, permitted: o.permitted}
		var why string
		if c.side, why = w.origin(c.tool.Name); c.side == server {
			c.tool = w.serverTool(c.tool.Name)
		}
		switch {
		case o.reused:
			c.whyDenied = whyOther
		case !o.noResult:
			c.skip = true
		case o.earlierCall:
			c.whyDenied = whyFinished
		case why != "":
			c.whyDenied = why
		}
		if !c.skip {
			waiting++
		}
		calls = append(calls, c)
	}
	if waiting > maxCalls {
		return nil, socket.Refuse("more than %d calls wait", maxCalls)
	}
	return calls, nil
}

// sameCall reports whether two items are the same call.
func sameCall(a, b item) bool {
	return a.name == b.name && equalValues(a.input, b.input)
}

// equalValues reports whether two JSON values are equal: members may be in another order
// and strings in another notation, numbers may not.
func equalValues(a, b strictjson.Value) bool {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	if bytes.Equal(a, b) {
		return true
	}
	k := strictjson.Kind(a)
	if k != strictjson.Kind(b) {
		return false
	}
	switch k {
	case '"':
		if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
			return false // there is one way to write a string without escapes
		}
		x, ok := strictjson.ParseString(a)
		y, yok := strictjson.ParseString(b)
		return ok && yok && x == y
	case '{':
		x, err := strictjson.ParseObject(a)
		y, yerr := strictjson.ParseObject(b)
		if err != nil || yerr != nil || len(x) != len(y) {
			return false
		}
		members := make(map[string]strictjson.Value, len(x))
		for _, m := range x {
			members[m.Name] = m.Value
		}
		for _, m := range y {
			if v, ok := members[m.Name]; !ok || !equalValues(v, m.Value) {
				return false
			}
		}
		return true
	case '[':
		x, err := strictjson.ParseArray(a)
		y, yerr := strictjson.ParseArray(b)
		if err != nil || yerr != nil || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalValues(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return false
}

// request returns the request for a call.
func (c *plannedCall) request(w *parties, ses *decisions.Session) *decisions.Request {
	call := effects.Call{
		ID: c.id, Protocol: protocol, Tool: c.tool,
		Input: c.input, InputFrom: "input",
		Agent: ses.Agent, Client: ses.Client, Cwd: ses.Cwd, Roots: ses.Roots,
	}
	if call.Agent.Name == "" {
		call.Agent = effects.Party{Name: w.agent, Version: w.version}
	}
	switch {
	case c.input == nil:
		call.Incomplete = whyNoInput
	case strictjson.Kind(c.input) != '{':
		call.Defects = append(call.Defects, effects.Defect{Code: effects.DefectDropped, At: "input", Text: whyBadInput})
	}
	r := &decisions.Request{Call: call, Session: ses.Ref(), Forbidden: c.whyDenied}
	if c.permitted {
		r.HarnessAsks = whyAnswered
	}
	return r
}
