// Package native implements permd's own protocol: permd/session and permd/close
// declare and end sessions, permd/decide asks about calls of any tool,
// permd/choose reports the person's answer to a question that permd left to
// them, permd/wait waits for one that is given elsewhere, permd/finished reports
// that the call of a question has run, permd/denied says which tools no call
// is allowed of.
//
// Questions of all protocols wait here for that answer (see PendingQuestions).
// The package decides nothing itself, and passes what is to be remembered to a
// Keeper.
package native

import (
	"context"

	"github.com/permd/permd/socket"
)

// The names of the methods.
const (
	MethodSession = "permd/session"
	MethodClose   = "permd/close"
	MethodDecide  = "permd/decide"
	MethodChoose  = "permd/choose"
	// methodFinished reports what became of a harness's questions.
	methodFinished = "permd/finished"
)

// Register adds permd's own methods.
func Register(methods socket.Methods, deps Deps) {
	h := &handler{Deps: deps, methods: methods}
	methods[MethodSession] = h.session
	methods[MethodClose] = h.close
	methods[MethodDecide] = h.decide
	methods[MethodChoose] = h.choose
	methods[methodFinished] = h.finished
	methods[MethodWait] = h.wait
	methods[methodDenied] = h.denied
}

type handler struct {
	Deps
	methods socket.Methods // all that the socket serves
}

// run is what a method returns for the part that takes time.
type run = func(ctx context.Context) (any, error)

// answer is a run that has nothing left to do.
func answer(result any) run {
	return func(context.Context) (any, error) { return result, nil }
}

// tooMany is the error for a connection that is over a limit.
func tooMany(err error) *socket.Error {
	return &socket.Error{Code: socket.CodeBusy, Message: err.Error()}
}
