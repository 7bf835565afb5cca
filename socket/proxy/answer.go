package proxy

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// A person's no is passed on at once. A yes is held until permd knows of it:
// the question was based on the rules at that time, and the current ones may
// deny the call, which no person can overrule, or the call may have other
// effects by now. If permd does not accept it, for whatever reason, permd is
// asked about the call again: a deny or an allow counts, and after an ask the
// person is asked again, because their yes was to another question. If permd
// cannot be reached the yes counts as it would without permd.

// approval is an answer that may let the call run, on its way to the agent.
type approval struct {
	line  []byte // the message for the agent if the answer counts
	place uint64 // its place in what the agent is sent
	// choice is the answer to report to permd, nil if there is none; once is
	// the one for this call alone.
	choice, onceChoice *client.Choice
	always             bool  // it was to be remembered
	unknownOption      bool  // the request has no such option
	why                error // why permd did not take it
	late               bool  // it is one to a question that permd may no longer ask so
	announced          bool  // what is remembered is said: the person was not shown it
}

// pendingChoice is an answer of the person on its way to permd.
type pendingChoice struct {
	t         *trackedRequest // the request, if its answer waits for permd; else nil
	always    bool            // it was to be remembered
	announced bool
	ask       uint64
}

// onPersonAnswer takes an answer of the client.
func (c *core) onPersonAnswer(m *message) {
	k := key(m.id)
	t := c.tracked[agentSide][k]
	switch {
	case t == nil && c.answeredByPermd[agentSide].has(k), t != nil && t.inPlace:
		// The client never saw such a request; the agent gets its answer from
		// permd, and just one.
		c.print("an answer of the client to a request that it was not sent was not passed on")
		return
	case t == nil && c.answeredByPerson.has(k), t != nil && t.approval != nil:
		c.print("a second answer of the client to one request was not passed on")
		return
	case t == nil || t.gate:
		c.untrackUndecided(k)
		c.forward(clientSide, m.line)
		return
	}
	if t.refuses(m) {
		c.refused(t, m)
		return
	}
	if t.over {
		// A yes to a call of a turn that the client itself has ended.
		c.reply(agentSide, t.cancelled())
		c.done(t)
		return
	}
	if t.withdrawn {
		// The agent wants no answer any more, and nobody asks permd about one.
		c.reply(agentSide, failure(t.id, socket.CodeCancelled, "request cancelled"))
		c.done(t)
		return
	}
	if t.asked == nil {
		c.forward(clientSide, m.line) // permd could not be asked, and cannot now
		c.done(t)
		return
	}
	t.approval = t.reads(m)
	c.last++
	t.approval.place = c.last
	c.add(action{Kind: actReserve, To: agentSide, Place: t.approval.place})
	t.approval.late = t.decision != nil && t.stale
	if t.decision == nil || t.stale || t.approval.choice == nil {
		c.decideAgain(t)
		return
	}
	c.pendingChoices[c.choose(t.decision, *t.approval.choice)] = pendingChoice{t: t, always: t.approval.always, announced: t.approval.announced, ask: t.ask}
}

// done ends what is known of a request that has its answer.
func (c *core) done(t *trackedRequest) {
	c.drop(t)
	c.answeredByPerson.add(key(t.id))
}

// refuses reports whether an answer surely lets nothing run.
func (t *trackedRequest) refuses(m *message) bool {
	switch {
	case m.fault != nil:
		return m.result == nil
	case t.form != nil:
		a := text(m.result, "action")
		return a == actionDecline || a == actionCancel
	}
	switch text(m.result, "outcome", "outcome") {
	case outcomeCancelled:
		return true
	case outcomeSelected:
		kind := t.kindOf(text(m.result, "outcome", "optionId"))
		return kind == acp.RejectOnce || kind == acp.RejectAlways
	}
	return false
}

// kindOf is the kind of an option of the request, "" for one that it has not.
func (t *trackedRequest) kindOf(id string) acp.OptionKind {
	options, ok := readOptions(t.params)
	if !ok {
		return ""
	}
	if i := slices.IndexFunc(options, func(o option) bool { return o.ID == id }); i >= 0 {
		return options[i].Kind
	}
	return ""
}

