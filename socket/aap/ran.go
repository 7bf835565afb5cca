package aap

import (
	"context"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
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
	t, err := h.readRequest(c, params, &p, &p.SessionID)
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
		fairshare.TurnOf(ctx).Await(ctx, func() { t.batches.noteResults(t.session, resultsOf(turn.items)) })
		result := &RanResult{Calls: []RanCall{}}
		unasked := slices.DeleteFunc(turn.ranInline(), func(it item) bool { return t.permitted(ctx, w, it) })
		for group := range slices.Chunk(unasked, maxRanTogether) {
			if err := h.record(ctx, t, w, group, result); err != nil {
				return nil, err
			}
		}
		return result, nil
	}, nil
}

// resultsOf returns the ids of the results among items.
func resultsOf(items []item) map[string]bool {
	ids := map[string]bool{}
	for _, it := range items {
		if it.kind == itemResult {
			ids[it.id] = true
		}
	}
	return ids
}

// ranInline returns the calls of the turn that have their result in it, whichever of the two
// stands first.
func (t *turn) ranInline() (calls []item) {
	waiting := map[string][]item{}
	early := map[string]bool{} // results whose call has not been seen
	for _, it := range t.items {
		switch it.kind {
		case itemCall:
			if early[it.id] {
				delete(early, it.id)
				calls = append(calls, it)
				continue
			}
			if !slices.ContainsFunc(waiting[it.id], func(o item) bool { return sameCall(o, it) }) {
				waiting[it.id] = append(waiting[it.id], it)
			}
		case itemResult:
			if calls = append(calls, waiting[it.id]...); len(waiting[it.id]) == 0 {
				early[it.id] = true
			}
			delete(waiting, it.id)
		case itemPermission, itemUser:
		}
	}
	return calls
}

// permitted reports whether a call has run by a permission: that of a batch of the session.
// Each permission counts for one run.
func (t *requestContext) permitted(ctx context.Context, w *parties, it item) bool {
	t.batches.mu.Lock()
	list := slices.Clone(t.batches.list)
	t.batches.mu.Unlock()
	for _, b := range list {
		if b.session != t.session || !b.sameParty(w) {
			continue
		}
		fairshare.TurnOf(ctx).Await(ctx, b.mu.Lock)
		is := b.takePermission(it, &t.state.Questions)
		b.mu.Unlock()
		if is {
			return true
		}
	}
	return false
}

// takePermission reports whether a call of the batch may run and has not been seen to run, and
// notes that it has. The batch's lock is held.
func (b *batch) takePermission(it item, asks *native.PendingQuestions) bool {
	for _, e := range b.entries {
		if e.id != it.id || e.tool.Name != it.name || e.ran || !equalValues(e.input, it.input) {
			continue
		}
		b.applyElsewhere(e, asks)
		if e.outcome == Granted || e.outcome == Execute {
			e.ran = true
			return true
		}
	}
	return false
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
