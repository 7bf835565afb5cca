package acp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

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

// turnsOf appends the turns of a session, declared or not. It must only be called from a
// method.
func (c *connState) turnsOf(list turns, id string, declared *decisions.Session) turns {
	list = append(list, c.session(id).turn)
	if declared != nil {
		for _, above := range declared.Ancestors {
			list = append(list, c.session(above).turn)
		}
	}
	return list
}

// cancelled reports whether one of them was cancelled.
func (t turns) cancelled() bool {
	for _, turn := range t {
		if turn.Err() != nil {
			return true
		}
	}
	return false
}

// with returns a context that ends with the turns as well. It must be ended.
func (t turns) with(ctx context.Context) *turnContext { return &turnContext{Context: ctx, turns: t} }

// turnContext is a context that ends with turns. Most decisions only ask whether it has
// ended. So the context that one can wait for, which costs more than all else that the
// protocol needs, is made when somebody waits, or asks why it has ended.
type turnContext struct {
	context.Context // of the request
	turns           turns

	made atomic.Pointer[madeContext]

	mu    sync.Mutex // held to make it
	ended bool
}

// madeContext is a context that ends with turns at once.
type madeContext struct {
	context.Context
	cancel  context.CancelCauseFunc
	release []func() bool
}

// Err implements [context.Context].
func (c *turnContext) Err() error {
	if m := c.made.Load(); m != nil {
		return m.Err()
	}
	if c.turns.cancelled() {
		return c.make().Err()
	}
	return c.Context.Err()
}

// Done implements [context.Context].
func (c *turnContext) Done() <-chan struct{} { return c.make().Done() }

// Value implements [context.Context]. Package context looks for the cause by a value, too.
func (c *turnContext) Value(key any) any {
	if m := c.made.Load(); m != nil {
		return m.Value(key)
	}
	return c.Context.Value(key)
}

// make returns the context that one can wait for.
func (c *turnContext) make() *madeContext {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.made.Load(); m != nil {
		return m
	}
	m := new(madeContext)
	m.Context, m.cancel = context.WithCancelCause(c.Context)
	for _, turn := range c.turns {
		if turn.Err() != nil {
			m.cancel(errTurn) // at once, not on another goroutine
		}
		if !c.ended {
			m.release = append(m.release, context.AfterFunc(turn, func() { m.cancel(errTurn) }))
		}
	}
	if c.ended {
		m.cancel(nil)
	}
	c.made.Store(m)
	return m
}

// end releases what waits for the turns. The context ends.
func (c *turnContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if m := c.made.Load(); m != nil {
		for _, release := range m.release {
			release()
		}
		m.cancel(nil)
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
		in, own, request := stateOf(c).turnsOf(nil, id, declared), native.StateOf(c), native.RequestKey(c.RequestID())
		return func(ctx context.Context) (any, error) {
			inTurn := in.with(ctx)
			defer inTurn.end()
			result, err := r(inTurn)
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
