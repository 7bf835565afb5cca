package acp

import (
	"context"
	"errors"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// errTurn is the cause with which requests of a cancelled turn are cancelled.
var errTurn = errors.New("the client cancelled the session's turn")

// turns are the turns that a request of a session belongs to: its own, and those of its
// parent sessions. If one is cancelled, so is the request.
type turns []context.Context

// turnsOf returns the turns of a session, declared or not. It must only be called from a
// method.
func (c *connState) turnsOf(id string, declared *decisions.Session) turns {
	list := turns{c.session(id).turn}
	if declared != nil {
		for _, above := range declared.Ancestors {
			list = append(list, c.session(above).turn)
		}
	}
	return list
}

// cancelled reports whether one of them was cancelled.
func (t turns) cancelled() bool {
	return slices.ContainsFunc(t, func(turn context.Context) bool { return turn.Err() != nil })
}

// with returns a context that ends with the turns as well.
func (t turns) with(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var stops []func() bool
	for _, turn := range t {
		if turn.Err() != nil {
			cancel(errTurn) // at once, not on another goroutine
		}
		stops = append(stops, context.AfterFunc(turn, func() { cancel(errTurn) }))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}

// InTurn makes requests of another protocol part of the session's turn: one that
// names a session whose turn the client has cancelled on the same connection is
// answered so, and never allowed.
func InTurn(sessions *decisions.Sessions, method socket.Method) socket.Method {
	return func(c *socket.Conn, params strictjson.Value) (run, error) {
		r, err := method(c, params)
		if err != nil || r == nil {
			return r, err
		}
		id, _ := strictjson.ParseString(strictjson.Find(params, "sessionId"))
		declared := sessions.Get(c.Owner(), id)
		if id == "" || declared == nil {
			return r, nil
		}
		in, own, request := stateOf(c).turnsOf(id, declared), native.StateOf(c), native.RequestKey(c.RequestID())
		return func(ctx context.Context) (any, error) {
			ctx, done := in.with(ctx)
			defer done()
			result, err := r(ctx)
			if in.cancelled() {
				// Only its own: the session may have questions of its next turn by now.
				if own.Questions.RemoveRequest(request); request == "" {
					own.Questions.RemoveSession(id)
				}
				return nil, &socket.Error{Code: socket.CodeCancelled, Message: errTurn.Error()}
			}
			return result, err
		}, nil
	}
}