// has reports whether an option of that id is one of the request's.
func (t *trackedRequest) has(id string) bool {
	options, ok := readOptions(t.params)
	return ok && slices.ContainsFunc(options, func(o option) bool { return o.ID == id })
}

// refused passes a no on, and tells permd of it.
func (c *core) refused(t *trackedRequest, m *message) {
	c.done(t)
	id := text(m.result, "outcome", "optionId")
	line, choose, always := m.line, client.Choice{Verdict: decisions.Deny}, false
	if t.form == nil && text(m.result, "outcome", "outcome") == outcomeSelected {
		choose = client.Choice{OptionID: id}
		if t.shown != nil {
			p := t.shown.pick(id)
			line, always = t.instead(m, p.option, "outcome", "optionId"), p.always
		}
	}
	c.forward(clientSide, line)
	switch {
	case t.decision == nil || t.withdrawn:
	case m.fault != nil || t.over:
		// Nobody answered: the client could not ask, or the turn is over.
		c.withdraw(t)
	case t.stale:
		if always {
			c.printNotRemembered(errRestarted)
		}
	default:
		c.pendingChoices[c.choose(t.decision, choose)] = pendingChoice{always: always, ask: t.ask}
	}
}

var errRestarted = errors.New("permd has been restarted since it asked")

// reads returns the meaning of a yes.
func (t *trackedRequest) reads(m *message) *approval {
	if t.form != nil {
		return t.form.reads(t, m)
	}
	y := &approval{line: m.line, onceChoice: &client.Choice{Verdict: decisions.Allow}}
	id := text(m.result, "outcome", "optionId")
	if text(m.result, "outcome", "outcome") != outcomeSelected || id == "" {
		return y // only the agent knows what that means
	}
	y.choice = &client.Choice{OptionID: id}
	y.unknownOption = !t.has(id) && (t.shown == nil || t.shown.widths[id] == "")
	if t.kindOf(id) != acp.AllowAlways {
		y.onceChoice = y.choice
	}
	if t.shown == nil {
		return y
	}
	p := t.shown.pick(id)
	y.line, y.always = t.instead(m, p.option, "outcome", "optionId"), p.always
	if p.width != "" {
		y.onceChoice = &client.Choice{OptionID: p.option}
		y.choice = &client.Choice{Verdict: decisions.Allow, Width: p.width}
	}
	return y
}

// instead is an answer with another text under a path of its result.
func (t *trackedRequest) instead(m *message, value string, path ...string) []byte {
	if text(m.result, path...) == value {
		return m.line
	}
	v, ok := put(bytes.TrimSpace(m.line), quoted(nil, value), append([]string{"result"}, path...)...)
	if !ok {
		return t.cancelled()
	}
	return append(bytes.TrimSpace(v), '\n')
}

// choose tells permd of an answer. Nothing else is said to permd before it has
// stored that, so that the next request finds it.
func (c *core) choose(d *decisions.Decision, answer client.Choice) uint64 {
	answer.DecisionID = d.ID
	return c.ask(native.MethodChoose, encoded(answer), true)
}

// onChoiceStored takes permd's answer to that.
func (c *core) onChoiceStored(s pendingChoice, result strictjson.Value, err error) {
	if err != nil {
		c.add(action{Kind: actWithdraw, N: s.ask})
		if s.waits() {
			var rpc *client.Error
			s.t.approval.late = !s.t.approval.unknownOption && (!errors.As(err, &rpc) || rpc.Code == socket.CodeParams)
			s.t.approval.why = err
			c.decideAgain(s.t)
		} else if s.always {
			c.printNotRemembered(err)
		}
		return
	}
	stored, _ := strictjson.ParseArray(strictjson.Find(result, "stored"))
	switch {
	case s.always && len(stored) == 0:
		c.print("your answer holds for this call; there was nothing that could be remembered")
	case s.announced && len(stored) > 0:
		for _, v := range stored {
			c.print("remembered: " + text(v, "verdict") + " " + text(v, "label") + " (" + text(v, "scope") + ")")
		}
	}
	if s.waits() {
		c.finishApproval(s.t, s.t.approval.line)
	}
}

