package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/native"
)

// onceOptions are the options of a request whose person can allow one call.
const onceOptions = `[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]`

// protocol decides a row that is a whole request. A request of ACP goes through the
// whole adapter, since it may attack the parsing or the answer.
func (b *bench) protocol(ctx context.Context, w *world, r *bypassRow, snap decisions.Snapshot) (result, error) {
	request := r.Request
	if r.Raw {
		s, ok := strictjson.ParseString(request)
		if !ok {
			return result{}, errors.New("the raw request is not a string")
		}
		request = strictjson.Value(s)
	}
	if err := strictjson.Check(request); err != nil {
		return refused("the message is refused: " + err.Error()), nil
	}
	o, err := strictjson.ParseObject(request)
	if err != nil {
		return result{}, err
	}
	if toolCall, ok := o.Get("toolCall"); ok {
		options, ok := o.Get("options")
		if !ok {
			options = strictjson.Value(onceOptions)
		}
		return b.acp(ctx, w, toolCall, options, snap)
	}
	c := &call{agent: claudeAgent, cwd: pathProject}
	for name, into := range map[string]*string{"tool": &c.tool, "operation": &c.tool, "parent": &c.parent} {
		if v, ok := o.Get(name); ok {
			*into, _ = strictjson.ParseString(v)
		}
	}
	if v, ok := o.Get("arguments"); ok {
		c.input = v
	}
	return decide(ctx, b.engine(w, snap, nil), snap, w.request(c)), nil
}

func refused(why string) result {
	return result{Decision: &decisions.Decision{Verdict: decisions.Ask, Reason: why, By: decisions.ByFailure}}
}

// recordingDecider keeps the last decision of an engine.
type recordingDecider struct {
	*decisions.Engine
	last *decisions.Decision
	req  *decisions.Request
}

func (n *recordingDecider) Decide(ctx context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	list := n.Engine.Decide(ctx, reqs...)
	n.last, n.req = list[len(list)-1], reqs[len(reqs)-1]
	return list
}

// acp sends a permission request through the adapter, and checks that the client's
// answer fits the decision. An ask is an error of the protocol.
func (b *bench) acp(ctx context.Context, w *world, toolCall, options strictjson.Value, snap decisions.Snapshot) (result, error) {
	decider := &recordingDecider{Engine: b.engine(w, snap, nil)}
	sessions, methods := new(decisions.Sessions), socket.Methods{}
	users := func(uint32) effects.User { return w.user() }
	deps := native.Deps{Sessions: sessions, Decider: decider, Users: users}
	acp.Register(methods, deps)
	native.Register(methods, deps)
	conn := &socket.Conn{ID: 1, Peer: decisions.Peer{UID: uid, PID: 7}}
	if _, err := send(ctx, methods, conn, native.MethodSession, `{"sessionId":"s","cwd":`+text(pathProject)+`}`); err != nil {
		return result{}, err
	}
	answer, err := send(ctx, methods, conn, acp.MethodRequestPermission,
		`{"sessionId":"s","toolCall":`+string(toolCall)+`,"options":`+string(options)+`}`)
	if decider.last == nil {
		return refused("the request is refused: " + err.Error()), nil
	}
	o := result{Decision: decider.last}
	if (err == nil) == (o.Verdict == decisions.Ask) {
		return result{}, fmt.Errorf("the answer does not fit the verdict %s: %v, %w", o.Verdict, answer, err)
	}
	return o, nil
}

// send calls the method of a message, as a connection does.
func send(ctx context.Context, methods socket.Methods, c *socket.Conn, method, params string) (any, error) {
	run, err := methods[method](c, strictjson.Value(params))
	if err != nil || run == nil {
		return nil, err
	}
	return run(ctx)
}
