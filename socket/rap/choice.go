package rap

import (
	"context"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// The scopes with which answers are remembered, values of permd/choose: a yes for a
// thread, and what outlives the connection.
const (
	scopeChildren = "session+children"
	scopeProject  = "project"
	scopeUser     = "user"
)

type choiceParams struct {
	DecisionID string `json:"decisionId"`
	Selected   *int   `json:"selected"`
}

// choiceResult is the result of rap/choice.
type choiceResult struct {
	Outcome Outcome                  `json:"outcome"`
	Result  *ToolResult              `json:"result,omitzero"`
	Stored  []decisions.StoredChoice `json:"stored,omitzero"`
}

// choice takes the person's answer, which is the index of a label.
func (h *handler) choice(c *socket.Conn, params strictjson.Value) (run, error) {
	var p choiceParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	switch {
	case p.DecisionID == "":
		return nil, socket.Refuse("decisionId is missing")
	case p.Selected == nil:
		return nil, socket.Refuse("selected is missing")
	}
	s := stateOf(c)
	q := s.questionFor(p.DecisionID)
	if q == nil {
		return nil, socket.Refuse("no question of that decisionId is open on this connection")
	}
	uid := c.Peer.UID
	a := native.Answer{DecisionID: q.id, Verdict: decisions.Allow, UID: &uid, Author: c.Peer.Author(author.Client)}
	var of *thread
	switch i := *p.Selected; {
	case i < 0 || i >= len(q.labels()):
		return nil, socket.Refuse("selected is no index of the choices")
	case i == q.rejectIndex():
		a.Verdict = decisions.Deny
	case i == q.neverIndex():
		a.Verdict, a.Scope = decisions.Deny, q.lasting
	case i == q.alwaysIndex():
		a.Width, a.Scope = q.width.ID, q.lasting
	case i < len(q.threads):
		if of = q.threads[i]; s.isClosed(of) {
			return nil, socket.Refuse("the thread that was selected is closed")
		}
		s.markRemembering(of)
		a.Width, a.Scope = q.width.ID, scopeChildren
		a.Bind = func(o *decisions.Offer) *decisions.Offer { return q.bindOffer(i, o) }
	}
	return func(ctx context.Context) (any, error) {
		kept, err := native.AnswerQuestion(ctx, h.Deps, s.questions, a)
		if err != nil {
			return nil, err
		}
		s.removeAnswered(q)
		r := q.answerResult(a.Verdict)
		r.Stored = kept
		if of == nil || !s.isClosed(of) {
			return r, nil
		}
		// The thread was closed while the choice was being stored, and choices end with
		// their thread. The call itself may run.
		r.Stored = []decisions.StoredChoice{}
		if err := h.Keeper.Drop(ctx, decisions.StoredNow(kept)...); err != nil {
			return nil, &socket.Error{Code: socket.CodeInternal, Message: "the thread was closed, and that its choice is revoked could not be stored"}
		}
		return r, nil
	}, nil
}

type closeParams struct {
	ThreadID string `json:"thread_id"`
}

type closeResult struct {
	Closed bool `json:"closed"`
}

// closeThread ends a thread and forgets what was remembered for it.
func (h *handler) closeThread(c *socket.Conn, params strictjson.Value) (run, error) {
	var p closeParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	if err := socket.CheckName("thread_id", p.ThreadID); err != nil {
		return nil, err
	}
	closed := stateOf(c).closeThread(p.ThreadID)
	if h.Keeper != nil && h.Sessions.Get(c.Owner(), p.ThreadID) == nil {
		// Done here, in the first phase: a new thread of the same id would otherwise start
		// with the choices of the old one.
		h.Keeper.EndSession(c.Owner(), p.ThreadID)
	}
	return immediate(closeResult{closed}), nil
}

type cancelParams struct {
	ThreadID   string `json:"thread_id"`
	ToolCallID string `json:"tool_call_id"`
}

type cancelResult struct {
	Cancelled bool `json:"cancelled"`
}

// cancel withdraws a call that is being decided or waits for the person.
func (h *handler) cancel(c *socket.Conn, params strictjson.Value) (run, error) {
	var p cancelParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	if err := socket.CheckName("thread_id", p.ThreadID); err != nil {
		return nil, err
	}
	if err := socket.CheckName("tool_call_id", p.ToolCallID); err != nil {
		return nil, err
	}
	id := callID{p.ThreadID, p.ToolCallID}
	return immediate(cancelResult{stateOf(c).cancel(func(o *call) bool { return o.callID == id })}), nil
}
