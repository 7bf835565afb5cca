package native

import (
	"cmp"
	"context"
	"slices"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// finishedParams report what became of questions after they were asked (docs/protocol.md).
type finishedParams struct {
	SessionID string `json:"sessionId"`
	Harness   string `json:"harness"`
	Parent    string `json:"parent"`
	// Call is a call that has run, TurnEnded that nothing of the turn waits any more.
	Call      *finishedCall `json:"call"`
	TurnEnded bool          `json:"turnEnded"`
}

// finishedCall is a call that has run, as the harness asked about it before.
type finishedCall struct {
	CallID string           `json:"callId"`
	Tool   string           `json:"tool"`
	Server string           `json:"server"`
	Input  strictjson.Value `json:"input" null:"absent"`
}

type finishedResult struct {
	// DecisionIDs are the questions that were about the call.
	DecisionIDs []string `json:"decisionIds"`
}

// finished handles a report about a session of a harness. It decides nothing, and what
// it reports is no answer: a harness that was told to ask nobody runs calls as well. So
// it makes nothing milder, and creates no session.
func (h *handler) finished(c *socket.Conn, params strictjson.Value) (run, error) {
	var p finishedParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	switch {
	case p.Call == nil && !p.TurnEnded:
		return nil, socket.Refuse("call or turnEnded is missing")
	case len(p.Parent) > socket.MaxName:
		return nil, socket.Refuse("parent is longer than %d bytes", socket.MaxName)
	}
	if err := cmp.Or(socket.CheckName("sessionId", p.SessionID), socket.CheckName("harness", p.Harness)); err != nil {
		return nil, err
	}
	if p.Call != nil {
		if err := socket.CheckName("call.tool", p.Call.Tool); err != nil {
			return nil, err
		}
		if len(p.Call.CallID) > socket.MaxName || len(p.Call.Server) > socket.MaxName {
			return nil, socket.Refuse("call.callId or call.server is longer than %d bytes", socket.MaxName)
		}
	}
	if h.Persistent == nil {
		return nil, socket.Refuse("this permd keeps no sessions of harnesses")
	}
	ids := h.Persistent.finished(c.Peer.UID, &p)
	return func(ctx context.Context) (any, error) {
		for _, id := range ids {
			if h.RecordRun != nil {
				h.RecordRun(ctx, id)
			}
		}
		return finishedResult{append([]string{}, ids...)}, nil
	}, nil
}

// finished ends the questions that a report is about, and returns the ids of the
// decisions whose call has run.
func (l *PersistentSessions) finished(uid uint32, p *finishedParams) (ids []string) {
	var key callKey
	if p.Call != nil {
		key = contentOf(p.Call.Tool, p.Call.Input)
	}
	now := l.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.trees[sessionTreeKey{uid: uid, harness: p.Harness, id: cmp.Or(p.Parent, p.SessionID)}]
	if f == nil {
		return nil
	}
	f.used = now
	if p.TurnEnded {
		l.deleteQuestions(func(q *boundQuestion) bool { return q.tree == f && q.Session == p.SessionID && !q.answering })
		l.endWaits(func(w *waitedQuestion) bool { return w.tree == f && w.was.Session == p.SessionID })
	}
	if p.Call == nil {
		return ids
	}
	ids = f.asked.ran(p.SessionID, p.Call, key)
	l.deleteQuestions(func(q *boundQuestion) bool { return q.tree == f && !q.answering && slices.Contains(ids, q.Decision.ID) })
	return ids
}
