package native

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
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
	Input  strictjson.Value `json:"input"`
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
	case h.Persistent == nil:
		return nil, socket.Refuse("this permd keeps no sessions of harnesses")
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
		if len(p.Call.CallID) > socket.MaxName {
			return nil, socket.Refuse("call.callId is longer than %d bytes", socket.MaxName)
		}
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

// maxAsked bounds the questions of one session and its sub-agents that are told from each
// other when their calls have run. Above it the oldest is forgotten.
const maxAsked = 64

// askedCall is a call of a harness that was left to the person.
type askedCall struct {
	session  string
	id       string  // the harness's id of the call, "" if it has none
	content  callKey // see contentOf
	decision string  // the decision's id
}

// noCallID is what a client sends as the id of a call whose harness has no ids.
const noCallID = "1"

// contentOf identifies a call by its tool and its input, for harnesses whose calls have no
// ids. Some add a description to the same call at one of their events.
func contentOf(tool string, input strictjson.Value) callKey {
	of := sha256.New()
	add := func(text string) {
		of.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
		of.Write([]byte(text))
	}
	add(tool)
	o, err := strictjson.ParseObject(input)
	if err != nil {
		o = strictjson.Object{{Value: input}}
	}
	slices.SortFunc(o, func(a, b strictjson.Member) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range o {
		if m.Name != "description" {
			add(m.Name)
			add(string(m.Value))
		}
	}
	return callKey(of.Sum(nil))
}

// noteDecided notes a decision about a call of a session, to tell later which questions
// were about a call that has run.
func (l *PersistentSessions) noteDecided(f *sessionTree, req *decisions.Request, d *decisions.Decision) {
	l.mu.Lock()
	none := len(f.asked) == 0
	l.mu.Unlock()
	if d.Verdict != decisions.Ask && none {
		return
	}
	a := askedCall{session: req.Session.ID, id: req.Call.ID, content: contentOf(req.Call.Tool.Name, req.Call.Input), decision: d.ID}
	if a.id == noCallID {
		a.id = ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// If the same runs now, that is by this decision.
	f.asked = slices.DeleteFunc(f.asked, func(o askedCall) bool {
		return o.session == a.session && (o.id == "" && o.content == a.content || o.id != "" && o.id == a.id)
	})
	if d.Verdict == decisions.Ask {
		f.asked = append(f.asked[max(0, len(f.asked)-maxAsked+1):], a)
	}
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
	f := l.trees[sessionTreeKey{uid, p.Harness, cmp.Or(p.Parent, p.SessionID)}]
	if f == nil {
		return nil
	}
	f.used = now
	if p.TurnEnded {
		l.deleteQuestions(func(q *boundQuestion) bool { return q.tree == f && q.Session == p.SessionID && !q.answering })
	}
	if p.Call == nil {
		return ids
	}
	// The harness may have asked at two events, one of which has no id.
	id, without := -1, -1
	for i := range f.asked {
		switch a := &f.asked[i]; {
		case a.session != p.SessionID:
		case a.id != "" && (a.id == p.Call.CallID || p.Call.CallID == "" && a.content == key):
			id = i
		case a.id == "" && a.content == key:
			without = i
		}
	}
	for _, i := range []int{id, without} {
		if i >= 0 {
			ids = append(ids, f.asked[i].decision)
		}
	}
	if id >= 0 {
		key = f.asked[id].content // other hooks may have changed the input
	}
	f.asked = slices.DeleteFunc(f.asked, func(a askedCall) bool { return slices.Contains(ids, a.decision) })
	// The same call has run, so no earlier question about it waits either.
	l.deleteQuestions(func(q *boundQuestion) bool {
		return q.tree == f && q.Session == p.SessionID && q.content == key && !q.answering
	})
	return ids
}
