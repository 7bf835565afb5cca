package rap

import (
	"context"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// scopeBelow is the scope of a yes for a thread, as a value of permd/choose.
const scopeBelow = "session+children"

type choiceParams struct {
	DecisionID string `json:"decisionId"`
	Selected   *int   `json:"selected"`
}

// choiceResult is the answer of rap/choice.
type choiceResult struct {
	Outcome Outcome                  `json:"outcome"`
	Result  *ToolResult              `json:"result,omitzero"`
	Stored  []decisions.StoredChoice `json:"stored,omitzero"`
}

// choice reports the person's answer, as the index of a label.
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
	q := s.waiting(p.DecisionID)
	if q == nil {
		return nil, socket.Refuse("no question of that decisionId is open on this connection")
	}
	uid := c.Peer.UID
	a := native.Answer{DecisionID: q.id, Verdict: decisions.Allow, UID: &uid}
	var of *thread
	switch i := *p.Selected; {
	case i < 0 || i > q.no():
		return nil, socket.Refuse("selected is no index of the choices")
	case i == q.no():
		a.Verdict = decisions.Deny
	case i < len(q.threads):
		if of = q.threads[i]; s.isClosed(of) {
			return nil, socket.Refuse("the thread that was selected is closed")
		}
		s.keep(of)
		a.Width, a.Scope = q.width.ID, scopeBelow
		a.Bind = func(o *decisions.Offer) *decisions.Offer { return q.bind(i, o) }
	}
	return func(ctx context.Context) (any, error) {
		kept, err := native.AnswerQuestion(ctx, h.Deps, s.asks, a)
		if err != nil {
			return nil, err
		}
		s.answered(q)
		r := q.answered(a.Verdict)
		r.Stored = kept
		if of == nil || !s.isClosed(of) {
			return r, nil
		}
		// The thread was closed while the yes was stored, which ends with it. The
		// call itself may run.
		r.Stored = []decisions.StoredChoice{}
		var ids []string
		for _, k := range kept {
			ids = append(ids, k.ID)
		}
		if err := h.Keeper.Drop(ctx, ids...); err != nil {
			return nil, &socket.Error{Code: socket.CodeInternal, Message: "the thread was closed, and the choice holds until permd is restarted"}
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

// closeThread ends a thread, with what was remembered for it.
func (h *handler) closeThread(c *socket.Conn, params strictjson.Value) (run, error) {
	var p closeParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	if err := socket.CheckName("thread_id", p.ThreadID); err != nil {
		return nil, err
	}
	closed := stateOf(c).close(p.ThreadID)
	if h.Keeper != nil && h.Sessions.Get(c.Owner(), p.ThreadID) == nil {
		// Here and not later, or a thread that starts over would begin with the
		// choices of the old one. What could not be stored is in the status; it holds
		// all the same.
		_ = h.Keeper.EndSession(context.Background(), c.Owner(), p.ThreadID)
	}
	return answer(closeResult{closed}), nil
}

type cancelParams struct {
	ThreadID   string `json:"thread_id"`
	ToolCallID string `json:"tool_call_id"`
}

type cancelResult struct {
	Cancelled bool `json:"cancelled"`
}

// cancel withdraws a call that is decided, or waits for the person.
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
	return answer(cancelResult{stateOf(c).cancel(func(o *call) bool { return o.callID == id })}), nil
}
