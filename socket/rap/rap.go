// Package rap implements the part of the Reactive Agent Protocol that concerns
// permission: an invocation is decided before it is sent, or on the tool server
// before it runs, and a question of permd's is expressed as a user_choice.
//
// It sends and receives no messages of the protocol itself, and answers no
// user_choice of a tool server, which is for the person alone. Of what the protocol wants
// kept secret, the addresses for callbacks and answers, it keeps the callback's host.
package rap

import (
	"context"

	"github.com/permd/permd/internal/toolschema"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// The names of the methods.
const (
	MethodInvoke      = "rap/invoke"
	MethodChoice      = "rap/choice"
	MethodCloseThread = "rap/close_thread"
	MethodCancel      = "rap/cancel"
	MethodEnded       = "rap/ended"
)

// Protocol is the name of the protocol in decisions.
const Protocol = "rap"

// Bounds of an invocation, and of what is kept for one connection. When a bound of the
// latter is exceeded, the oldest entry is dropped.
const (
	maxAncestors    = 64   // threads above a thread
	maxTools        = 1024 // of a toolset
	maxThreads      = 4096
	maxCalls        = 1024             // ids of calls, and calls that are decided or wait for the person
	maxAllAncestors = 4 * maxAncestors // threads above one that several invocations placed differently
	maxCallback     = 2 << 10          // bytes of a callback address
)

// Register adds the methods.
func Register(methods socket.Methods, deps native.Deps) {
	h := &handler{Deps: deps}
	methods[MethodInvoke] = h.invoke
	methods[MethodChoice] = h.choice
	methods[MethodCloseThread] = h.closeThread
	methods[MethodCancel] = h.cancel
	methods[MethodEnded] = h.ended
}

type handler struct {
	native.Deps
	schemas toolschema.Cache
}

// run is the second phase of a method: the part that takes time.
type run = func(ctx context.Context) (any, error)

// immediate returns a second phase that only returns the result.
func immediate(result any) run {
	return func(context.Context) (any, error) { return result, nil }
}
