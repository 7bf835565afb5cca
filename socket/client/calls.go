package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// The methods that this package has functions for.
const (
	methodSession           = "permd/session"
	methodDecide            = "permd/decide"
	methodChoose            = "permd/choose"
	methodRequestPermission = "session/request_permission"
)

// codeAsk is the error code whose data is a decision that a person must make.
const codeAsk = -32050

// Caller calls permd's methods: a Client does over the socket, a test or a
// program that decides in its own process does without.
type Caller interface {
	Call(ctx context.Context, method string, params, result any) error
	Notify(ctx context.Context, method string, params any) error
}

// Session is what permd/session takes. ID and Cwd are required.
type Session struct {
	ID     string         `json:"sessionId"`
	Cwd    string         `json:"cwd"`
	Roots  []string       `json:"roots,omitzero"`
	Parent string         `json:"parent,omitzero"` // id of the session that this one is a part of
	Agent  *effects.Party `json:"agent,omitzero"`
	Client *effects.Party `json:"client,omitzero"`
	Mode   string         `json:"mode,omitzero"`
	// Harness names the harness of a session that outlives the connection.
	Harness string `json:"harness,omitzero"`
	// AtShell says that Cwd is where the agent's shell is now, and that nothing
	// else of the shell lives on from one call to the next.
	AtShell bool `json:"atShell,omitzero"`
	// ProtocolVersion is what client and agent have negotiated, 0 for unknown.
	ProtocolVersion int `json:"protocolVersion,omitzero"`
}

// Tool names the tool of a call.
type Tool struct {
	Name    string `json:"name"`
	Server  string `json:"server,omitzero"`
	Source  string `json:"source,omitzero"`
	Version string `json:"version,omitzero"`
}

// ToolCall is one of the calls that permd/decide takes.
type ToolCall struct {
	ID    string `json:"callId"`
	Tool  Tool   `json:"tool"`
	Input any    `json:"input,omitzero"` // an object in JSON
	Kind  string `json:"kind,omitzero"`
	Title string `json:"title,omitzero"`
}

// Choice is the person's answer to a question, as permd/choose takes it: either
// the option that they picked or a verdict.
type Choice struct {
	DecisionID string            `json:"decisionId"`
	OptionID   string            `json:"optionId,omitzero"`
	Verdict    decisions.Verdict `json:"verdict,omitzero"` // Allow or Deny
	// Width says what is to be remembered, by the id that the decision gave it;
	// Scope says for whom, and ExpiresIn for how many seconds.
	Width     string `json:"width,omitzero"`
	Scope     string `json:"scope,omitzero"`
	ExpiresIn int64  `json:"expiresIn,omitzero"`
}

// ChoiceResult is permd's answer to a Choice.
type ChoiceResult struct {
	// Stored are the choices that are remembered from now on.
	Stored []decisions.StoredChoice `json:"stored"`
	// Result is what to answer the agent, nil where its protocol has no words
	// for it.
	Result strictjson.Value `json:"result"`
}

// Decide asks about calls of a session, "" for none, and returns a decision for
// each, in order.
func Decide(ctx context.Context, c Caller, session string, calls ...ToolCall) ([]*decisions.Decision, error) {
	list, err := decide(ctx, c, struct {
		SessionID string     `json:"sessionId,omitzero"`
		Calls     []ToolCall `json:"calls"`
	}{session, calls}, len(calls))
	if err != nil {
		return nil, err
	}
	for i, d := range list {
		if d.CallID != calls[i].ID {
			return nil, errors.New("reading permd's answer: it is to another call")
		}
	}
	return list, nil
}

// DecideJSON is Decide for params that are JSON already.
func DecideJSON(ctx context.Context, c Caller, params strictjson.Value) ([]*decisions.Decision, error) {
	var p struct {
		Calls []strictjson.Value `json:"calls"`
	}
	// Params that cannot be read are for permd to refuse. If it does not, its
	// decisions are for more calls than were counted.
	_ = strictjson.Unmarshal(params, &p)
	return decide(ctx, c, params, len(p.Calls))
}

func decide(ctx context.Context, c Caller, params any, calls int) ([]*decisions.Decision, error) {
	var out struct {
		Decisions []*decisions.Decision `json:"decisions"`
	}
	if err := c.Call(ctx, methodDecide, params, &out); err != nil {
		return nil, err
	}
	return out.Decisions, check(out.Decisions, calls)
}

// RequestPermission asks about an ACP request for permission, whose params are
// JSON, and returns its decision, also where a person must make it.
func RequestPermission(ctx context.Context, c Caller, params strictjson.Value) (*decisions.Decision, error) {
	var out struct {
		Meta struct {
			Permd *decisions.Decision `json:"permd"`
		} `json:"_meta"`
	}
	err := c.Call(ctx, methodRequestPermission, params, &out)
	d := out.Meta.Permd
	if rpc, ok := errors.AsType[*Error](err); ok && rpc.Code == codeAsk {
		if d, err = rpc.Question(); err != nil {
			return nil, fmt.Errorf("reading the decision: %w", err)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return nil, errors.New("the answer carries no decision")
	}
	return d, check([]*decisions.Decision{d}, 1)
}

// Question returns the decision that the error leaves to a person.
func (e *Error) Question() (*decisions.Decision, error) {
	d := new(decisions.Decision)
	if err := strictjson.Unmarshal(e.Data, d); err != nil {
		return nil, err
	}
	return d, nil
}

// Choose brings permd the person's answer to a question of this connection.
func Choose(ctx context.Context, c Caller, choice *Choice) (*ChoiceResult, error) {
	var out ChoiceResult
	if err := c.Call(ctx, methodChoose, choice, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// check refuses an answer that does not decide each call: a missing decision
// would count as an allow.
func check(list []*decisions.Decision, calls int) error {
	if len(list) != calls {
		return fmt.Errorf("reading permd's answer: %s for %s", count(len(list), "decision"), count(calls, "call"))
	}
	for _, d := range list {
		switch {
		case d == nil:
			return errors.New("reading permd's answer: a decision is missing")
		case d.Verdict != decisions.Allow && d.Verdict != decisions.Ask && d.Verdict != decisions.Deny:
			return errors.New("reading permd's answer: a decision without a known verdict")
		}
	}
	return nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
