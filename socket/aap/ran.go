package aap

import (
	"context"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// maxRanTogether is how many calls are decided by one set of rules.
const maxRanTogether = 64

// ranParams are the params of aap/ran.
type ranParams struct {
	SessionID string           `json:"sessionId"`
	Endpoint  string           `json:"endpoint"`
	Agent     agentWire        `json:"agent"`
	Tools     []toolWire       `json:"tools"`
	Meta      strictjson.Value `json:"meta"`
	Turn      strictjson.Value `json:"turn"`
}

// RanResult is the result of aap/ran.
type RanResult struct {
	// Calls are those that ran without a permission, in the order of the turn.
	Calls []RanCall `json:"calls"`
}

// RanCall is a call that the server ran without a permission.
type RanCall struct {
	ToolCallID string `json:"toolCallId"`
	Name       string `json:"name"`
	// Decision says what permd would have answered. Nothing follows from it.
	Decision *decisions.Decision `json:"decision"`
}

// ran records the calls that a server ran within its turn, without a permission: those of
// trusted tools, and all others of which the turn has the result as well.
func (h *handler) ran(c *socket.Conn, params strictjson.Value) (run, error) {
	var p ranParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	t, err := h.contextOf(c, p.SessionID)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		w, err := (&permissionsParams{Endpoint: p.Endpoint, Agent: p.Agent, Tools: p.Tools, Meta: p.Meta}).readParties()
		if err != nil {
			return nil, err
		}
		turn, err := readTurn(p.Turn)
		if err != nil {
			return nil, err
		}
		result := &RanResult{Calls: []RanCall{}}
		for group := range slices.Chunk(turn.ranInline(), maxRanTogether) {
			if err := h.record(ctx, t, w, group, result); err != nil {
				return nil, err
			}
		}
		return result, nil
	}, nil
}

// ranInline returns the calls of the turn that have their result in it.
func (t *turn) ranInline() (calls []item) {
	waiting := map[string][]item{}
	for _, it := range t.items {
		switch it.kind {
		case itemCall:
			if !slices.ContainsFunc(waiting[it.id], func(o item) bool { return sameCall(o, it) }) {
				waiting[it.id] = append(waiting[it.id], it)
			}
		case itemResult:
			calls = append(calls, waiting[it.id]...)
			delete(waiting, it.id)
		case itemPermission, itemUser:
		}
	}
	return calls
}

// record records calls that have run.
func (h *handler) record(ctx context.Context, t *requestContext, w *parties, calls []item, result *RanResult) error {
	reqs := make([]*decisions.Request, len(calls))
	for i, it := range calls {
		// The server ran it, also if the client has a tool of this name.
		call := plannedCall{id: it.id, tool: w.serverTool(it.name), side: server, input: it.input}
		reqs[i] = call.request(w, t.session)
		reqs[i].Peer, reqs[i].Call.User, reqs[i].Ran = t.peer, h.Users(t.peer.UID), decisions.RanUnprompted
	}
	decided, err := h.Decide(ctx, reqs...)
	if err != nil {
		return err
	}
	for i, d := range decided {
		if h.Ran != nil {
			h.Ran(effects.Party{Name: w.agent, Version: w.version}, d)
		}
		result.Calls = append(result.Calls, RanCall{ToolCallID: calls[i].id, Name: calls[i].name, Decision: d})
	}
	return nil
}
