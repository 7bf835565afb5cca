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

// A person's no is passed on at once. A yes is held until permd has accepted it: the
// question was based on the rules at that time, and the current ones may deny the call,
// which no person can override, or the call may have other effects by now. If permd does
// not accept it, for whatever reason, permd is asked about the call again: a deny or an
// allow counts, and after an ask the person is asked again, because their yes was to
// another question. If permd cannot be reached, the yes counts as it would without
// permd.

// approval is an answer that may let the call run, on its way to the agent.
type approval struct {
	line  []byte // the message for the agent if the answer counts
	place uint64 // its place in what the agent is sent
	// choice is the answer to report to permd, nil if there is none; onceChoice is the
	// one for this call alone.
	choice, onceChoice *client.Choice
	always             bool  // it was to be remembered
	unknownOption      bool  // the request has no such option
	why                error // why permd did not accept it
	outdated           bool  // the question's connection has ended, so permd may ask differently now
	announced          bool  // the person must be told what is remembered: it was not on the option
	reportedAgain      bool  // as the answer to permd's second question
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
	if t.isRefusal(m) {
		c.onRefusal(t, m)
		return
	}
	if t.turnCancelled {
		// A yes to a call of a turn that the client itself has cancelled.
		c.reply(agentSide, t.cancelled())
		c.forgetRequest(t)
		return
	}
	if t.withdrawn {
		// The agent has withdrawn the request.
		c.reply(agentSide, failure(t.id, socket.CodeCancelled, "request cancelled"))
		c.forgetRequest(t)
		return
	}
	if t.asked == nil {
		c.forward(clientSide, m.line) // permd could not be asked, and cannot now
		c.forgetRequest(t)
		return
	}
	t.approval = t.readApproval(m)
	c.last++
	t.approval.place = c.last
	c.add(action{Kind: actReserve, To: agentSide, Place: t.approval.place})
	t.approval.outdated = t.decision != nil && t.connectionGone
	if t.decision == nil || t.connectionGone || t.approval.choice == nil {
		c.decideAgain(t)
		return
	}
	c.pendingChoices[c.choose(t.decision, *t.approval.choice)] = pendingChoice{t: t, always: t.approval.always, announced: t.approval.announced, ask: t.ask}
}

// forgetRequest drops the state of a request that has been answered.
func (c *core) forgetRequest(t *trackedRequest) {
	c.drop(t)
	c.answeredByPerson.add(key(t.id))
}

