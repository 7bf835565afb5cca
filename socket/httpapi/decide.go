package httpapi

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// harnessName is what sessions of HTTP are kept under (native.PersistentSessions): the id names
// them, whatever connection a request came on.
const harnessName = "http"

// decide decides calls, in a session if one is given. Each request has a
// connection of its own, on which it declares its session first, as hooks do.
func (s *server) decide(ctx context.Context, peer decisions.Peer, session, calls strictjson.Value) (*native.DecideResult, error) {
	conn, end := socket.NewConn(peer)
	defer end()
	params := append([]byte(`{"calls":`), calls...)
	if session != nil {
		declaration, id, err := declare(session)
		if err != nil {
			return nil, err
		}
		if err := s.declareOn(ctx, conn, declaration); err != nil {
			return nil, err
		}
		params = append(append(params, `,"sessionId":`...), id...)
	}
	run, err := s.prepareCall(conn, native.MethodDecide, append(params, '}'))
	if err != nil {
		return nil, err
	}
	result, err := run(ctx)
	if err != nil {
		return nil, err
	}
	decided, ok := result.(native.DecideResult)
	if !ok || len(decided.Decisions) == 0 {
		return nil, errors.New("deciding over HTTP: no decisions")
	}
	return &decided, nil
}

// declareOn declares a session, and waits for the rules of its project where they
// were not looked for a moment ago.
func (s *server) declareOn(ctx context.Context, conn *socket.Conn, declaration strictjson.Value) error {
	run, err := s.prepareCall(conn, native.MethodSession, declaration)
	if err != nil {
		return err
	}
	key := keyOf(conn.Peer.UID, declaration)
	if s.prepared.fresh(key) {
		return nil
	}
	if _, err = run(ctx); err == nil {
		s.prepared.note(key)
	}
	return err
}

// prepareCall runs a method's first phase and returns the second.
func (s *server) prepareCall(conn *socket.Conn, name string, params strictjson.Value) (run func(context.Context) (any, error), err error) {
	method, ok := s.Methods[name]
	if !ok {
		return nil, errors.New("deciding over HTTP: there is no method " + name)
	}
	run, err = method(conn, params)
	if err == nil && run == nil {
		err = errors.New("deciding over HTTP: " + name + " has nothing to run")
	}
	return run, err
}

// declare makes the params of permd/session, and the session's id as written in
// them.
func declare(session strictjson.Value) (params, id strictjson.Value, err error) {
	o, err := strictjson.ParseObject(session)
	if err != nil {
		return nil, nil, bad("session must be an object")
	}
	if _, own := o.Get("harness"); own || o.NearMiss("harness", "sessionId") != "" {
		return nil, nil, bad("session must not name a harness, and sessionId in these letters")
	}
	id, ok := o.Get("sessionId")
	if !ok {
		return nil, nil, bad("session.sessionId is missing")
	}
	o = append(o, strictjson.Member{Name: "harness", Value: strictjson.Value(`"` + harnessName + `"`)})
	params, err = object(o)
	return params, id, err
}

// object is the text of an object. Values stay as they were written.
func object(o strictjson.Object) (strictjson.Value, error) {
	text := []byte{'{'}
	for i, m := range o {
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, bad("a name cannot be read in one way")
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, name...), ':'), m.Value...)
	}
	return append(text, '}'), nil
}

// calls answers /v1/calls: permd/decide with the session and the calls in one object.
func (s *server) calls(ctx context.Context, peer decisions.Peer, body strictjson.Value) ([]byte, error) {
	// Over all of it first: whoever reads a repeated name in a part that
	// is dropped here may read another request than permd.
	if err := strictjson.Check(body); err != nil {
		return nil, bad("reading the body: " + err.Error())
	}
	o, err := members(body, "the body", "calls", "session", "sessionId")
	if err != nil {
		return nil, err
	}
	if _, ok := o.Get("sessionId"); ok {
		return nil, bad("name the session in session: over HTTP each request declares it")
	}
	calls, ok := o.Get("calls")
	if !ok {
		return nil, bad("calls is missing")
	}
	decided, err := s.decide(ctx, peer, optional(o, "session"), calls)
	if err != nil {
		return nil, err
	}
	return json.Marshal(decided, json.Deterministic(true))
}

// members are those of an object that a part of the body must be. The body has
// been checked.
func members(v strictjson.Value, what string, known ...string) (strictjson.Object, error) {
	if strictjson.Kind(v) != '{' {
		return nil, bad(what + " must be an object")
	}
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return nil, bad("reading " + what + ": " + err.Error())
	}
	if o.NearMiss(known...) != "" {
		return nil, bad("reading " + what + ": a name is written almost like one of permd's")
	}
	return o, nil
}

// optional is a member that may be left out or be null.
func optional(o strictjson.Object, name string) strictjson.Value {
	if v, ok := o.Get(name); ok && strictjson.Kind(v) != 'n' {
		return v
	}
	return nil
}
