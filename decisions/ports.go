package decisions

import (
	"context"
	"errors"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
)

// Policy provides the current rules.
type Policy interface {
	// Snapshot returns the immutable set of rules for calls of a user in the project
	// with the given root ("" if none). It never blocks and never reads files. On an
	// error (a project layer that is not loaded yet) a person must answer.
	Snapshot(uid uint32, project string) (Snapshot, error)
}

// Snapshot is one immutable set of rules. All calls of a request are decided
// with one snapshot.
type Snapshot interface {
	// Digest identifies the rules, the program table and the settings.
	Digest() string
	// Table and Profiles are what effects are derived with.
	Table() *programs.Table
	Profiles() *tools.Profiles
	// OnFailure is the verdict for a call that could not be evaluated: Ask, or Deny
	// if org's settings say so.
	OnFailure() Verdict
	// Trusted reports whether the project's allows count.
	Trusted() bool
	// Evaluate returns the rules of all layers that match one effect. After an error
	// nothing is known about any layer.
	Evaluate(ctx context.Context, in *Input) (Findings, error)
}

// Input is everything that a rule can see, as typed facts. Only Effect differs
// between the effects of a call.
type Input struct {
	Effect  *effects.Effect
	All     []effects.Effect // of the call, Effect included; Via points into it
	Call    *effects.Call
	Result  *effects.Result
	Session SessionRef
	Trusted bool // the project is trusted
	// OnlyDeny says that only denies count, so other rules may be left out.
	OnlyDeny bool
	Now      time.Time
	Recent   int // see Request.Recent
	// Scratch is for the policy's use. It is kept between the effects of a call.
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
	// General is set if the reason would do for any call that the rule fires for, so that
	// what the program table says of the run tells more.
	General bool
	// Listed is set if the rule is an entry of a list, so that it depends on nothing but what
	// the entry names.
	Listed bool
	// Remember is what an ask says about remembered allows: nil if nothing.
	Remember *bool
	// Covers are the guarded tags that an allow is about. CoversUnknown is set if it is about
	// what was not understood, CoversOnlyNamed if about calls of which one agent has said
	// their kind alone.
	Covers                         effects.Tags
	CoversUnknown, CoversOnlyNamed bool
}

// Findings are the rules that fired for one effect, in the order of layers.
type Findings struct {
	Fired []Finding
	// OnlyOrg is set when allows of user and project do not count.
	OnlyOrg bool
}

// Memory answers from earlier decisions of people.
type Memory interface {
	// Match returns the choices that match an effect: the strictest reject and the
	// narrowest allow, nil if there is none. It never waits for the disk. On an error
	// allows are off, but a reject may still be returned.
	Match(q *MemoryQuery) (reject, allow *Choice, err error)
}

// MemoryQuery is one effect with everything that a choice may depend on.
type MemoryQuery struct {
	UID     uint32
	Session SessionRef
	Project string // root of the call's project, "" if none
	// ProjectKey is what a choice for the project is bound to (see
	// paths.ProjectKey); Project if empty.
	ProjectKey string
	Effect     *effects.Effect
	All        []effects.Effect
	// Call is the call itself, nil if it is not known. Only rejects of calls that
	// were not understood use it, for the call's text.
	Call *effects.Call
	// Target is the text in the project's files that a run of make, npm and the like
	// executes; nil for other effects, or if it is not known.
	Target *effects.Script
	Now    time.Time
	// Trees returns the working trees of repositories, other than main ones, that a path
	// lies in. If nil, none is known.
	Trees func(path string) []WorkingTree
}

// WorkingTree is a working tree of a repository, with the key of its project in memory.
type WorkingTree struct {
	Root, Key string
}

// Key returns the key of the query's project in memory.
func (q *MemoryQuery) Key() string {
	if q.ProjectKey != "" {
		return q.ProjectKey
	}
	return q.Project
}

