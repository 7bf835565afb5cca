package acp

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// permissionOutcome is the agent's answer: one of its options, or that the turn ends.
type permissionOutcome struct {
	Outcome  string `json:"outcome"` // "selected" or "cancelled"
	OptionID string `json:"optionId,omitzero"`
}

// metaMember is permd's addition to an answer, for callers that keep a record.
type metaMember struct {
	Permd *decisions.Decision `json:"permd,omitzero"`
}

// permissionResult is the result of session/request_permission.
type permissionResult struct {
	Outcome permissionOutcome `json:"outcome"`
	Meta    *metaMember       `json:"_meta,omitzero"`
}

func selected(id string) permissionResult {
	return permissionResult{Outcome: permissionOutcome{Outcome: "selected", OptionID: id}}
}

func cancelled() permissionResult {
	return permissionResult{Outcome: permissionOutcome{Outcome: "cancelled"}}
}

// with adds the decision to an answer.
func (r permissionResult) with(d *decisions.Decision) permissionResult {
	r.Meta = &metaMember{d}
	return r
}

// offer holds the options of a request while it waits for the person.
type offer struct {
	// session is the agent's id of the session, declared or not: under it the
	// request is cancelled.
	session string
	options []Option
	facts   Facts
}

// pendingRequest is one permission request that is being decided.
type pendingRequest struct {
	offer
	request decisions.Request
	turns   turns
	state   *native.State
	// requestID is the request's id on the connection (native.RequestKey).
	requestID string

	handler *handler
	conn    *socket.Conn
	known   *connState
	current *session

	ownTurn [1]context.Context // in the same piece of memory
}

// onAllowed records that the person allowed the call.
func (p *pendingRequest) onAllowed(d *decisions.Decision) {
	p.known.approved.note(p.session, d, p.handler.Time())
}

// refresh updates a request to the current session.
func (p *pendingRequest) refresh(now *decisions.Request) {
	now.Session = describe(&now.Call, p.handler.Sessions.Get(p.conn.Owner(), p.session))
}

// requestPermission reads a request, merges it with the updates about its call so far,
// and decides it.
func (h *handler) requestPermission(c *socket.Conn, params strictjson.Value) (run, error) {
	state := stateOf(c)
	r, err := parseRequest(params, &state.options)
	if err != nil {
		return nil, err
	}
	s, declared := state.session(r.sessionID), h.Sessions.Get(c.Owner(), r.sessionID)
	state.declare(s, declared)
	if _, err := state.noteVersion(s, r.version, declared); err != nil {
		return nil, err
	}
	plain := ""
	if h.PlainOption != nil && declared != nil {
		plain = h.PlainOption(declared.Agent)
	}
	t := state.callOf(s, r)
	p := r.newPendingRequest(&t, declared, s, plain)
	p.turns = state.turnsOf(p.ownTurn[:0], r.sessionID, declared)
	p.request.Peer = c.Peer
	p.state, p.requestID = native.StateOf(c), native.RequestKey(c.RequestID())
	p.handler, p.conn, p.known, p.current = h, c, state, s
	return p.run, nil
}

// run decides the request.
func (p *pendingRequest) run(ctx context.Context) (any, error) {
	call := &p.request.Call
	call.User = p.handler.Users(p.request.Peer.UID)
	if p.handler.ShellStaysAlive(call.Agent) || call.Declared.RunsShell() {
		p.state.Shells.ApplyTo(p.session, call)
	}
	return p.decide(ctx, &p.handler.Deps)
}

// newPendingRequest returns the request to decide, with its call as merged and its
// session as declared, nil if it was not.
func (r *request) newPendingRequest(t *toolCall, declared *decisions.Session, s *session, plain string) *pendingRequest {
	call := r.assemble(t)
	p := &pendingRequest{offer: offer{session: r.sessionID, options: r.options}}
	p.ownTurn[0] = s.turn
	p.turns = p.ownTurn[:]
	ref := describe(&call, declared)
	is := recognise(&call, r.options)
	call.Marks = is.marks
	if is.question {
		call.Incomplete = "" // a question needs no input of a tool
	}
	p.facts = Facts{
		Plain: plain, question: is.question, modeSwitch: is.modeSwitch,
		defective: len(call.Defects) > 0, incomplete: call.Incomplete != "",
	}
	// Whether an allow can be expressed is determined before deciding, so that
	// the journal never holds an allow that the agent was not given.
	_, ok := Choose(r.options, decisions.Allow, Facts{Plain: plain})
	if !ok && len(call.Marks) == 0 {
		call.Defects = addDefect(call.Defects, noOption())
	}
	p.request = decisions.Request{Call: call, Session: ref, HarnessAsks: harnessAsks(call.Claims.Meta)}
	return p
}

func noOption() effects.Defect {
	return effects.Defect{
		Code: effects.DefectOption, At: "options",
		Text: "no option allows just this call",
	}
}