// waits reports whether the agent waits for this.
func (s *pendingChoice) waits() bool { return s.t != nil && s.t.approval != nil }

// printNotRemembered says why an answer is not remembered.
func (c *core) printNotRemembered(why error) {
	c.print("your answer holds for this call and was not remembered: " + why.Error())
}

// decideAgain asks permd once more about a call that a person has said yes to.
func (c *core) decideAgain(t *trackedRequest) {
	t.ask = c.ask(acp.MethodRequestPermission, t.asked, false)
	c.waiting[t.ask] = t
}

// onDecidedAgain takes permd's answer to that.
func (c *core) onDecidedAgain(t *trackedRequest, result strictjson.Value, err error) {
	y := t.approval
	var rpc *client.Error
	switch {
	case err == nil && !t.allows(result):
		d := strictjson.Find(result, "_meta", "permd")
		c.print("permd denies the call by now, so your yes was not passed on: " + cmp.Or(text(d, "reason"), "no reason was given"))
		c.finishApproval(t, t.denied(result))
		return
	case err != nil && c.rules.Require && !errors.As(err, &rpc):
		c.finishApproval(t, failure(t.id, socket.CodeInternal, "permd acp: "+client.ErrUnreachable.Error()))
		return
	}
	if y.late && errors.As(err, &rpc) {
		c.askAgain(t, rpc)
		return
	}
	if y.always {
		why := cmp.Or(y.why, errRestarted)
		if err != nil && !errors.As(err, &rpc) {
			why = err
		}
		c.printNotRemembered(why)
	}
	c.finishApproval(t, y.line)
	if !errors.As(err, &rpc) || rpc.Code != socket.CodeAsk {
		return
	}
	switch d := question(rpc); {
	case d == nil:
	case y.choice == nil:
		c.withdraw(t) // nobody answered yes in a form that permd knows, so it is not reported
	default:
		// This question is the one that has the person's answer.
		c.pendingChoices[c.choose(d, *y.onceChoice)] = pendingChoice{ask: t.ask}
	}
}

// maxAgain is how often a request is put to the person again.
const maxAgain = 3

// askAgain puts a request to the person once more: what they said yes to is not
// what it is about now.
func (c *core) askAgain(t *trackedRequest, rpc *client.Error) {
	if t.times++; t.times > maxAgain {
		c.print("what the call would do has changed again and again while you were asked, so your yes was not passed on")
		c.withdraw(t)
		c.finishApproval(t, t.cancelled())
		return
	}
	c.print("your yes was not passed on, since permd's question has changed meanwhile: you are asked again")
	c.add(action{Kind: actFill, To: agentSide, Place: t.approval.place})
	t.approval, t.shown, t.stale = nil, nil, false
	t.decision = nil
	if rpc.Code == socket.CodeAsk {
		t.decision = question(rpc)
	}
	c.add(action{Kind: actWrite, To: clientSide, Line: c.shows(t)})
}

// denied is the person's answer with the option that permd has chosen in the place
// of theirs, or permd's answer where theirs has none.
func (t *trackedRequest) denied(result strictjson.Value) []byte {
	line, ok := t.answers(result)
	switch {
	case !ok:
		return t.cancelled()
	case t.form != nil || text(result, "outcome", "outcome") != outcomeSelected:
		return line
	}
	m, err := read(t.approval.line)
	if err != nil || m.fault != nil || text(m.result, "outcome", "outcome") != outcomeSelected {
		return line
	}
	return t.instead(&m, text(result, "outcome", "optionId"), "outcome", "optionId")
}

// allows reports whether permd's answer is an allow.
func (t *trackedRequest) allows(result strictjson.Value) bool {
	return text(result, "outcome", "outcome") == outcomeSelected && t.kindOf(text(result, "outcome", "optionId")) == acp.AllowOnce
}

// finishApproval fills the place of a person's yes.
func (c *core) finishApproval(t *trackedRequest, line []byte) {
	c.add(action{Kind: actFill, To: agentSide, Place: t.approval.place, Line: line})
	delete(c.chain.open, key(t.id))
	t.approval = nil
	c.done(t)
}
