package admin

import (
	"context"
	"errors"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// The methods that set permd's questions aside for a time, or have it ask about everything.
const (
	MethodPause  = "permd/pause"
	MethodResume = "permd/resume"
	MethodLock   = "permd/lock"
	MethodUnlock = "permd/unlock"
)

// NewPause is a pause that a person begins.
type NewPause struct {
	Seconds int64                `json:"seconds"`
	Dir     string               `json:"dir,omitzero"`  // a folder of the only project that it is for
	Only    []decisions.Activity `json:"only,omitzero"` // the only kinds of work
	Unknown bool                 `json:"unknown,omitzero"`
	Why     string               `json:"why,omitzero"`
}

// Pause is a pause or a lock that is in force.
type Pause struct {
	UID    uint32    `json:"uid"`
	Locked bool      `json:"locked"` // else it is a pause
	Since  time.Time `json:"since"`
	// Until is when a pause ends at the latest, Seconds how much of it is left.
	Until   time.Time            `json:"until,omitzero"`
	Seconds int64                `json:"seconds,omitzero"`
	Project string               `json:"project,omitzero"`
	Only    []decisions.Activity `json:"only,omitzero"`
	Unknown bool                 `json:"unknown,omitzero"`
	Why     string               `json:"why,omitzero"`
	// Unstored says why it would be gone when permd is started again, "" if it would not.
	Unstored string `json:"unstored,omitzero"`
	// NotLogged is set if a lock has taken back an answer that the journal still has as a yes.
	NotLogged bool `json:"notLogged,omitzero"`
}

// Ended is the result of permd/resume and permd/unlock.
type Ended struct {
	Ended bool `json:"ended"` // false if there was nothing to end
	// Unstored says why what has ended would be back when permd is started again, "" if it
	// would not.
	Unstored string `json:"unstored,omitzero"`
}

// Refusal is the error for a pause or lock that cannot begin or end. It is shown to the
// person.
type Refusal string

// Error says why.
func (r Refusal) Error() string { return string(r) }

// Pauses keeps what people have set for all of their calls.
type Pauses interface {
	Pause(ctx context.Context, peer decisions.Peer, n NewPause) (Pause, error)
	Resume(ctx context.Context, peer decisions.Peer) (Ended, error)
	Lock(ctx context.Context, peer decisions.Peer, why string) (Pause, error)
	Unlock(ctx context.Context, peer decisions.Peer) (Ended, error)
}

// registerPauses adds the methods about pauses and locks.
func registerPauses(m socket.Methods, p Pauses) {
	m[MethodPause] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var n NewPause
		if err := decode(params, &n); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return refused(p.Pause(ctx, c.Peer, n)) }, nil
	}
	m[MethodLock] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var n struct {
			Why string `json:"why,omitzero"`
		}
		if err := decode(params, &n); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return refused(p.Lock(ctx, c.Peer, n.Why)) }, nil
	}
	ending := func(end func(context.Context, decisions.Peer) (Ended, error)) socket.Method {
		return func(c *socket.Conn, params strictjson.Value) (run, error) {
			if err := decode(params, &struct{}{}); err != nil {
				return nil, err
			}
			return func(ctx context.Context) (any, error) { return refused(end(ctx, c.Peer)) }, nil
		}
	}
	m[MethodResume], m[MethodUnlock] = ending(p.Resume), ending(p.Unlock)
}

// refused turns an error into one that may be shown to the person.
func refused[T any](result T, err error) (any, error) {
	if why, ok := errors.AsType[Refusal](err); ok {
		return nil, &socket.Error{Code: socket.CodeParams, Message: why.Error()}
	}
	if err != nil {
		return nil, &socket.Error{Code: socket.CodeInternal, Message: err.Error()}
	}
	return result, nil
}
