// Package otc implements Open Tool Calling (draft 1.0), also named Open
// eXecution Protocol: it reads the call that a runtime is about to send to a
// tool server, and renders decisions as that server's errors and as the
// runtime's results.
//
// It sends nothing and runs nothing. Of the credentials in a call it reads only
// the names: tokens and the values of secrets are dropped here, so that they
// reach no rule, log or memory. A tool's definition may make an answer
// stricter, never milder.
package otc

import (
	"context"

	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// MethodCall is the name of the method.
const MethodCall = "otc/call"

// Protocol is the name of the protocol in decisions.
const Protocol = "otc"

// Bounds of a call. Over them there is no decision.
const (
	maxCredentials = 64      // secrets, authorizations, and scopes of one of these
	maxApproval    = 2 << 10 // bytes of an address
)

// Register adds the method.
func Register(methods socket.Methods, deps native.Deps) {
	h := &handler{deps}
	methods[MethodCall] = h.call
}

type handler struct{ native.Deps }

// run is what a method returns for the part that takes time.
type run = func(ctx context.Context) (any, error)
