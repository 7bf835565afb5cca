// Package native is permd's own protocol: permd/session and permd/close say
// what a session is, permd/decide asks about calls of any tool, permd/choose
// brings the person's answer to a question that permd left to them.
//
// It is also where questions wait for that answer, whatever protocol asked
// them (see Asks). It decides nothing itself, and what is to be remembered it
// hands to a Keeper.
package native

import (
	"context"
	"errors"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
)

// The names of the methods.
const (
	MethodSession = "permd/session"
	MethodClose   = "permd/close"
	MethodDecide  = "permd/decide"
	MethodChoose  = "permd/choose"
)

// Decider decides calls; decisions.Engine is one.
type Decider interface {
	// Decide returns a decision for each request, in order.
	Decide(ctx context.Context, reqs ...*decisions.Request) []*decisions.Decision
}

// Deps are what the methods work with. Only Sessions, Decider and
// Users are needed.
type Deps struct {
	Sessions *decisions.Sessions
	Decider  Decider
	// Users returns the person with that uid, from facts of the system.
	Users func(uid uint32) effects.User
	// LiveShell reports whether the shell of that agent stays alive between
	// calls; nil for none.
	LiveShell func(agent effects.Party) bool
	// Prepare loads what calls of a person in a project will need, such as the
	// project's rules. It may take time: permd/session is answered when it has
	// returned, and calls that come earlier are left to the person.
	Prepare func(ctx context.Context, uid uint32, project string)
	// Rules returns the digest of the rules that a call of that person in that
	// folder would be decided by now, "" when there are none yet; nil where rules
	// never change.
	Rules func(uid uint32, cwd string) string
	// Holds reports whether the call that a question is about would still do what
	// the person was asked; nil where that cannot change.
	Holds func(ctx context.Context, req *decisions.Request, asked *decisions.Decision) bool
	// Keeper stores what people choose; nil when nothing is remembered.
	Keeper decisions.Keeper
	// Lasting are the sessions that outlive their connections; nil where there are
	// none.
	Lasting *Lasting
	// Answered notes what the person answered to the decision; nil for nothing.
	Answered func(ctx context.Context, decisionID string, v decisions.Verdict, kept []decisions.StoredChoice)
	// Version is what this permd calls its version, for clients to show.
	Version string
}

// Register adds permd's own methods.
func Register(methods socket.Methods, deps Deps) {
	h := &handler{Deps: deps, methods: methods}
	methods[MethodSession] = h.session
	methods[MethodClose] = h.close
	methods[MethodDecide] = h.decide
	methods[MethodChoose] = h.choose
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

// errDecider is what a client gets when the decider broke its promise; it is
// no answer, so the client asks its person.
var errDecider = errors.New("deciding: no decision for a call")
