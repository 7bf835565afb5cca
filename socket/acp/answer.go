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

// Outcome is the agent's answer: one of its options, or that the turn ends.
type Outcome struct {
	Outcome  string `json:"outcome"` // "selected" or "cancelled"
	OptionID string `json:"optionId,omitzero"`
}

// Meta is what permd adds to an answer for whoever keeps a record of it.
type Meta struct {
	Permd *decisions.Decision `json:"permd,omitzero"`
}

// Result is the result of session/request_permission.
type Result struct {
	Outcome Outcome `json:"outcome"`
	Meta    *Meta   `json:"_meta,omitzero"`
}

func selected(id string) Result { return Result{Outcome: Outcome{Outcome: "selected", OptionID: id}} }

func cancelled() Result { return Result{Outcome: Outcome{Outcome: "cancelled"}} }

// with adds the decision to an answer.
func (r Result) with(d *decisions.Decision) Result {
	r.Meta = &Meta{d}
	return r
}

// offer is what a request leaves to choose from; it is kept while the request
// waits for the person.
type offer struct {
	// session is the agent's id of the session, declared or not: under it the
	// request is cancelled.
	session string
	options []Option
	facts   Facts
}

// pending is one permission request that is being decided.
type pending struct {
	*offer
	request decisions.Request
	turn    context.Context
	state   *native.State
}

// requestPermission takes a request in, with what is known of its call at this
// moment, and decides it.
func (h *handler) requestPermission(c *socket.Conn, params strictjson.Value) (run, error) {
	r, err := parseRequest(params)
	if err != nil {
		return nil, err
	}
	s := stateOf(c).session(r.sessionID)
	p := r.pending(stateOf(c).merged(s, r.call), h.Sessions.Get(c.Owner(), r.sessionID), s)
	p.request.Peer = c.Peer
	p.state = native.StateOf(c)
	return func(ctx context.Context) (any, error) {
		call := &p.request.Call
		call.User = h.Users(p.request.Peer.UID)
		if h.LiveShell != nil && h.LiveShell(call.Agent) {
			call.LiveShell, call.Folders = p.state.Shells.Changed(p.session), p.state.Shells.Folders(p.session)
		}
		return p.decide(ctx, h.Decider)
	}, nil
}

// pending makes what is decided of a request, its call as merged and its
// session as declared, nil if it was not.
func (r *request) pending(t *toolCall, declared *decisions.Session, s *session) *pending {
	call := r.assemble(t)
	p := &pending{offer: &offer{session: r.sessionID, options: r.options}, turn: s.turn}
	ref := declared.Ref()
	if declared != nil {
		call.Agent, call.Client, call.Cwd, call.Roots = declared.Agent, declared.Client, declared.Cwd, declared.Roots
		if s.mode != "" && s.modeFor == declared {
			ref.Mode = s.mode
		}
	}
	is := recognise(&call, r.options)
	call.Marks = is.marks
	if is.question {
		call.Incomplete = "" // a question needs no input of a tool
	}
	p.facts = Facts{
		Agent: call.Agent, Question: is.question, ModeSwitch: is.modeSwitch,
		Defective: len(call.Defects) > 0, Incomplete: call.Incomplete != "",
	}
	// Whether an allow could be said is known before deciding, so that the
	// journal never holds an allow that the agent was not given.
	_, ok := Choose(r.options, decisions.Allow, Facts{Agent: call.Agent})
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

// decide decides the request and says the decision in the protocol's words.
func (p *pending) decide(ctx context.Context, decider Decider) (any, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(p.turn, stop)()
	if p.turn.Err() != nil {
		return cancelled(), nil
	}
	decided := decider.Decide(ctx, &p.request)
	if len(decided) != 1 || decided[0] == nil {
		return nil, errors.New("deciding: no decision for the call")
	}
	p.state.Shells.Note(p.session, decided[0])
	result, err := p.answer(decided[0])
	if p.turn.Err() != nil {
		// The turn ended while the call was decided, and with it the call.
		p.state.Asks.Remove(decided[0].ID)
		return cancelled(), nil
	}
	return result, err
}

// answer turns a decision into a result, or into the error that leaves the
// call to the person.
func (p *pending) answer(d *decisions.Decision) (any, error) {
	facts := p.facts
	facts.Permanent = d.Permanent
	switch d.Verdict {
	case decisions.Allow:
		if id, ok := Choose(p.options, decisions.Allow, facts); ok {
			return selected(id).with(d), nil
		}
		// Such a call carries a defect, a mark or a gap, and the decider allowed
		// it nevertheless. The agent must not be given more than was allowed.
		d = unsaid(d)
	case decisions.Deny:
		if id, ok := Choose(p.options, decisions.Deny, facts); ok {
			return selected(id).with(d), nil
		}
		return cancelled().with(d), nil
	}
	return nil, p.ask(d)
}

// unsaid is the question that an allow becomes which no option can say.
func unsaid(d *decisions.Decision) *decisions.Decision {
	q := *d
	q.Verdict, q.Needed, q.By = decisions.Ask, decisions.NeededByRule, decisions.ByFailure
	q.Reason = "no option says this allow and nothing more"
	q.Defects = append(append([]effects.Defect(nil), d.Defects...), noOption())
	q.Widths, q.Offer = nil, nil
	return &q
}

// ask leaves the call to the person, and holds the question until the answer
// comes back.
func (p *pending) ask(d *decisions.Decision) error {
	data, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		return errors.New("encoding the decision")
	}
	// The question keeps the offer, and lets the call with its input go.
	p.state.Asks.Hold(&native.Ask{ID: d.ID, Session: p.session, Size: p.size(), Offer: d.Offer, Answer: p.pick})
	return &socket.Error{Code: socket.CodeAsk, Message: "ask the person: " + d.Reason, Data: strictjson.Value(data)}
}

// size is about how many bytes a waiting question holds on to.
func (f *offer) size() int {
	const overhead = 512
	n := overhead + len(f.session)
	for _, o := range f.options {
		n += len(o.ID) + len(o.Name) + 64
	}
	return n
}
