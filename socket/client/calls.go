package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// The methods that have functions in this package.
const (
	methodSession           = "permd/session"
	methodDecide            = "permd/decide"
	methodChoose            = "permd/choose"
	methodWait              = "permd/wait"
	methodDenied            = "permd/denied"
	methodRequestPermission = "session/request_permission"
)

// codeAsk is the error code whose data is a decision that a person must make.
const codeAsk = -32050

// Caller calls permd's methods. A Client does so over the socket; tests and programs
// that decide in their own process have other implementations.
type Caller interface {
	Call(ctx context.Context, method string, params, result any) error
	Notify(ctx context.Context, method string, params any) error
}

// Session is the params of permd/session. ID and Cwd are required.
type Session struct {
	ID     string         `json:"sessionId"`
	Cwd    string         `json:"cwd"`
	Roots  []string       `json:"roots,omitzero"`
	Parent string         `json:"parent,omitzero"` // id of the session that this one is part of
	Agent  *effects.Party `json:"agent,omitzero"`
	Client *effects.Party `json:"client,omitzero"`
	Mode   string         `json:"mode,omitzero"`
	// Harness is the name of the harness, for a session that outlives the connection.
	Harness string `json:"harness,omitzero"`
	// AtShell says that Cwd is the current directory of the agent's shell, and that
	// nothing else of the shell's state survives from one call to the next.
	AtShell bool `json:"atShell,omitzero"`
	// ProtocolVersion is the version of ACP that client and agent have negotiated, 0 if
	// unknown.
	ProtocolVersion int `json:"protocolVersion,omitzero"`
	// Tools says what the inputs of its own tools mean, for an agent that permd has no
	// profile of; see docs/protocol.md, Declared tools. It must be the same in all sessions
	// of a connection that have it.
	Tools []DeclaredTool `json:"tools,omitzero"`
}

// DeclaredTool is a tool of the agent. Members has a meaning for each member of its input,
// such as "command", "read", "write" or "harmless". Members that are not in it make a call
// ask.
type DeclaredTool struct {
	Name    string            `json:"name"`
	Members map[string]string `json:"members"`
}

// Tool names the tool of a call.
type Tool struct {
	Name    string `json:"name"`
	Server  string `json:"server,omitzero"`
	Source  string `json:"source,omitzero"`
	Version string `json:"version,omitzero"`
	// Changed says that the server describes the tool otherwise than when a call of it
	// last ran: a person is asked, whatever rules and memory say.
	Changed bool `json:"changed,omitzero"`
}

// ToolCall is a call in the params of permd/decide.
type ToolCall struct {
	ID    string `json:"callId"`
	Tool  Tool   `json:"tool"`
	Input any    `json:"input,omitzero"` // an object in JSON
	Kind  string `json:"kind,omitzero"`
	Title string `json:"title,omitzero"`
}

// Choice is the person's answer to a question, as in permd/choose: either the option
// that they picked, or a verdict.
type Choice struct {
	DecisionID string            `json:"decisionId"`
	OptionID   string            `json:"optionId,omitzero"`
	Verdict    decisions.Verdict `json:"verdict,omitzero"` // Allow or Deny
	// Width is the id of the width to remember, as the decision named it. Scope says for
	// whom to remember it, and ExpiresIn for how many seconds.
	Width     string `json:"width,omitzero"`
	Scope     string `json:"scope,omitzero"`
	ExpiresIn int64  `json:"expiresIn,omitzero"`
}

// ChoiceResult is the result of permd/choose.
type ChoiceResult struct {
	// Stored are the choices that are now remembered.
	Stored []decisions.StoredChoice `json:"stored"`
	// NotStored says why nothing is remembered of an answer that means more than this
	// call, "" otherwise.
	NotStored string `json:"notStored"`
	// Result is the answer to give to the agent, nil if its protocol has none.
	Result strictjson.Value `json:"result"`
}

// Decide asks for decisions about the calls of a session, "" for none. It returns one
// decision for each call, in order.
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

