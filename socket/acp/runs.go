package acp

import (
	"context"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// ranResult is the answer of permd/ran.
type ranResult struct {
	Decision *decisions.Decision `json:"decision"`
}

// ran handles a call that ran without a request, or although it was denied, and decides
// it for the record: the verdict has no consequence.
func (h *handler) ran(c *socket.Conn, params strictjson.Value) (run, error) {
	o, err := object(params, "params", "sessionId", "toolCall", "done", "denied", "_meta")
	if err != nil {
		return nil, err
	}
	id, err := identifier(o, "sessionId", "")
	if err != nil {
		return nil, err
	}
	denied, err := flag(o, "denied")
	if err != nil {
		return nil, err
	}
	done, err := flag(o, "done")
	if err != nil {
		return nil, err
	}
	state := stateOf(c)
	s, declared := state.session(id), h.Sessions.Get(c.Owner(), id)
	state.declare(s, declared)
	v, _ := o.Get("toolCall")
	p, err := parseToolCall(v, "toolCall", s.version)
	if err != nil {
		return nil, err
	}
	r := &request{sessionID: id, version: s.version, call: p}
	call := r.assemble(state.finishedCall(s, p))
	ref := describe(&call, declared)
	call.Marks = recognise(&call, nil).marks
	req := decisions.Request{Call: call, Peer: c.Peer, Session: ref, Ran: decisions.RanUnprompted}
	if denied {
		req.Ran = decisions.RanDespiteDeny
	}
	req.Gate = &decisions.Gate{Agent: call.Agent, Through: func(d *decisions.Decision) decisions.Outcome {
		all, deniedThere := state.gatedCalls.covers(id, neededAllows(d), h.Time())
		switch {
		case !all:
			return ""
		case deniedThere && done:
			return decisions.RanDespiteDeny
		case req.Ran == decisions.RanDespiteDeny:
			return ""
		}
		return decisions.Gated
	}}
	own := native.StateOf(c)
	return func(ctx context.Context) (any, error) {
		req.Call.User = h.Users(req.Peer.UID)
		if h.ShellStaysAlive(req.Call.Agent) || req.Call.Declared.RunsShell() {
			own.Shells.ApplyTo(id, &req.Call)
		}
		d, err := h.DecideOne(ctx, &req)
		if err != nil {
			return nil, err
		}
		// It ran, whatever the verdict.
		happened := *d
		happened.Verdict = decisions.Allow
		own.Shells.Record(id, &happened)
		if h.Ran != nil && d.Outcome != decisions.Gated {
			h.Ran(req.Call.Agent, d)
		}
		return ranResult{d}, nil
	}, nil
}

// neededAllows returns the effects that required an allow. The use of a tool is not
// among them: its name says nothing about what it does at a gate.
func neededAllows(d *decisions.Decision) (list []decisions.Fingerprint) {
	if len(d.Fingerprints) != len(d.Effects) {
		return nil
	}
	for i := range d.Effects {
		if e := &d.Effects[i]; e.Verdict != decisions.Allow && e.Kind != effects.KindUse {
			list = append(list, d.Fingerprints[i])
		}
	}
	return list
}

// finishedCall returns the merged call of a report about a finished one.
func (c *connState) finishedCall(s *session, p *patch) *toolCall {
	c.noteDescribed(s, p)
	t := &toolCall{id: p.id, extra: true}
	if i := s.find(p.id); i >= 0 {
		*t = *s.calls[i]
	} else {
		t.missing = s.whyMissed(p.id)
	}
	t.merge(p, s.version)
	return t
}

// incomplete records which calls of a session were mentioned before this
// connection began: a request about one of them depends on messages that permd
// did not get, until the call is announced again.
func (h *handler) incomplete(c *socket.Conn, params strictjson.Value) (run, error) {
	o, err := object(params, "params", "sessionId", "toolCallIds", "state", "_meta")
	if err != nil {
		return nil, err
	}
	id, err := identifier(o, "sessionId", "")
	if err != nil {
		return nil, err
	}
	state := stateOf(c)
	v, _ := o.Get("toolCallIds")
	items, err := strictjson.ParseArray(v)
	if err != nil || strictjson.Kind(v) != '[' {
		state.forgetCalls(id)
		return nil, socket.Refuse("toolCallIds must be a list of strings")
	}
	changed, err := flag(o, "state")
	if err != nil || changed {
		native.StateOf(c).Shells.MarkUnknown(id)
	}
	if err != nil {
		state.forgetCalls(id)
		return nil, err
	}
	s := state.session(id)
	for _, item := range items {
		call, ok := strictjson.ParseString(item)
		if !ok {
			state.forgetCalls(id)
			return nil, socket.Refuse("toolCallIds must be a list of strings")
		}
		state.forgetCall(s, call)
	}
	return nil, nil
}

// forgetCall drops one call, because messages about it were lost.
func (c *connState) forgetCall(s *session, call string) {
	if i := s.find(call); i >= 0 {
		c.bytes -= s.calls[i].size()
		s.calls = append(s.calls[:i:i], s.calls[i+1:]...)
	}
	s.evicted.add(call, lostEarlier)
}

// describe fills in what the session's declaration says about a call. It may be called from
// any goroutine.
func describe(call *effects.Call, declared *decisions.Session) decisions.SessionRef {
	declared.Describe(call)
	return declared.Ref()
}
