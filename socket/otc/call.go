package otc

import (
	"context"
	"errors"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// What is sent to the model, and recorded in the decision log.
const (
	whyOther = "the id of this call was also used for another call"
	whyTaken = "a person has allowed this call once, and it was sent or run"
)

// call decides a call.
func (h *handler) call(c *socket.Conn, params strictjson.Value) (run, error) {
	a, err := readParams(params)
	if err != nil {
		return nil, err
	}
	var ses *decisions.Session
	if id := a.own.SessionID; id != "" {
		if ses = h.Sessions.Get(c.Owner(), id); ses == nil {
			return nil, socket.Refuse("the session of sessionId is not declared on this connection: say permd/session first")
		}
	}
	req := a.request(ses)
	req.Peer = c.Peer
	owner := c.Owner()
	state, request := native.StateOf(c), native.RequestKey(c.RequestID())
	of, other := callsOf(c).slotOf(callKey{a.own.SessionID, a.call.CallID}, a.sum(), decisionBytes+len(a.input))
	return func(ctx context.Context) (any, error) {
		req.Call.User = h.Users(req.Peer.UID)
		f := a.findings(&req.Call)
		req.Refused = f.refused()
		if other {
			return h.refuse(ctx, a, req, &f, whyOther)
		}
		// A repetition of a call waits for the first one: its answer may be the same.
		fairshare.TurnOf(ctx).Await(ctx, of.mu.Lock)
		defer of.mu.Unlock()
		switch person := of.answer.Load(); {
		case person == nil:
		case person.taken:
			return h.refuse(ctx, a, req, &f, whyTaken)
		case person.verdict == decisions.Deny:
			return a.byPerson(person.decision), nil
		case h.counts(ctx, person, of, req, &f):
			if err := ctx.Err(); err != nil {
				return nil, err // nobody waits for the answer
			}
			of.answer.Store(&personsAnswer{taken: true})
			return Answer{Outcome: Run, Decision: person.decision}, nil
		default:
			of.answer.Store(nil)
		}
		if d := of.decision; d != nil {
			if h.mayRepeat(ctx, req, d, &f, &state.Questions) {
				return a.answer(d, &f), nil
			}
			state.Questions.Remove(d.ID) // the question is asked again
			of.decision = nil
		}
		d, err := h.decide(ctx, req)
		if err != nil {
			return nil, err
		}
		of.decision = d
		if f.outcome(d) == Ask {
			state.Questions.Add(&native.PendingQuestion{
				ID: d.ID, SessionID: a.own.SessionID, RequestID: request, Offer: d.Offer, Resolve: a.resolve(d, req, of), Again: a.decidedNow(req, of),
				Digest: d.Policy.Digest, Cwd: req.Call.Cwd, Decision: d, Request: req, Refresh: native.RefreshSession(h.Sessions, owner, a.own.SessionID),
			})
		}
		return a.answer(d, &f), nil
	}, nil
}

// refuse decides a call that must not run whatever rules say of it, since its id stands for
// a call that has run or is another one.
func (h *handler) refuse(ctx context.Context, a *callRequest, req *decisions.Request, f *findings, why string) (any, error) {
	f.spent = why
	req.Refused = f.refused()
	mark(&req.Call, effects.DefectContradiction, "call_id", why)
	d, err := h.decide(ctx, req)
	if err != nil {
		return nil, err
	}
	return a.answer(d, f), nil
}

// counts reports whether a person's yes lets a repetition of the call run: they were asked
// the question that would be asked now.
func (h *handler) counts(ctx context.Context, person *personsAnswer, of *callEntry, req *decisions.Request, f *findings) bool {
	return person.decision == of.decision && !f.missing.any() && !f.invalid.any() &&
		native.SameSession(req, person.request) && h.Decider.Holds(ctx, req, person.decision) == nil
}

// decisionBytes estimates the size of a decision in addition to its call.
const decisionBytes = 4 << 10

// decide decides a call.
func (h *handler) decide(ctx context.Context, req *decisions.Request) (*decisions.Decision, error) {
	d, err := h.DecideOne(ctx, req)
	if err != nil {
		return nil, err
	}
	if errors.Is(context.Cause(ctx), socket.ErrWithdrawn) {
		return nil, ctx.Err() // nobody waits for the answer
	}
	return d, nil
}

// mayRepeat reports whether an earlier answer can be given again: deciding again would
// give the same one, and a question is still open.
func (h *handler) mayRepeat(ctx context.Context, req *decisions.Request, d *decisions.Decision, f *findings, asks *native.PendingQuestions) bool {
	if f.outcome(d) == Ask && !asks.Contains(d.ID) {
		return false
	}
	return h.Decider.StillHolds(ctx, req, d)
}

// findings are the problems found in a call before rules decide.
type findings struct {
	missing missingContext
	invalid invalid
	spent   string // why no call with this id can run, "" if one can
}

// findings checks the call and records the problems as marks: a call that cannot run, or
// that could not be checked, is never allowed.
func (a *callRequest) findings(call *effects.Call) (f findings) {
	var unchecked error
	f.missing = a.missing()
	f.invalid, unchecked = a.invalid()
	if f.missing.any() {
		mark(call, effects.DefectContradiction, "context", sayUnmet+f.missing.text())
	}
	if f.invalid.any() {
		mark(call, effects.DefectContradiction, a.from, "the input does not fit the tool")
	}
	if unchecked != nil {
		mark(call, effects.DefectDropped, "tool.input_schema", "the input could not be checked: "+unchecked.Error())
	}
	return f
}

func mark(call *effects.Call, code, at, text string) {
	call.Defects = append(call.Defects, effects.Defect{Code: code, At: at, Text: text})
}

// refused is the outcome for the record of a call that cannot run, whatever is decided; ""
// if it can.
func (f *findings) refused() decisions.Outcome {
	switch {
	case f.spent != "":
		return decisions.Refused
	case f.missing.any():
		return decisions.Unmet
	case f.invalid.any():
		return decisions.Invalid
	}
	return ""
}

// outcome returns the outcome of a call.
func (f *findings) outcome(d *decisions.Decision) Outcome {
	switch {
	case f.spent != "" || d.Verdict == decisions.Deny:
		return Denied
	case f.missing.any():
		return outcomeUnmet
	case f.invalid.any():
		return outcomeInvalid
	case d.Verdict == decisions.Allow:
		return Run
	}
	return Ask
}