// decide decides the request and returns the decision in the protocol's terms.
// A request whose turn is over is decided too, so that the journal records the
// request and its cancellation.
func (p *pendingRequest) decide(ctx context.Context, deps *native.Deps) (any, error) {
	inTurn := p.turns.with(ctx)
	defer inTurn.end()
	ctx = inTurn
	d, err := deps.DecideOne(ctx, &p.request)
	if err != nil {
		return nil, err
	}
	result, err := p.answer(d)
	switch {
	case p.turns.cancelled():
		// The turn ended while the call was decided, and with it the call.
		p.state.Questions.Remove(d.ID)
		return cancelled().with(cancelledDecision(d, errTurn)), nil
	case ctx.Err() != nil:
		// The client has withdrawn the request, or is gone. Not even an allow
		// may be sent now: the agent has continued without it.
		p.state.Questions.Remove(d.ID)
		return nil, ctx.Err()
	}
	p.state.Shells.Record(p.session, d)
	if err == nil && d.Verdict == decisions.Allow {
		p.known.approved.noteNew(p.session, d, p.handler.Time())
	}
	return result, err
}

// cancelledDecision returns the decision for a call that was cancelled: a deny remains,
// any other decision is void.
func cancelledDecision(d *decisions.Decision, why error) *decisions.Decision {
	if d.Verdict == decisions.Deny {
		return d
	}
	q := *d
	q.Verdict, q.Needed, q.By = decisions.Ask, decisions.NeededByRule, decisions.ByFailure
	q.Reason, q.Message, q.Widths, q.Offer = decisions.CancelledReason(why), "", nil, nil
	q.NotRemembered = "the call was cancelled"
	return &q
}

// answer turns a decision into a result, or into the error that leaves the
// call to the person.
func (p *pendingRequest) answer(d *decisions.Decision) (any, error) {
	facts := p.facts
	facts.permanent = d.Permanent
	switch d.Verdict {
	case decisions.Allow:
		if id, ok := Choose(p.options, decisions.Allow, facts); ok {
			return selected(id).with(d), nil
		}
		// Such a call has a defect, a mark or a gap, and was allowed
		// nevertheless. The agent must not be given more than was allowed.
		d = askInstead(d)
	case decisions.Deny:
		if id, ok := Choose(p.options, decisions.Deny, facts); ok {
			return selected(id).with(d), nil
		}
		return cancelled().with(d), nil
	case decisions.Ask:
	}
	return nil, p.ask(d)
}

// askInstead returns the question that replaces an allow which no option of the agent
// expresses.
func askInstead(d *decisions.Decision) *decisions.Decision {
	q := *d
	q.Verdict, q.Needed, q.By = decisions.Ask, decisions.NeededByRule, decisions.ByFailure
	q.Reason = "no option says this allow and nothing more"
	q.Defects = append(append([]effects.Defect(nil), d.Defects...), noOption())
	q.Widths, q.Offer, q.NotRemembered = nil, nil, "a yes would be answered to the agent in no form that says it"
	return &q
}

// ask leaves the call to the person, and keeps the question until the answer
// arrives.
func (p *pendingRequest) ask(d *decisions.Decision) error {
	data, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		return errors.New("encoding the decision")
	}
	p.state.Questions.Add(&native.PendingQuestion{ID: d.ID, SessionID: p.session, RequestID: p.requestID, Size: p.size(), Offer: d.Offer,
		Resolve: p.pickAndRecord(d, p.onAllowed), Again: p.decidedNow(), Digest: d.Policy.Digest, Cwd: p.request.Call.Cwd, Decision: d, Request: &p.request, Refresh: p.refresh})
	return &socket.Error{Code: socket.CodeAsk, Message: "ask the person: " + d.Reason, Data: strictjson.Value(data)}
}

// decidedNow is native.PendingQuestion.Again. A call that was decided as in the shell of then is not
// allowed in another one.
func (p *pendingRequest) decidedNow() func(*decisions.Decision) func(native.Selection) (native.Resolution, error) {
	call := &p.request.Call
	live := p.handler.ShellStaysAlive(call.Agent) || call.Declared.RunsShell()
	same := p.state.Shells.Since(p.session)
	return func(d *decisions.Decision) func(native.Selection) (native.Resolution, error) {
		if d.Verdict == decisions.Allow && (live && !same() || p.turns.cancelled()) {
			return nil
		}
		return p.pickAndRecord(d, p.onAllowed)
	}
}

// pickAndRecord returns pick with recording of an approval.
func (f *offer) pickAndRecord(d *decisions.Decision, allowed func(*decisions.Decision)) func(native.Selection) (native.Resolution, error) {
	// Only this part of the decision is kept.
	call := &decisions.Decision{ID: d.ID, CallID: d.CallID, Verdict: d.Verdict, Policy: d.Policy, Fingerprints: d.Fingerprints, Contents: d.Contents, Stateful: d.Stateful}
	return func(pick native.Selection) (native.Resolution, error) {
		picked, err := f.pick(pick)
		if err == nil && picked.Verdict == decisions.Allow {
			picked.OnStored = func(native.Accepted) { allowed(call) }
		}
		return picked, err
	}
}

// size estimates the bytes that a waiting question uses.
func (f *offer) size() int {
	const overhead = 512
	n := overhead + len(f.session)
	for _, o := range f.options {
		n += len(o.ID) + len(o.Name) + 64
	}
	return n
}
