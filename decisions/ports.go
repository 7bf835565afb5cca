package decisions

import (
	"context"
	"errors"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
)

// Policy gives the rules that hold at one moment.
type Policy interface {
	// Snapshot returns the immutable rules that hold for calls of a person in
	// the project with the given root ("" if none). It never blocks and never
	// reads files; an error (a project layer that is not loaded yet) means that
	// a person must answer.
	Snapshot(uid uint32, project string) (Snapshot, error)
}

// Snapshot is one immutable set of rules. All calls of a request are decided
// with one snapshot.
type Snapshot interface {
	// Digest identifies the rules, the program table and the settings.
	Digest() string
	// Table and Profiles are what effects are made with.
	Table() *programs.Table
	Profiles() *tools.Profiles
	// OnFailure is the verdict of a call that could not be evaluated: Ask, or
	// Deny where org's settings say so.
	OnFailure() Verdict
	// Trusted reports whether the project's allows count.
	Trusted() bool
	// Evaluate returns what the rules of all layers say about one effect. An error
	// means that nothing is known of any layer.
	Evaluate(ctx context.Context, in *Input) (Findings, error)
}

// Input is all that a rule can see, as typed facts. It is the same for each
// effect of a call but for Effect.
type Input struct {
	Effect  *effects.Effect
	All     []effects.Effect // of the call, Effect included; Via points into it
	Call    *effects.Call
	Result  *effects.Result
	Session SessionRef
	Trusted bool // the project is trusted
	// OnlyDeny says that nothing but denies counts: the other rules that fire may
	// be left out.
	OnlyDeny bool
	Now      time.Time
	// Scratch is the policy's own, kept from one effect of the call to the next.
	Scratch any
}

// Set is one of the three sets that rules add to.
type Set string

// The sets.
const (
	SetAllow Set = "allow"
	SetDeny  Set = "deny"
	SetAsk   Set = "ask"
)

// Finding is one rule that fired.
type Finding struct {
	Rule    RuleRef
	Set     Set
	Reason  string
	Message string
	// Remember is what an ask says about remembered allows: nil if nothing.
	Remember *bool
	// Covers are the guarded tags, and Unknown, that an allow is about.
	Covers        effects.Tags
	CoversUnknown bool
}

// Findings are the rules that fired for one effect, in the order of layers.
type Findings struct {
	Fired []Finding
	// OnlyOrg is set when allows of user and project do not count.
	OnlyOrg bool
}

// Memory answers from what people decided before.
type Memory interface {
	// Match returns the choices that fit an effect: the strictest reject and
	// the narrowest allow, either nil. It never blocks and touches no disk. An
	// error means that allows are off; a reject may still be returned.
	Match(q *MemoryQuery) (reject, allow *Choice, err error)
}

// MemoryQuery is one effect with all that a choice may be bound to.
type MemoryQuery struct {
	UID     uint32
	Session SessionRef
	Project string // root of the call's project, "" if none
	// ProjectKey is what a choice for the project is bound to (see
	// paths.ProjectKey); Project if empty.
	ProjectKey string
	Effect     *effects.Effect
	All        []effects.Effect
	// Call is the call itself, nil when it is not known. Only its own text is
	// looked at, by rejects of what is not understood.
	Call *effects.Call
	// Target is the text in the project's files that a run of make, npm and
	// their like executes; nil for other effects, or when it is not known.
	Target *effects.Script
	Now    time.Time
}

// Key returns what a choice for the query's project is bound to.
func (q *MemoryQuery) Key() string {
	if q.ProjectKey != "" {
		return q.ProjectKey
	}
	return q.Project
}

// Proposer says how an answer of the person could be remembered.
type Proposer interface {
	// Propose returns the ways to remember an allow of an effect, the narrowest
	// first and each wider than the one before; none when such an effect is
	// not remembered. Every one of them matches the effect.
	Propose(q *MemoryQuery) []Proposal
	// Rejectable reports whether a reject of the call could be remembered.
	Rejectable(r *Rejection) bool
}

// Proposal is one way to remember an allow of an effect.
type Proposal struct {
	// Level says how wide it is, 0 for the very effect.
	Level int
	// Rule is the rule line with its kind, secrets masked.
	Rule string
	// Choice is what Match would return, once it holds.
	Choice Choice
}

// Keeper stores what people choose.
type Keeper interface {
	// Keep stores the choices that an answer asks for, all of them or none.
	Keep(ctx context.Context, a Answer) ([]StoredChoice, error)
	// Drop revokes choices that Keep stored.
	Drop(ctx context.Context, ids ...string) error
	// EndSession and EndConnection revoke what holds for a session only.
	EndSession(ctx context.Context, o Owner, id string) error
	EndConnection(ctx context.Context, o Owner) error
}

// Answer is what a person said about a question, to be remembered.
type Answer struct {
	DecisionID string
	Verdict    Verdict // Allow or Deny
	Offer      *Offer
	Width      string // the id of one that was offered; for Allow only
	Scope      string // a scope's word, "" for the default
	For        time.Duration
}

// StoredChoice is a choice that was stored, in the form of the wire.
type StoredChoice struct {
	ID      string    `json:"choiceId"`
	Verdict Verdict   `json:"verdict"`
	Label   string    `json:"label"` // the rule line
	Scope   string    `json:"scope"`
	Expires time.Time `json:"expires,omitzero"`
	// Unconfirmed is set when the choice counts only once a person has
	// confirmed it over the management socket.
	Unconfirmed bool `json:"unconfirmed,omitzero"`
}

// ErrNotKept means that an answer cannot be remembered as it was asked; the
// text says why and may be shown.
var ErrNotKept = errors.New("cannot be remembered")

// Rejection is what a reject of a call is about.
type Rejection struct {
	// Query is the call, without an effect.
	Query MemoryQuery
	// Asked are the indexes, in Query.All, of the effects that a person was
	// asked about for themselves: what was allowed is not rejected with them.
	// There are none when the call was asked about for another reason.
	Asked []int
}

// Choice is a remembered answer, as a decision needs it.
type Choice struct {
	ID string
	// Exact is set when the choice names the effect's exact path or host: only
	// then does it answer guarded tags.
	Exact bool
	Label string // the rule line, as a person reads it
	// Unsure is set for a reject of an earlier permd that could not be carried
	// over whole and that nobody has looked at since: it asks.
	Unsure bool
}

// Source is the text of the call that the effect was read from, "" when the
// call is not known.
func (q *MemoryQuery) Source() string {
	if q.Call == nil {
		return ""
	}
	return source(q.Call, q.Effect.From)
}

// Journal keeps decisions.
type Journal interface {
	// Append stores the records and returns when they are durable. On an error
	// no allow may leave.
	Append(ctx context.Context, recs ...*Record) error
}
