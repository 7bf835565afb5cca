// Package otc speaks Open Tool Calling (draft 1.0), also named Open eXecution
// Protocol: it reads the call that a runtime is about to send to a tool server,
// and renders decisions as that server's errors and as the runtime's results.
//
// It sends nothing and runs nothing. Of the credentials that a call carries it
// reads the names alone: tokens and the values of secrets are dropped here, so
// that they reach no rule, log or memory. What a tool's definition says may make
// an answer stricter, never milder.
package otc

import (
	"context"
	"errors"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
)

// MethodCall is the name of the method.
const MethodCall = "otc/call"

// Protocol is the name of the protocol in decisions.
const Protocol = "otc"

// Bounds of a call. Over them there is no decision.
const (
	MaxCredentials = 64      // secrets, authorizations, and scopes of one of these
	maxApproval    = 2 << 10 // bytes of an address
)

// Decider decides calls; decisions.Engine is one.
type Decider interface {
	// Decide returns a decision for each request, in order.
	Decide(ctx context.Context, reqs ...*decisions.Request) []*decisions.Decision
	// StillHolds reports whether deciding anew would say the same as the earlier
	// decision.
	StillHolds(ctx context.Context, req *decisions.Request, earlier *decisions.Decision) bool
}

// Deps are what the method works with. All are needed.
type Deps struct {
	Sessions *decisions.Sessions
	Decider  Decider
	// Users returns the person with that uid, from facts of the system.
	Users func(uid uint32) effects.User
}

// Register adds the method.
func Register(methods socket.Methods, deps Deps) {
	h := &handler{deps}
	methods[MethodCall] = h.call
}

type handler struct{ Deps }

// run is what a method returns for the part that takes time.
type run = func(ctx context.Context) (any, error)

// errDecider is what a client gets when the decider broke its promise; it is
// no answer, so the client asks its person.
var errDecider = errors.New("deciding: no decision for the call")
