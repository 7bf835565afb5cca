package rap

import (
	"context"
	"errors"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// invoke decides whether an invocation may run.
func (h *handler) invoke(c *socket.Conn, params strictjson.Value) (run, error) {
	in, err := readInvocation(params)
	if err != nil {
		return nil, withResult(err, params)
	}
	var ses *decisions.Session
	if in.SessionID != "" {
		if ses = h.Sessions.Get(c.Owner(), in.SessionID); ses == nil {
			return nil, socket.Refuse("the session of sessionId is not declared on this connection: say permd/session first")
		}
	}
	for _, id := range in.threads {
		// A choice remembered for one would apply to the other.
		if h.Sessions.Get(c.Owner(), id) != nil {
			return nil, socket.Refuse("a thread has the id of a session that is declared on this connection")
		}
	}
	native.EndWith(c, h.Deps)
	s, peer, request := stateOf(c), c.Peer, native.RequestKey(c.RequestID())
	ids := len(in.ID) + len(in.SessionID)
	for _, id := range in.threads {
		ids += len(id)
	}
	if !s.reserveMemory(ids) {
		return nil, &socket.Error{Code: socket.CodeBusy, Message: "this connection uses too much memory; ask the person"}
	}
	l := s.addThreads(in.threads)
	ref := l.sessionRef(c, ses)
	// From here on the call can be cancelled.
	owner := c.Owner()
	began := &call{callID: callID{in.GroupID, in.ID}, session: in.SessionID}
	reused := s.addCall(began, in.callDigest())
	return func(ctx context.Context) (any, error) {
		ctx, withdraw := context.WithCancelCause(ctx)
		defer withdraw(nil)
		if !s.startDeciding(began, withdraw) {
			return nil, errCancelled
		}
		req := in.request(ses)
		req.Peer, req.Session, req.Call.User = peer, ref, h.Users(peer.UID)
		if l.inconsistent {
			req.Call.Defects = append(req.Call.Defects, contradictionDefect("thread_ancestors", "the thread was said to be below other threads before"))
		}
		if reused {
			req.Call.Defects = append(req.Call.Defects, contradictionDefect("id", "the id was used for another call of the thread"))
		}
		invalid, defect := in.check(&h.schemas)
		if defect != nil {
			req.Call.Defects = append(req.Call.Defects, *defect)
		}
		d, err := h.DecideOne(ctx, req)
		if err != nil {
			s.finishDeciding(began, nil, nil)
			return nil, err
		}
		if errors.Is(context.Cause(ctx), socket.ErrWithdrawn) {
			s.finishDeciding(began, nil, nil)
			return nil, errCancelled
		}
		s.setDecision(began.callID, d.ID)
		r := in.render(d, invalid, &l)
		var ask *native.PendingQuestion
		if r.question != nil {
			ask = in.pendingQuestion(d, r.question, request, req)
			if in.SessionID != "" {
				ask.Refresh = func(r *decisions.Request) {
					now := *r
					native.RefreshSession(h.Sessions, owner, in.SessionID)(&now)
					// The reference stays that of the thread.
					now.Session.Conn, now.Session.ID, now.Session.Ancestors = r.Session.Conn, r.Session.ID, r.Session.Ancestors
					*r = now
				}
			}
			answer, own, q := ask.Resolve, l.threads[len(l.threads)-1], r.question
			ask.Resolve = func(p native.Selection) (native.Resolution, error) {
				s.markRemembering(own)
				r, err := answer(p)
				r.OnStored = func(native.Accepted) { s.removeAnswered(q) }
				return r, err
			}
			ask.Again = in.decidedNow(s, q)
		}
		if !s.finishDeciding(began, r.question, ask) {
			return nil, errCancelled
		}
		return r, nil
	}, nil
}

// errCancelled is the error for an invocation that was cancelled.
var errCancelled = &socket.Error{Code: socket.CodeCancelled, Message: "the call was cancelled"}

func contradictionDefect(at, text string) effects.Defect {
	return effects.Defect{Code: effects.DefectContradiction, At: at, Text: text}
}

// decidedNow is native.PendingQuestion.Again: another question has another choice to post, so it has to
// be asked for.
func (in *invocation) decidedNow(s *state, q *question) func(*decisions.Decision) func(native.Selection) (native.Resolution, error) {
	brief := &invocation{invokeParams: &invokeParams{ID: in.ID, GroupID: in.GroupID, CallID: in.CallID.Clone()}}
	return func(d *decisions.Decision) func(native.Selection) (native.Resolution, error) {
		if d.Verdict == decisions.Ask {
			return nil
		}
		return func(p native.Selection) (native.Resolution, error) {
			r := brief.render(d, "", nil)
			said := &choiceResult{Outcome: r.Outcome, Result: r.Result}
			return native.Resolution{Verdict: p.Verdict, Result: said, OnStored: func(native.Accepted) { s.removeAnswered(q) }}, nil
		}
	}
}

// pendingQuestion returns the question as the entry that rap/choice or permd/choose
// answers.
func (in *invocation) pendingQuestion(d *decisions.Decision, q *question, request string, req *decisions.Request) *native.PendingQuestion {
	return &native.PendingQuestion{
		ID: d.ID, SessionID: "thread " + in.GroupID, RequestID: request, Digest: d.Policy.Digest, Cwd: req.Call.Cwd, Decision: d, Request: req,
		Size: 1<<10 + len(in.ID) + len(in.GroupID) + len(in.CallID) + 16*len(q.threads), Offer: d.Offer,
		Resolve: func(p native.Selection) (native.Resolution, error) {
			if p.OptionID != "" {
				return native.Resolution{}, errors.New("the request had no options; name a verdict")
			}
			return native.Resolution{Verdict: p.Verdict, Result: q.answerResult(p.Verdict)}, nil
		},
	}
}
