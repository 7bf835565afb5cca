package httpapi

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// The words that @ai-sdk/policy-opa reads. It knows "not-applicable" as well, for
// which it runs the tool, as for no result at all: neither is ever said.
const (
	wordAllow = "allow"
	wordDeny  = "deny"
	wordAsk   = "requires-approval"
)

// denied is what the model is told where no rule has a message for it. The reason
// of a rule stays on this machine.
const denied = "permd denies this call"

// dataAnswer is what the data API answers with.
type dataAnswer struct {
	DecisionID string     `json:"decision_id"`
	Result     dataResult `json:"result"`
}

type dataResult struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// decision answers /v1/data/permd/decision: one call, in the words of OPA.
func (s *server) decision(ctx context.Context, peer decisions.Peer, body strictjson.Value) ([]byte, error) {
	session, calls, err := readInput(body)
	if err != nil {
		return nil, err
	}
	decided, err := s.decide(ctx, peer, session, calls)
	if err != nil {
		return nil, err
	}
	if len(decided.Decisions) != 1 || decided.Decisions[0] == nil {
		return nil, errors.New("deciding over HTTP: not one decision")
	}
	d := decided.Decisions[0]
	return json.Marshal(dataAnswer{d.ID, word(d)})
}

// word is a decision in the words of OPA. What is not an allow never becomes one.
func word(d *decisions.Decision) dataResult {
	switch d.Verdict {
	case decisions.Allow:
		return dataResult{wordAllow, ""}
	case decisions.Ask:
		return dataResult{wordAsk, d.Reason}
	case decisions.Deny:
	}
	if d.Message != "" {
		return dataResult{wordDeny, d.Message}
	}
	return dataResult{wordDeny, denied}
}

// inputMembers are what is read of the input. All else, such as the messages of
// the conversation, is dropped here.
var inputMembers = []string{"tool", "args", "callId", "session", "runtimeContext"}

// readInput reads {"input": {...}} into a session and the calls of permd/decide.
func readInput(body strictjson.Value) (session, calls strictjson.Value, err error) {
	if err := strictjson.Check(body); err != nil {
		return nil, nil, bad("reading the body: " + err.Error())
	}
	o, err := members(body, "the body", "input")
	if err != nil {
		return nil, nil, err
	}
	raw, ok := o.Get("input")
	if !ok {
		return nil, nil, bad("input is missing")
	}
	in, err := members(raw, "input", inputMembers...)
	if err != nil {
		return nil, nil, err
	}
	if session, err = sessionOf(in); err != nil {
		return nil, nil, err
	}
	tool, args := optional(in, "tool"), optional(in, "args")
	switch {
	case tool == nil:
		return nil, nil, bad("input.tool is missing")
	case args == nil:
		// Nothing says what the tool would do.
		return nil, nil, bad("input.args is missing")
	}
	id := optional(in, "callId")
	if id == nil {
		id = strictjson.Value(`"call"`)
	}
	call, err := object(strictjson.Object{{Name: "callId", Value: id}, {Name: "tool", Value: tool}, {Name: "input", Value: args}})
	if err != nil {
		return nil, nil, err
	}
	return session, append(append([]byte{'['}, call...), ']'), nil
}

// sessionOf is the session of the input: its member session, or permd of what the
// application carries along with its calls.
func sessionOf(in strictjson.Object) (strictjson.Value, error) {
	session := optional(in, "session")
	carried := optional(in, "runtimeContext")
	if strictjson.Kind(carried) != '{' {
		return session, nil // the application's own affair
	}
	o, err := members(carried, "input.runtimeContext", "permd")
	if err != nil {
		return nil, err
	}
	own := optional(o, "permd")
	if own != nil && session != nil {
		return nil, bad("input.session and input.runtimeContext.permd both name a session")
	}
	if own != nil {
		return own, nil
	}
	return session, nil
}
