package httpapi

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// harnessName is the harness of sessions declared over HTTP (see
// native.PersistentSessions): they are found by their id, whatever connection a request
// uses.
const harnessName = "http"

// decide decides calls, in a session if one is given. Each request gets a connection of
// its own and declares its session on it first, as hooks do.
func (s *server) decide(ctx context.Context, peer decisions.Peer, session, calls strictjson.Value) (*native.DecideResult, error) {
	conn, end := socket.NewConn(peer)
	defer end()
	native.StateOf(conn).OverHTTP()
	params := append([]byte(`{"calls":`), calls...)
	if session != nil {
		declaration, id, err := sessionParams(session)
		if err != nil {
			return nil, err
		}
		if err := s.declareSession(ctx, conn, declaration); err != nil {
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

// declareSession declares a session. It waits for the rules of the session's project to
// load, unless that was done less than prepareEvery ago.
func (s *server) declareSession(ctx context.Context, conn *socket.Conn, declaration strictjson.Value) error {
	run, err := s.prepareCall(conn, native.MethodSession, declaration)
	if err != nil {
		return err
	}
	key := preparedKeyOf(conn.Peer.UID, declaration)
	if s.prepared.isFresh(key) {
		return nil
	}
	if _, err = run(ctx); err == nil {
		s.prepared.add(key)
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

// sessionParams returns the params of permd/session, and the session's id as raw JSON.
func sessionParams(session strictjson.Value) (params, id strictjson.Value, err error) {
	o, err := strictjson.ParseObject(session)
	if err != nil {
		return nil, nil, badRequest("session must be an object")
	}
	if _, own := o.Get("harness"); own || o.NearMiss("harness", "sessionId") != "" {
		return nil, nil, badRequest("session must not name a harness, and sessionId in these letters")
	}
	id, ok := o.Get("sessionId")
	if !ok {
		return nil, nil, badRequest("session.sessionId is missing")
	}
	o = append(o, strictjson.Member{Name: "harness", Value: strictjson.Value(`"` + harnessName + `"`)})
	params, err = encodeObject(o)
	return params, id, err
}

// encodeObject encodes an object. Values are copied verbatim.
func encodeObject(o strictjson.Object) (strictjson.Value, error) {
	size := len("{}")
	for _, m := range o {
		size += len(m.Name) + len(`"":,`) + len(m.Value)
	}
	text := append(make([]byte, 0, size), '{')
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		var err error
		if text, err = jsontext.AppendQuote(text, m.Name); err != nil {
			return nil, badRequest("a name cannot be read in one way")
		}
		text = append(append(text, ':'), m.Value...)
	}
	return append(text, '}'), nil
}

// calls serves /v1/calls: permd/decide with the session and the calls in one object.
func (s *server) calls(ctx context.Context, peer decisions.Peer, body strictjson.Value) ([]byte, error) {
	// Check the whole body first: a parser that keeps a repeated name of a member that is
	// ignored here could see a different request.
	if err := strictjson.Check(body); err != nil {
		return nil, badRequest("reading the body: " + err.Error())
	}
	o, err := readMembers(body, "the body", "calls", "session", "sessionId")
	if err != nil {
		return nil, err
	}
	if _, ok := o.Get("sessionId"); ok {
		return nil, badRequest("name the session in session: over HTTP each request declares it")
	}
	calls, ok := o.Get("calls")
	if !ok {
		return nil, badRequest("calls is missing")
	}
	decided, err := s.decide(ctx, peer, optionalMember(o, "session"), calls)
	if err != nil {
		return nil, err
	}
	return json.Marshal(decided, json.Deterministic(true))
}

// readMembers returns the members of v, which must be an object; what names it in
// errors. The body must have passed strictjson.Check.
func readMembers(v strictjson.Value, what string, known ...string) (strictjson.Object, error) {
	if strictjson.Kind(v) != '{' {
		return nil, badRequest(what + " must be an object")
	}
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return nil, badRequest("reading " + what + ": " + err.Error())
	}
	if o.NearMiss(known...) != "" {
		return nil, badRequest("reading " + what + ": a name is written almost like one of permd's")
	}
	return o, nil
}

// optionalMember returns a member that may be missing or null, nil if it is.
func optionalMember(o strictjson.Object, name string) strictjson.Value {
	if v, ok := o.Get(name); ok && strictjson.Kind(v) != 'n' {
		return v
	}
	return nil
}
