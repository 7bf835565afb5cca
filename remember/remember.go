// Package remember stores the choices of people, each an allow or a reject
// within a scope. Lookups use an index in RAM, without locks and without the
// disk; the choices are stored in a SQLite database.
//
// A choice matches the exact facts of an effect, by a keyed hash of them so
// that secrets in arguments are never stored (digest.go), or a rule line of
// decisions/pattern together with pinned facts (lines.go).
//
// The package does not decide: the precedence table determines whether a choice
// counts. It knows no shells, interpreters or wrappers; Options.Allowable
// determines what must not be remembered.
package remember

import (
	"errors"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// ScopeKind says where a choice applies.
type ScopeKind string

// The scopes, from the narrowest to the widest.
const (
	ForSession  ScopeKind = "session"          // until it ends, or is idle for 12 hours; rejects hold below it as well
	ForChildren ScopeKind = "session+children" // the same, with the sessions below it
	ForProject  ScopeKind = "project"
	ForUser     ScopeKind = "user" // everywhere, for this person
)

// choiceIdle is how long an unused choice for a session lasts.
const choiceIdle = 12 * time.Hour

// rank orders scopes from the narrowest, 0 for an unknown one.
func (k ScopeKind) rank() int {
	switch k {
	case ForSession:
		return 1
	case ForChildren:
		return 2
	case ForProject:
		return 3
	case ForUser:
		return 4
	}
	return 0
}

func (k ScopeKind) ofSession() bool { return k == ForSession || k == ForChildren }

// Scope is where a choice applies.
type Scope struct {
	Kind ScopeKind `json:"kind"`
	// Key is the session's id or the project's root, "" for ForUser.
	Key string `json:"key,omitzero"`
	// Conn is the connection of the session, 0 for one that has none.
	Conn uint64 `json:"-"`
}

// Pins are the facts that a choice is bound to in addition to its rule line, for
// display. The hash of the facts covers all of them.
type Pins struct {
	Project   string `json:"project,omitzero"`   // root of the project of the run or the path
	Cwd       string `json:"cwd,omitzero"`       // the exact folder
	Stdin     string `json:"stdin,omitzero"`     // its source; a literal text is pinned too
	Script    string `json:"script,omitzero"`    // the script's path
	SHA256    string `json:"sha256,omitzero"`    // its content, hexadecimal
	Below     bool   `json:"below,omitzero"`     // with everything below the path
	Method    string `json:"method,omitzero"`    // of a connect
	Arguments bool   `json:"arguments,omitzero"` // a tool's exact arguments
	Given     string `json:"given,omitzero"`     // the credentials passed to a tool, described
	For       string `json:"for,omitzero"`       // the user that a tool acts for, as the caller claims
	// Destructive is set if the tool's server declared that it may destroy
	// something.
	Destructive bool `json:"destructive,omitzero"`
	Claimed     bool `json:"claimed,omitzero"` // the effect was known from the agent's words alone
	Guarded     bool `json:"guarded,omitzero"` // it covers guarded tags
	// Call is a keyed hash of all effects of the call that a reject of schema
	// version 1 is bound to.
	Call string `json:"call,omitzero"`
}

// Choice is one remembered answer.
type Choice struct {
	ID      string            `json:"id"`
	Verdict decisions.Verdict `json:"verdict"` // Allow or Deny
	Kind    effects.Kind      `json:"kind"`
	Label   string            `json:"label"` // the rule line, secrets masked
	// ByLine is set if the choice is matched by its rule line, not by the exact facts
	// of the effect that it came from.
	ByLine bool   `json:"byLine,omitzero"`
	Parts  []Part `json:"parts,omitzero"` // of a reject
	// Changed says why a choice of an earlier version of permd no longer applies as it
	// did. It is "" for all others, and once a person has confirmed it.
	Changed string `json:"changed,omitzero"`
	// BoundTo names the file, or the part of one, whose content an allow is bound to, and
	// BoundText is the text of that part when the choice was made, secrets masked; both are
	// "" for an allow that is bound to none, the second also for long parts and whole files.
	BoundTo   string `json:"boundTo,omitzero"`
	BoundText string `json:"boundText,omitzero"`
	Pins      Pins   `json:"pins"`
	Scope     Scope  `json:"scope"`
	UID       uint32 `json:"uid"`
	// DecisionID is the decision that the choice answered, as a client reported
	// it; "" for a choice made over the management socket.
	DecisionID string    `json:"decisionId,omitzero"`
	Created    time.Time `json:"created"`
	Expires    time.Time `json:"expires,omitzero"`   // zero: never
	Confirmed  time.Time `json:"confirmed,omitzero"` // over the management socket; zero: not
	// Matches counts how often the choice matched an effect of a call, also where a
	// rule decided it; LastMatched is the newest time. Exports call them "uses" and
	// "lastUsed", as the first version did.
	// Both are stored now and then (Flush), so a crash may lose some.
	Matches     int64     `json:"uses"`
	LastMatched time.Time `json:"lastUsed,omitzero"`
	// Earlier is set in the results of Add and Save if the choice was in force before.
	Earlier bool `json:"-"`
}

// Draft is a choice to save.
type Draft struct {
	Verdict decisions.Verdict // Allow or Deny
	// Query is the effect that the person allowed, as it was asked about.
	Query *decisions.MemoryQuery
	// rejects is what the person rejected; if nil, the effect of Query alone.
	rejects *decisions.Rejection
	Scope   ScopeKind
	// Level is the width, as in the Proposals for the query.
	Level      int
	DecisionID string
	Expires    time.Time // zero: never

	line *pattern.Pattern // for the level, where known
}

// Errors that callers distinguish.
var (
	// ErrNotRemembered means that an effect of this kind is never remembered,
	// or that too little is known of it.
	ErrNotRemembered = errors.New("cannot be remembered")
	// ErrSelfCheck means that the stored choice would not have matched the
	// effect that it came from. Nothing was stored.
	ErrSelfCheck = errors.New("choice does not match the effect that it came from")
	// ErrOff means that remembered allows do not count, since the memory was
	// found damaged. Rejects still do.
	ErrOff = errors.New("remembered allows are off")
	// ErrTooMany means that a person has maxChoices choices already.
	ErrTooMany = errors.New("too many choices")
	// ErrNotFound means that no choice has the id.
	ErrNotFound = errors.New("no such choice")
	// ErrPending means that a revocation holds from now on, but could not be
	// stored and would be undone by a restart before the disk has space.
	ErrPending = errors.New("revoked, but not stored yet")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("memory is closed")
)

// maxChoices bounds the choices of one person.
const maxChoices = 200_000

// Status is the state of the memory.
type Status struct {
	Allows  int `json:"allows"`
	Rejects int `json:"rejects"`
	// Degraded describes what is wrong, nil if nothing is.
	Degraded []string `json:"degraded,omitzero"`
	// Unconfirmed counts the allows that a person has to confirm first.
	Unconfirmed int `json:"unconfirmed,omitzero"`
	// Changed counts the choices of an earlier version of permd that a person should
	// review.
	Changed int `json:"changed,omitzero"`
	// AllowsOff is set if remembered allows do not count.
	AllowsOff bool `json:"allowsOff,omitzero"`
	// Gone says that the database is not in its place: what is remembered now, or
	// revoked, would be lost with the process. "" if it is.
	Gone string `json:"gone,omitzero"`
	// Lost is the id of the choice that asks about everything, since rejects may be
	// lost, until a person forgets it; "" if there is none.
	Lost string `json:"lost,omitzero"`
	// Pending counts the revocations that are not in the database yet.
	Pending int `json:"pending,omitzero"`
	// SetAside is the path of a damaged database, "" if none was found at the
	// start; Salvaged counts the rejects that could be read from it.
	SetAside string `json:"setAside,omitzero"`
	Salvaged int    `json:"salvaged,omitzero"`
}
