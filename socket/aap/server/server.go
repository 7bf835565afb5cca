// Package server is for servers of the Agent Application Protocol that ask permd about the
// calls of their own tools: before a trusted call runs inline, and before a permission of the
// client is used. It speaks no HTTP, and works for one session.
//
// A permission is used once, for the call that waits and with the input that it had then.
package server

import (
	"context"
	"errors"
	"sync"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/toolserver"
)

// maxCalls bounds the calls of a session that are known by their ids.
const maxCalls = 1 << 16

// ErrNotPending means that no call of that id waits for a permission: there is none, or it was
// answered before.
var ErrNotPending = errors.New("no call of that toolCallId waits for a permission")

// Outcome says what to do with a call.
type Outcome string

// The outcomes.
const (
	Run    Outcome = "run"    // run it now
	Wait   Outcome = "wait"   // stop the turn with it, for the client's permission
	Denied Outcome = "denied" // its result is Answer.Text
)

// Call is a call of a tool of the server.
type Call struct {
	ID, Name string
	Input    strictjson.Value // an object
	// Trusted is set if the session's agent has the tool with trust.
	Trusted bool
}

// Answer is what permd, or a person, says of a call.
type Answer struct {
	Outcome Outcome
	// Reason is why a call is denied, for the model; "" if nobody gave one.
	Reason string
}

// Text is the result of a denied call in the protocol's words.
func (a Answer) Text() string {
	if a.Reason == "" {
		return "Tool call denied"
	}
	return "Tool call denied: " + a.Reason
}

// Gate decides the calls of one session. It is safe for concurrent use.
type Gate struct {
	permd           client.Caller
	session         string
	agent, endpoint string

	mu      sync.Mutex
	used    map[string]bool // ids
	pending map[string]Call
}

// New returns the gate of a session that is declared to permd. The agent's name and the
// server's address are by what rules know its tools.
func New(permd client.Caller, session, agent, endpoint string) *Gate {
	return &Gate{permd: permd, session: session, agent: agent, endpoint: endpoint, used: map[string]bool{}, pending: map[string]Call{}}
}

// Begin decides a call that the model makes. Only a trusted call that is allowed runs at once;
// one that nobody has allowed waits, trusted or not, also while permd does not answer.
func (g *Gate) Begin(ctx context.Context, c Call) Answer {
	g.mu.Lock()
	again := g.used[c.ID] || c.ID == "" || len(g.used) >= maxCalls
	g.used[c.ID] = true
	g.mu.Unlock()
	if again {
		return Answer{Denied, "the id of this call was also used for another call"}
	}
	d, err := g.decide(ctx, c)
	switch {
	case err == nil && d.Verdict == decisions.Deny:
		return Answer{Denied, toolserver.Reason(d)}
	case err == nil && d.Verdict == decisions.Allow && c.Trusted:
		return Answer{Outcome: Run}
	}
	c.Input = c.Input.Clone()
	g.mu.Lock()
	g.pending[c.ID] = c
	g.mu.Unlock()
	return Answer{Outcome: Wait}
}

// Permission takes the client's permission for a call that waits, once, and returns the call.
// What rules deny by now does not run. The error is ErrNotPending.
func (g *Gate) Permission(ctx context.Context, id string, granted bool, reason string) (Call, Answer, error) {
	g.mu.Lock()
	c, ok := g.pending[id]
	delete(g.pending, id)
	g.mu.Unlock()
	if !ok {
		return Call{}, Answer{}, ErrNotPending
	}
	d, err := g.decide(ctx, c)
	switch {
	case err != nil && granted:
		return c, Answer{Denied, "permd does not answer"}, nil
	case err != nil:
		return c, Answer{Denied, reason}, nil
	case d.Verdict == decisions.Deny:
		return c, Answer{Denied, toolserver.Reason(d)}, nil
	case d.Verdict == decisions.Ask:
		choice := &client.Choice{DecisionID: d.ID, Verdict: decisions.Deny}
		if granted {
			choice.Verdict = decisions.Allow
		}
		if _, err := client.Choose(ctx, g.permd, choice); err != nil && granted {
			return c, Answer{Denied, "the permission could not be taken"}, nil
		}
	case d.Verdict == decisions.Allow:
	}
	if !granted {
		return c, Answer{Denied, reason}, nil
	}
	return c, Answer{Outcome: Run}, nil
}

// Pending reports whether a call waits for a permission.
func (g *Gate) Pending() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.pending) > 0
}

// Clear forgets the calls that wait, when the user goes on without them.
func (g *Gate) Clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.pending)
}

func (g *Gate) decide(ctx context.Context, c Call) (*decisions.Decision, error) {
	list, err := client.Decide(ctx, g.permd, g.session, client.ToolCall{
		ID: c.ID, Tool: client.Tool{Name: c.Name, Server: g.agent, Source: g.endpoint}, Input: c.Input,
	})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}
