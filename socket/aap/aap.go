// Package aap implements the Agent Application Protocol, version 3, in which a
// server's turn stops with all waiting calls and continues with one request
// that answers them all. It reads a stopped turn into calls, and turns
// decisions into the messages of that request.
//
// It decides nothing except what the protocol itself forbids: ids and names
// that are ambiguous. It posts nothing, and reads from messages only who called
// what, so that it never handles secrets or the contents of files.
package aap

import (
	"context"

	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// The names of the methods.
const (
	MethodPermissions = "aap/permissions"
	MethodAnswer      = "aap/answer"
	MethodRan         = "aap/ran"
)

// version is the supported version of the protocol.
const version = 3

// Bounds of one batch. Above them there is no decision.
const (
	maxCalls  = 256      // waiting calls
	maxItems  = 16 << 10 // calls and results of a turn with its history
	maxTools  = 1024     // of each side
	maxReason = 4 << 10  // bytes of a reason, for the model
)

// Register adds the methods.
func Register(methods socket.Methods, deps native.Deps) {
	h := &handler{deps}
	methods[MethodPermissions] = h.permissions
	methods[MethodAnswer] = h.answer
	methods[MethodRan] = h.ran
}

type handler struct{ native.Deps }

// run is the second phase of a method, which may take time.
type run = func(ctx context.Context) (any, error)
