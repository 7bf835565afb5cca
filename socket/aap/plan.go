package aap

import (
	"cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// protocol is the name of the protocol in decisions.
const protocol = effects.ProtocolAAP

// plannedCall is one call of a batch, before rules are asked.
type plannedCall struct {
	id, name string
	side     side
	input    strictjson.Value // nil if it was left out
	// skip is set for a call that has its result.
	skip bool
	// denied says why the protocol forbids the call, "" if it does not.
	denied string
	// answered is set when a permission for the call was given before.
	answered bool
}

// use is what is known about an id while the items are walked. An id may have
// been used for several calls; the last one counts, with those that came before
// its result.
type use struct {
	call     item // the last call, the first of several without a result between them
	open     bool // it has no result
	old      bool // it is before the last message of the user
	differs  bool // the id is used for another call as well
	again    bool // there was an earlier call, or only a result, that has ended
	finished bool // there is a result
	allowed  bool // there is a permission
}

// uses are the ids of some items.
type uses map[string]*use

// note takes an item in, and reports whether it begins a call.
func (u uses) note(it item, old bool) bool {
	if it.what == itemUser {
		return false
	}
	o := u[it.id]
	if o == nil {
		o = new(use)
		u[it.id] = o
	}
	switch {
	case it.what == itemResult:
		o.open, o.finished = false, true
	case it.what == itemPermission:
		o.allowed = true
	case o.open:
		o.differs = o.differs || !sameCall(o.call, it)
		// Said again after the user's message, it waits again.
		begins := o.old && !old
		o.old = old
		return begins
	default:
		o.call, o.open, o.old, o.differs, o.again = it, true, old, false, o.finished
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
		if history[i].what == itemUser {
			last = i
		}
	}
	before := uses{}
	var order []string
	for i, it := range history {
		if before.note(it, i <= last) && i > last {
			order = append(order, it.id)
		}
	}
	if t == nil {
		return before.list(w, order)
	}
	ids := uses{}
	order = nil
	for _, it := range t.items {
		if ids.note(it, false) {
			order = append(order, it.id)
		}
	}
	for id, b := range before {
		if b.open && !b.old && ids[id] == nil {
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

// compare holds a call of a turn against what the history says about its id.
func (c *plannedCall) compare(b, now *use) {
	c.answered = c.answered || b.allowed
	other := b.call.id != "" && (b.differs || !sameCall(b.call, now.call))
	switch {
	case other && b.open && !b.old:
		// The history holds the turn as well, with another call of that id.
		c.skip, c.denied = false, cmp.Or(c.denied, whyContrary)
	case c.skip:
	case b.finished:
		c.denied = cmp.Or(c.denied, whyFinished)
	case other:
		c.denied = cmp.Or(c.denied, whyOther)
	}
}

// list makes the calls of ids, each once, in their order.
func (u uses) list(w *parties, order []string) ([]plannedCall, error) {
	calls := make([]plannedCall, 0, len(order))
	listed := make(map[string]bool, len(order))
	waiting := 0
	for _, id := range order {
		if listed[id] {
			continue
		}
		listed[id] = true
		o := u[id]
		c := plannedCall{id: id, name: o.call.name, input: o.call.input, answered: o.allowed}
		var why string
		c.side, why = w.origin(c.name)
		switch {
		case o.differs:
			c.denied = whyOther
		case !o.open:
			c.skip = true
		case o.again:
			c.denied = whyFinished
		case why != "":
			c.denied = why
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
	return a.name == b.name && same(a.input, b.input)
}

// same reports whether two JSON values are equal: members may be in another
// order and strings in another notation, numbers may not.
func same(a, b strictjson.Value) bool {
	k := strictjson.Kind(a)
	if k != strictjson.Kind(b) {
		return false
	}
	switch k {
	case '"':
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
			if v, ok := members[m.Name]; !ok || !same(v, m.Value) {
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
			if !same(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return string(a) == string(b)
}

// request makes the request of a call. A server's tool is treated as one of a
// tool server with the agent's name.
func (c *plannedCall) request(w *parties, ses *decisions.Session) *decisions.Request {
	call := effects.Call{
		ID: c.id, Protocol: protocol, Tool: effects.Tool{Name: c.name},
		Input: c.input, InputFrom: "input",
		Agent: ses.Agent, Client: ses.Client, Cwd: ses.Cwd, Roots: ses.Roots,
	}
	if call.Agent.Name == "" {
		call.Agent = effects.Party{Name: w.agent, Version: w.version}
	}
	if c.side == server {
		call.Tool.Server, call.Tool.Source = w.agent, w.endpoint
	}
	switch {
	case c.input == nil:
		call.Incomplete = whyNoInput
	case strictjson.Kind(c.input) != '{':
		call.Defects = append(call.Defects, effects.Defect{Code: effects.DefectDropped, At: "input", Text: whyBadInput})
	}
	if c.denied != "" {
		// So that the log says why.
		call.Defects = append(call.Defects, effects.Defect{Code: effects.DefectContradiction, At: "toolCallId", Text: c.denied})
	}
	r := &decisions.Request{Call: call, Session: ses.Ref()}
	if c.answered {
		r.HarnessAsks = whyAnswered
	}
	return r
}