// DecideJSON is Decide with params that are already JSON.
func DecideJSON(ctx context.Context, c Caller, params strictjson.Value) ([]*decisions.Decision, error) {
	var p struct {
		Calls []strictjson.Value `json:"calls"`
	}
	// Ignored: permd refuses params that cannot be read, and if it did not, it would
	// return decisions for more calls than were counted here.
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

// RequestPermission asks for a decision about an ACP permission request, given its
// params as JSON. It also returns decisions that ask the person.
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

// Question returns the decision, if the error says that a person must be asked.
func (e *Error) Question() (*decisions.Decision, error) {
	d := new(decisions.Decision)
	if err := strictjson.Unmarshal(e.Data, d); err != nil {
		return nil, err
	}
	return d, nil
}

// Choose reports the person's answer to a question that was asked on this connection.
func Choose(ctx context.Context, c Caller, choice *Choice) (*ChoiceResult, error) {
	var out ChoiceResult
	if err := c.Call(ctx, methodChoose, choice, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// WaitResult is the result of permd/wait: that of permd/choose for the answer that a person
// gave elsewhere, or for what rules or choices decide by now.
type WaitResult struct {
	// Answer is "allow" or "deny", and "none" if nobody answered in time.
	Answer string `json:"answer"`
	// DecidedBy is who has decided where no person has answered, "" otherwise; Decision is then
	// what they have decided.
	DecidedBy decisions.DecidedBy `json:"decidedBy"`
	Decision  *decisions.Decision `json:"decision"`
	ChoiceResult
}

// Verdict returns the verdict of the answer: Ask if there is none.
func (r *WaitResult) Verdict() decisions.Verdict {
	switch r.Answer {
	case "allow":
		return decisions.Allow
	case "deny":
		return decisions.Deny
	}
	return decisions.Ask
}

// Wait waits until a person answers the question of a decision elsewhere, such as with
// permd allow, for at most that long: whole seconds from 1 s to 1 h. The client's timeout
// begins after it. If ctx ends, permd is told that nobody waits; the question stays open.
func Wait(ctx context.Context, c Caller, decisionID string, limit time.Duration) (*WaitResult, error) {
	var out WaitResult
	params := struct {
		DecisionID string `json:"decisionId"`
		Seconds    int64  `json:"seconds"`
	}{decisionID, int64(limit / time.Second)}
	if err := c.Call(context.WithValue(ctx, waitKey{}, limit), methodWait, params, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// waitKey is the key of how long permd may take for a call that waits for a person.
type waitKey struct{}

// check returns an error unless each call has a decision: a missing one would count as
// an allow.
func check(list []*decisions.Decision, calls int) error {
	if len(list) != calls {
		return fmt.Errorf("reading permd's answer: %s for %s", countDecisions(len(list), "decision"), countDecisions(calls, "call"))
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

func countDecisions(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// maxDenied is how many tools permd/denied takes.
const maxDenied = 64

// Denied reports, for each tool of a tool server, whether lists of org or user deny it whatever
// it is called with. Nothing is decided, and nothing recorded. Versions do not count.
func Denied(ctx context.Context, c Caller, session string, tools []Tool) ([]bool, error) {
	denied := make([]bool, 0, len(tools))
	for some := range slices.Chunk(tools, maxDenied) {
		type tool struct {
			Name   string `json:"name"`
			Server string `json:"server"`
			Source string `json:"source,omitzero"`
		}
		params := struct {
			SessionID string `json:"sessionId,omitzero"`
			Tools     []tool `json:"tools"`
		}{SessionID: session}
		for _, t := range some {
			params.Tools = append(params.Tools, tool{t.Name, t.Server, t.Source})
		}
		var got struct {
			Denied []bool `json:"denied"`
		}
		if err := c.Call(ctx, methodDenied, params, &got); err != nil {
			return nil, err
		}
		if len(got.Denied) != len(some) {
			return nil, errors.New("permd/denied: not one answer for each tool")
		}
		denied = append(denied, got.Denied...)
	}
	return denied, nil
}
