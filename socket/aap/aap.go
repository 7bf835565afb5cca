// Package aap speaks the Agent Application Protocol, version 3, in which a
// server's turn stops with all calls that wait and goes on with one request
// that answers them all. It reads a stopped turn into calls, and makes the
// messages of that request out of decisions.
//
// It decides nothing but what the protocol itself forbids: ids and names that
// could be taken for two things. It posts nothing, and of messages it reads
// only who called what, so that neither secrets nor the contents of files come
// further than here.
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
)

// version is the version of the protocol that is read.
const version = 3

// Bounds of one batch. Over them there is no decision.
const (
	maxCalls  = 256      // that wait
	maxItems  = 16 << 10 // calls and results of a turn with its history
	maxTools  = 1024     // of each side
	maxReason = 4 << 10  // bytes of a reason, for the model
)

// Register adds the methods.
func Register(methods socket.Methods, deps native.Deps) {
	h := &handler{deps}
	methods[MethodPermissions] = h.permissions
	methods[MethodAnswer] = h.answer
}

type handler struct{ native.Deps }

// run is what a method returns for the part that takes time.
type run = func(ctx context.Context) (any, error)
