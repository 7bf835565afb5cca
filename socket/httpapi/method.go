package httpapi

import (
	"context"
	_ "embed"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// openAPIDocument describes all paths. TestOpenAPI in docs writes it.
//
//go:embed openapi.json
var openAPIDocument []byte

func openAPI(context.Context, decisions.Peer, strictjson.Value) ([]byte, error) {
	return openAPIDocument, nil
}

// method serves a method of the socket: the body holds its params, with the declaration of
// a session in place of a session's id, and the answer is its result. Nothing of the
// connection outlives the request: a question can be answered while the client waits, or by
// asking again under rules or choices that answer it.
func (s *server) method(name string) func(context.Context, decisions.Peer, strictjson.Value) ([]byte, error) {
	return func(ctx context.Context, peer decisions.Peer, body strictjson.Value) ([]byte, error) {
		// As for permd/decide, the whole body is checked first.
		if err := strictjson.Check(body); err != nil {
			return nil, badRequest("reading the body: " + err.Error())
		}
		o, err := readMembers(body, "the body", "session", "sessionId")
		if err != nil {
			return nil, err
		}
		if _, ok := o.Get("sessionId"); ok {
			return nil, badRequest("name the session in session: over HTTP each request declares it")
		}
		conn, end := socket.NewConn(peer)
		defer end()
		params := make(strictjson.Object, 0, len(o)+1)
		for _, m := range o {
			if m.Name != "session" {
				params = append(params, m)
			}
		}
		var id strictjson.Value
		if session := optionalMember(o, "session"); session != nil {
			if id, err = s.declareOwn(ctx, conn, session); err != nil {
				return nil, err
			}
			params = append(params, strictjson.Member{Name: "sessionId", Value: id})
		}
		text, err := encodeObject(params)
		if err != nil {
			return nil, err
		}
		run, err := s.prepareCall(conn, name, text)
		if err != nil {
			return nil, err
		}
		result, err := run(ctx)
		if err != nil {
			return nil, err
		}
		said, err := json.Marshal(result, json.Deterministic(true))
		switch {
		case err != nil || holdOf(ctx) == nil:
			return said, err
		case name == "aap/permissions":
			return s.answerBatch(ctx, conn, id, said)
		}
		return s.answerOne(ctx, conn, said)
	}
}

// declareOwn declares a session of the request's connection, and returns its id as raw
// JSON.
func (s *server) declareOwn(ctx context.Context, conn *socket.Conn, session strictjson.Value) (id strictjson.Value, err error) {
	if _, id, err = sessionParams(session); err != nil {
		return nil, err
	}
	run, err := s.prepareCall(conn, native.MethodSession, session)
	if err != nil {
		return nil, err
	}
	key := preparedKeyOf(conn.Peer.UID, session)
	if !s.prepared.isFresh(key) {
		if _, err = run(ctx); err == nil {
			s.prepared.add(key)
		}
	}
	return id, err
}