// isRefusal reports whether an answer certainly lets nothing run.
func (t *trackedRequest) isRefusal(m *message) bool {
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

// kindOf returns the kind of an option of the request, "" for an unknown one.
func (t *trackedRequest) kindOf(id string) acp.OptionKind {
	options, ok := t.readOptions()
	if !ok {
		return ""
	}
	if i := slices.IndexFunc(options, func(o option) bool { return o.ID == id }); i >= 0 {
		return options[i].Kind
	}
	return ""
}

// hasOption reports whether the request has an option with that id.
func (t *trackedRequest) hasOption(id string) bool {
	options, ok := t.readOptions()
	return ok && slices.ContainsFunc(options, func(o option) bool { return o.ID == id })
}

// onRefusal passes a no on, and reports it to permd.
func (c *core) onRefusal(t *trackedRequest, m *message) {
	c.forgetRequest(t)
	id := text(m.result, "outcome", "optionId")
	line, choose, always := m.line, client.Choice{Verdict: decisions.Deny}, false
	if t.form == nil && text(m.result, "outcome", "outcome") == outcomeSelected {
		choose = client.Choice{OptionID: id}
		if t.shown != nil {
			p := t.shown.pick(id)
			line, always = t.withAnswer(m, p.option, "outcome", "optionId"), p.always
		}
	}
	c.forward(clientSide, line)
	switch {
	case t.decision == nil || t.withdrawn:
	case m.fault != nil || t.turnCancelled:
		// Nobody answered: the client could not ask, or the turn is over.
		c.withdraw(t)
	case t.connectionGone:
		if always {
			c.printNotRemembered(errRestarted)
		}
	default:
		c.pendingChoices[c.choose(t.decision, choose)] = pendingChoice{always: always, ask: t.ask}
	}
}

var errRestarted = errors.New("permd has been restarted since it asked")

// readApproval returns the meaning of a yes.
func (t *trackedRequest) readApproval(m *message) *approval {
	if t.form != nil {
		return t.form.readApproval(t, m)
	}
	y := &approval{line: m.line, onceChoice: &client.Choice{Verdict: decisions.Allow}}
	id := text(m.result, "outcome", "optionId")
	if text(m.result, "outcome", "outcome") != outcomeSelected || id == "" {
		return y // only the agent knows its meaning
	}
	y.choice = &client.Choice{OptionID: id}
	y.unknownOption = !t.hasOption(id) && (t.shown == nil || t.shown.widths[id] == "")
	if t.kindOf(id) != acp.AllowAlways {
		y.onceChoice = y.choice
	}
	if t.shown == nil {
		return y
	}
	p := t.shown.pick(id)
	y.line, y.always = t.withAnswer(m, p.option, "outcome", "optionId"), p.always
	if p.width != "" {
		y.onceChoice = &client.Choice{OptionID: p.option}
		y.choice = &client.Choice{Verdict: decisions.Allow, Width: p.width}
	}
	return y
}

// withAnswer returns an answer with another text at a path of its result.
func (t *trackedRequest) withAnswer(m *message, value string, path ...string) []byte {
	if text(m.result, path...) == value {
		return m.line
	}
	v, ok := put(bytes.TrimSpace(m.line), quoted(nil, value), append([]string{"result"}, path...)...)
	if !ok {
		return t.cancelled()
	}
	return append(bytes.TrimSpace(v), '\n')
}

// choose reports an answer to permd. Nothing else is sent to permd before it has stored
// that, so that the next request finds it.
func (c *core) choose(d *decisions.Decision, answer client.Choice) uint64 {
	answer.DecisionID = d.ID
	return c.ask(native.MethodChoose, encoded(answer), true)
}

// onChoiceStored handles permd's answer to that.
func (c *core) onChoiceStored(s pendingChoice, result strictjson.Value, err error) {
	if err != nil {
		c.add(action{Kind: actWithdraw, N: s.ask})
		if s.agentWaits() {
			var rpc *client.Error
			s.t.approval.outdated = !s.t.approval.unknownOption && (!errors.As(err, &rpc) || rpc.Code == socket.CodeParams)
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
	if s.agentWaits() {
		c.finishApproval(s.t, s.t.approval.line)
	}
}

// agentWaits reports whether the agent waits for this.
func (s *pendingChoice) agentWaits() bool { return s.t != nil && s.t.approval != nil }

// printNotRemembered prints why an answer is not remembered.
func (c *core) printNotRemembered(why error) {
	c.print("your answer holds for this call and was not remembered: " + why.Error())
}

// decideAgain asks permd again about a call that a person has approved.
func (c *core) decideAgain(t *trackedRequest) {
	t.ask = c.ask(acp.MethodRequestPermission, t.asked, false)
	c.waiting[t.ask] = t
}

// onDecidedAgain handles permd's answer to that.
func (c *core) onDecidedAgain(t *trackedRequest, result strictjson.Value, err error) {
	y := t.approval
	var rpc *client.Error
	switch {
	case err == nil && !t.isAllow(result):
		d := strictjson.Find(result, "_meta", "permd")
		c.print("permd denies the call by now, so your yes was not passed on: " + cmp.Or(text(d, "reason"), "no reason was given"))
		c.finishApproval(t, t.denial(result))
		return
	case err != nil && c.rules.Require && !errors.As(err, &rpc):
		c.finishApproval(t, failure(t.id, socket.CodeInternal, "permd acp: "+client.ErrUnreachable.Error()))
		return
	}
	if y.outdated && errors.As(err, &rpc) {
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
	var d *decisions.Decision
	if errors.As(err, &rpc) && rpc.Code == socket.CodeAsk {
		d = question(rpc)
	}
	if d != nil && y.choice != nil && !y.unknownOption && !y.reportedAgain && errors.As(y.why, &rpc) {
		// This question is the one that has the person's answer. As permd could not
		// take the first one, it may be unable to log this one, too, and then the
		// answer may not count: it waits.
		y.reportedAgain, y.always = true, false
		c.pendingChoices[c.choose(d, *y.onceChoice)] = pendingChoice{t: t, ask: t.ask}
		return
	}
	c.finishApproval(t, y.line)
	switch {
	case d == nil:
	case y.choice == nil:
		c.withdraw(t) // nobody answered yes in a form that permd knows, so it is not reported
	default:
		// This question is the one that has the person's answer.
		c.pendingChoices[c.choose(d, *y.onceChoice)] = pendingChoice{ask: t.ask}
	}
}

// maxAgain is how often a person is asked about a request again.
const maxAgain = 3

// askAgain asks the person about a request again: it is about something else than what
// they approved.
func (c *core) askAgain(t *trackedRequest, rpc *client.Error) {
	if t.timesAsked++; t.timesAsked > maxAgain {
		c.print("what the call would do has changed again and again while you were asked, so your yes was not passed on")
		c.withdraw(t)
		c.finishApproval(t, t.cancelled())
		return
	}
	c.print("your yes was not passed on, since permd's question has changed meanwhile: you are asked again")
	c.add(action{Kind: actFill, To: agentSide, Place: t.approval.place})
	t.approval, t.shown, t.connectionGone = nil, nil, false
	t.decision = nil
	if rpc.Code == socket.CodeAsk {
		t.decision = question(rpc)
	}
	c.add(action{Kind: actWrite, To: clientSide, Line: c.requestForPerson(t)})
}

// denial returns the person's answer with the option that permd has chosen in place of
// theirs, or permd's answer if theirs has none.
func (t *trackedRequest) denial(result strictjson.Value) []byte {
	line, ok := t.agentAnswer(result)
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
	return t.withAnswer(&m, text(result, "outcome", "optionId"), "outcome", "optionId")
}

// isAllow reports whether permd's answer is an allow.
func (t *trackedRequest) isAllow(result strictjson.Value) bool {
	return text(result, "outcome", "outcome") == outcomeSelected && t.kindOf(text(result, "outcome", "optionId")) == acp.AllowOnce
}

// finishApproval fills the place of a person's yes.
func (c *core) finishApproval(t *trackedRequest, line []byte) {
	c.add(action{Kind: actFill, To: agentSide, Place: t.approval.place, Line: line})
	delete(c.chain.open, key(t.id))
	t.approval = nil
	c.forgetRequest(t)
}
