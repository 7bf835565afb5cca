package httpapi

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// The decisions that @ai-sdk/policy-opa knows. It also knows "not-applicable" and treats
// it like a missing result: it runs the tool. permd returns neither.
const (
	wordAllow = "allow"
	wordDeny  = "deny"
	wordAsk   = "requires-approval"
)

// defaultDenyReason is the reason given to the model if the rule has no message. The
// rule's own reason is for people on this machine only.
const defaultDenyReason = "permd denies this call"

// dataAnswer is the response of the data API.
type dataAnswer struct {
	DecisionID string     `json:"decision_id"`
	Result     dataResult `json:"result"`
}

type dataResult struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// decision serves /v1/data/permd/decision: one call, decided in OPA's terms.
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
	return json.Marshal(dataAnswer{d.ID, opaResult(d)})
}

// opaResult returns a decision in OPA's terms. Everything but an allow denies or asks.
func opaResult(d *decisions.Decision) dataResult {
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
	return dataResult{wordDeny, defaultDenyReason}
}

// inputMembers are the members of the input that are used. All others, such as the
// messages of the conversation, are ignored.
var inputMembers = []string{"tool", "args", "callId", "session", "runtimeContext"}

// readInput converts {"input": {...}} to a session and the calls of permd/decide.
func readInput(body strictjson.Value) (session, calls strictjson.Value, err error) {
	if err := strictjson.Check(body); err != nil {
		return nil, nil, badRequest("reading the body: " + err.Error())
	}
	o, err := readMembers(body, "the body", "input")
	if err != nil {
		return nil, nil, err
	}
	raw, ok := o.Get("input")
	if !ok {
		return nil, nil, badRequest("input is missing")
	}
	in, err := readMembers(raw, "input", inputMembers...)
	if err != nil {
		return nil, nil, err
	}
	if session, err = sessionOf(in); err != nil {
		return nil, nil, err
	}
	tool := optionalMember(in, "tool")
	args, given := in.Get("args")
	switch {
	case tool == nil:
		return nil, nil, badRequest("input.tool is missing")
	case !given:
		// Without arguments, the effects of the call are unknown.
		return nil, nil, badRequest("input.args is missing")
	}
	id := optionalMember(in, "callId")
	if id == nil {
		id = strictjson.Value(`"call"`)
	}
	call, err := encodeObject(strictjson.Object{{Name: "callId", Value: id}, {Name: "tool", Value: tool}, {Name: "input", Value: args}})
	if err != nil {
		return nil, nil, err
	}
	return session, append(append([]byte{'['}, call...), ']'), nil
}

// sessionOf returns the session of the input: its member session, or the member permd of
// the context that the application attaches to its calls.
func sessionOf(in strictjson.Object) (strictjson.Value, error) {
	session := optionalMember(in, "session")
	carried := optionalMember(in, "runtimeContext")
	if strictjson.Kind(carried) != '{' {
		return session, nil // not permd's
	}
	o, err := readMembers(carried, "input.runtimeContext", "permd")
	if err != nil {
		return nil, err
	}
	own := optionalMember(o, "permd")
	if own != nil && session != nil {
		return nil, badRequest("input.session and input.runtimeContext.permd both name a session")
	}
	if own != nil {
		return own, nil
	}
	return session, nil
}
