// Package acp adapts the Agent Client Protocol, version 1 and the draft of
// version 2: it merges the session/update messages about tool calls, turns
// session/request_permission into a call, and answers in the protocol's terms.
//
// It reads as tolerantly as the protocol's own schema, because it has to accept
// what agents really send. But it records a defect for everything it left out,
// and a call with a defect is never allowed without a person. It decides
// nothing, and it knows no agent's tools: those are profiles in
// decisions/effects. It only recognises what a request itself is: a question to
// the person, a switch of mode, and what its options mean.
package acp

import (
	"context"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// protocol is the protocol's name in decisions.
const protocol = "acp"

// The names of the methods.
const (
	MethodRequestPermission = "session/request_permission"
	MethodUpdate            = "session/update"
	MethodCancel            = "session/cancel"
	methodPrompt            = "session/prompt"
)

// Register adds the methods of ACP.
func Register(methods socket.Methods, deps native.Deps) {
	h := &handler{deps}
	methods[MethodRequestPermission] = h.requestPermission
	methods[MethodUpdate] = h.update
	methods[MethodCancel] = h.cancel
	methods[methodPrompt] = h.prompt
	methods[MethodGate] = h.gate
	methods[MethodRan] = h.ran
	methods[MethodIncomplete] = h.incomplete
}

type handler struct{ native.Deps }

// run is the second phase of a method, which may take time.
type run = func(ctx context.Context) (any, error)

// stateKey is the key of this package's state of a connection.
type stateKey struct{}

// stateOf returns what was merged on a connection. Only to be called from a
// method.
func stateOf(c *socket.Conn) *connState {
	return c.Value(stateKey{}, func() any {
		s := &connState{resize: c.Resize}
		native.StateOf(c).OnEnd(s.forget)
		native.StateOf(c).OnDeclare(s.onDeclared)
		// A message that was not read may have been an update of any session.
		c.OnUnread(func() { s.forgetCalls("") })
		if c.Missed() {
			s.forgetCalls("")
		}
		return s
	}).(*connState)
}

// update handles a session/update notification.
func (h *handler) update(c *socket.Conn, params strictjson.Value) (run, error) {
	state := stateOf(c)
	id, err := updateSession(params)
	ran := ""
	if err == nil {
		ran, err = h.take(state, c.Owner(), id, params)
	}
	if err != nil {
		// What the agent said about a call is lost, so nothing known about the
		// session's calls is reliable any more.
		state.forgetCalls(id)
	}
	if ran == "" || h.RecordRun == nil {
		return nil, err
	}
	asked := native.StateOf(c).Questions.Ran(id, ran)
	if len(asked) == 0 {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		for _, decision := range asked {
			h.RecordRun(ctx, decision)
		}
		return nil, nil
	}, nil
}

// take merges an update. It returns the id of the call that has run to its end by it, ""
// for none.
func (h *handler) take(state *connState, owner decisions.Owner, id string, params strictjson.Value) (ran string, err error) {
	s, declared := state.session(id), h.Sessions.Get(owner, id)
	state.declare(s, declared)
	ver, err := state.noteVersion(s, updateVersion(params), declared)
	if err != nil {
		return "", err
	}
	u, err := parseUpdate(params, ver)
	switch {
	case err != nil:
		return "", err
	case u.mode != "":
		declared.ReportMode(u.mode)
	case u.call != nil:
		state.apply(s, u.call, u.created)
		if u.call.ended {
			state.approved.endCall(s.id, u.call.id)
		}
		if u.call.ran {
			ran = u.call.id
		}
	}
	return ran, nil
}

// prompt records that the client begins a turn. The prompt itself is not read.
func (h *handler) prompt(c *socket.Conn, params strictjson.Value) (run, error) {
	o, err := object(params, "params", "sessionId", "_meta")
	if err != nil {
		return nil, err
	}
	id, err := identifier(o, "sessionId", "")
	if err != nil {
		return nil, err
	}
	stateOf(c).prompt(id)
	return nil, nil
}

// cancel handles a session/cancel notification: every request of the session
// that is being decided or waits for the person is answered "cancelled".
func (h *handler) cancel(c *socket.Conn, params strictjson.Value) (run, error) {
	o, err := object(params, "params", "sessionId", "_meta")
	if err != nil {
		return nil, err
	}
	id, err := identifier(o, "sessionId", "")
	if err != nil {
		return nil, err
	}
	// First the turn, then the questions: a decision that is just being made
	// checks the turn after it has stored its question.
	stateOf(c).cancel(id)
	for _, ses := range append(h.Sessions.All(c.Owner()), &decisions.Session{Declaration: decisions.Declaration{ID: id}}) {
		if ses.ID == id || slices.Contains(ses.Ancestors, id) {
			stateOf(c).approved.endCall(ses.ID, "")
			native.StateOf(c).Cancel(ses.ID)
		}
	}
	return nil, nil
}