// Proposer proposes how an answer could be remembered.
type Proposer interface {
	// Propose returns the choices that could be stored for an allow of an effect,
	// each wider than the one before; none if such an effect is not remembered. Each
	// of them matches the effect.
	Propose(q *MemoryQuery) []Proposal
	// Rejectable reports whether a reject of the call could be remembered.
	Rejectable(r *Rejection) bool
}

// Refuser is implemented by proposers that say why there is no proposal.
type Refuser interface {
	// WhyNot returns why no allow of an effect can be stored, nil if one can.
	WhyNot(q *MemoryQuery) error
}

// Proposal is a choice that could be stored for an allow of an effect.
type Proposal struct {
	// Level is the width: 0 matches only this effect.
	Level int
	// Rule is the rule line with its kind, secrets masked.
	Rule string
	// Label says in words what a choice wider than this effect covers, "" if the rule has
	// to do.
	Label string
	// Choice is what Match would return once it is stored.
	Choice Choice
}

// Keeper stores what people choose.
type Keeper interface {
	// Keep stores the choices that an answer asks for: all of them, or none.
	Keep(ctx context.Context, a Answer) ([]StoredChoice, error)
	// Drop revokes choices that Keep stored.
	Drop(ctx context.Context, ids ...string) error
	// EndSession and EndConnection revoke the choices of sessions. They match nothing
	// from then on, also if a session with the same id is declared again. Neither waits
	// for the disk: they are called on goroutines that read messages.
	EndSession(o Owner, id string)
	EndConnection(o Owner)
}

// Answer is a person's answer to a question, to be remembered.
type Answer struct {
	DecisionID string
	Verdict    Verdict // Allow or Deny
	Offer      *Offer
	Width      string // the id of an offered width, or of one of the reject widths of the question
	Scope      string // a scope, "" for the default
	For        time.Duration
}

// StoredChoice is a stored choice, in the form of the protocol.
type StoredChoice struct {
	ID      string    `json:"choiceId"`
	Verdict Verdict   `json:"verdict"`
	Label   string    `json:"label"` // the rule line
	Scope   string    `json:"scope"`
	Expires time.Time `json:"expires,omitzero"`
	// Unconfirmed is set if the choice takes effect only after a person has confirmed
	// it over the management socket.
	Unconfirmed bool `json:"unconfirmed,omitzero"`
	// Earlier is set if it is a choice that was in force before the answer, which says the
	// same. It is not the answer's own, so it stays if the answer does not count.
	Earlier bool `json:"-"`
}

// StoredNow returns the ids of the choices that an answer has stored itself: those to
// revoke if it does not count.
func StoredNow(kept []StoredChoice) (ids []string) {
	for i := range kept {
		if !kept[i].Earlier {
			ids = append(ids, kept[i].ID)
		}
	}
	return ids
}

// ErrNotKept means that an answer cannot be remembered as requested. Its text says
// why and may be shown.
var ErrNotKept = errors.New("cannot be remembered")

// Rejection describes a reject of a call.
type Rejection struct {
	// Query is the call, without an effect.
	Query MemoryQuery
	// Asked are the indexes, in Query.All, of the effects that were asked about.
	// Effects that were allowed are not rejected with them. If the call was asked about
	// for another reason, they are what it does (see rejected); it is empty if nothing
	// of that can be named.
	Asked []int
}

// Choice is a remembered answer, as far as a decision needs it.
type Choice struct {
	ID string
	// Exact is set if the choice names the exact path or host of the effect. Only
	// then does it apply to guarded tags.
	Exact bool
	Label string // the rule line, for display
	// Unsure is set for a reject of an earlier version of permd that could not be
	// migrated completely and that nobody has confirmed since: it asks.
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

// ErrLogShare is returned by a journal that several people share, to one who has written as
// much as one may.
var ErrLogShare = errors.New("your share of the log is used up")

// PromptJournal is implemented by journals that know whether Append will return sooner
// than others could use the processor meanwhile. A wrong guess delays others, nothing more.
type PromptJournal interface{ Prompt() bool }
