package native

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects"
)

// Decider decides calls; decisions.Engine is one. A yes to a question counts after the rules have
// changed only if it is a Reconsiderer, too.
type Decider interface {
	// Decide returns a decision for each request, in order.
	Decide(ctx context.Context, reqs ...*decisions.Request) []*decisions.Decision
	// StillHolds reports whether deciding again would give the earlier decision once
	// more.
	StillHolds(ctx context.Context, req *decisions.Request, earlier *decisions.Decision) bool
	// Holds reports whether the call of the request would still do what the
	// person was asked about.
	Holds(ctx context.Context, req *decisions.Request, asked *decisions.Decision) error
}

// Deps are what the methods of all protocols work with. Sessions, Decider and
// Users are required. Everything else may be left out; the comment of a member
// says what happens without it.
type Deps struct {
	// Sessions are those that permd/session declares. A session that nobody
	// declared has no folder and no agent's name.
	Sessions *decisions.Sessions
	Decider  Decider
	// Users returns the person with that uid, from facts of the system.
	Users func(uid uint32) effects.User
	// LiveShell reports whether the shell of that agent (of that client, in AAP)
	// stays alive between calls. Nil means that no shell does.
	LiveShell func(agent effects.Party) bool
	// Declarable returns an error if the client of that agent may not declare what its
	// tools' inputs mean, or not so. Its text is shown and logged: it must repeat nothing of
	// the message. Nil means that no client may.
	Declarable func(uid uint32, agent effects.Party, tools []effects.DeclaredTool) error
	// Now is the time. Nil means time.Now.
	Now func() time.Time

	// Prepare loads what calls of a person in a project will need, such as the
	// project's rules. It may take time: permd/session is answered when it has
	// returned, and calls that arrive earlier are left to the person.
	Prepare func(ctx context.Context, uid uint32, project string)
	// Rules returns the digest of the rules that decide a call of that person in
	// that folder now, "" when none are loaded yet. Nil means that rules never
	// change.
	Rules func(uid uint32, cwd string) string
	// Changes notifies clients of what has changed. Nil means that none is notified.
	Changes *Changes
	// Keeper stores what people choose. Nil means that nothing is remembered.
	Keeper decisions.Keeper
	// Persistent are the sessions that outlive their connections. Nil means that
	// there are none.
	Persistent *PersistentSessions
	// Waiting are the questions that a person answers elsewhere. Nil means that they cannot.
	Waiting *WaitingQuestions
	// RecordAnswer records the person's answer to a decision, and who gave it. After an error the
	// answer does not count. Nil means that answers are not recorded.
	RecordAnswer func(ctx context.Context, decisionID string, v decisions.Verdict, by author.Identity, kept []decisions.StoredChoice) error

	// RecordRun records that the call of a question was reported to have run, which is no
	// answer. Nil means that this is not recorded.
	RecordRun func(ctx context.Context, decisionID string)

	// NeverAllowed reports, for each request, whether its tool is denied whatever the input
	// is; see decisions.Engine. Nil means that this is not known of any tool.
	NeverAllowed func(ctx context.Context, reqs ...*decisions.Request) []bool

	// RecordEnd records how the call of a decision ended, as was reported. An error means
	// that the journal does not say so. Nil means that this is not recorded.
	RecordEnd func(ctx context.Context, decisionID, as string) error

	// Version is what this permd calls its version, for clients to show.
	Version string

	// PlainOption returns the id of the option that allows just this call, for
	// ACP agents that offer several of kind allow_once, "" if none is known. Nil
	// means that none is known of any agent.
	PlainOption func(agent effects.Party) string
	// HarmlessEnv reports whether an environment variable changes nothing but how
	// output looks, where an ACP agent has its client create a terminal. Nil means
	// that no variable is harmless.
	HarmlessEnv func(name, value string) bool
	// AskGates reports whether the person is asked about what an ACP client does
	// for its agent and nobody has allowed. Nil means no.
	AskGates func() bool
	// Ran is called with each call that an ACP agent ran without permission.
	// May be nil.
	Ran func(agent effects.Party, d *decisions.Decision)

	// NewID returns a new id for a batch of AAP, never the same twice: a batch
	// must not be mistaken for one of another connection. AAP requires it.
	NewID func() string
}

// ErrNoDecision means that the Decider did not return one decision for each
// request. It is no answer, so the client asks its person.
var ErrNoDecision = errors.New("deciding: no decision for a call")

// Decide has the requests decided. It returns one decision for each, in order,
// or ErrNoDecision.
func (d *Deps) Decide(ctx context.Context, reqs ...*decisions.Request) ([]*decisions.Decision, error) {
	decided := d.Decider.Decide(ctx, reqs...)
	if len(decided) != len(reqs) || slices.Contains(decided, nil) {
		return nil, ErrNoDecision
	}
	return decided, nil
}

// DecideOne has one request decided.
func (d *Deps) DecideOne(ctx context.Context, req *decisions.Request) (*decisions.Decision, error) {
	decided, err := d.Decide(ctx, req)
	if err != nil {
		return nil, err
	}
	return decided[0], nil
}

// Time returns the time.
func (d *Deps) Time() time.Time {
	if d.Now == nil {
		return time.Now()
	}
	return d.Now()
}

// ShellStaysAlive reports whether the shell of that agent stays alive between calls.
func (d *Deps) ShellStaysAlive(agent effects.Party) bool {
	return d.LiveShell != nil && d.LiveShell(agent)
}
