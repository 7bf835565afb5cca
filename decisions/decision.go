// Package decisions decides: it turns calls into effects, asks policy and
// memory about each effect by itself, and lets the strictest verdict win. The
// precedence of policy and memory is defined by one table, in precedence.go.
//
// It is the domain of permd and knows no protocol and no database: protocols,
// policy, memory and journal are connected by the interfaces in ports.go.
package decisions

import (
	"time"

	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects"
)

// Verdict is the answer to a call.
type Verdict string

// The verdicts, from the mildest to the strictest.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask" // a person must answer
	Deny  Verdict = "deny"
)

// strictness orders verdicts.
func (v Verdict) strictness() int {
	switch v {
	case Allow:
		return 0
	case Deny:
		return 2
	case Ask:
	}
	return 1 // an unknown verdict is a question
}

// Stricter returns the stricter of two verdicts.
func Stricter(a, b Verdict) Verdict {
	if b.strictness() > a.strictness() {
		return b
	}
	return a
}

// DecidedBy says who decided.
type DecidedBy string

// The deciders.
const (
	ByPolicy  DecidedBy = "policy"
	ByMemory  DecidedBy = "memory"
	ByHuman   DecidedBy = "human"
	ByDefault DecidedBy = "default" // no rule matched
	ByFailure DecidedBy = "failure" // something broke on the way
	ByPause   DecidedBy = "pause"   // a person does not want to be asked for a time
	ByLock    DecidedBy = "lock"    // a person wants to be asked about everything
)

// Needed says why a person is needed. A harness with a permission dialog of its own
// may use that dialog if only the default asked.
type Needed string

// The reasons for needing a person.
const (
	NeededByRule    Needed = "rule"
	NeededByDefault Needed = "default"
	NotNeeded       Needed = "none"
)

// Layer is where a rule comes from.
type Layer string

// The layers, from the highest to the lowest.
const (
	Org     Layer = "org"
	User    Layer = "user"
	Project Layer = "project"
	Base    Layer = "base"
)

// Layers lists the layers from the highest to the lowest.
var Layers = []Layer{Org, User, Project, Base}

// RuleRef names a rule that matched.
type RuleRef struct {
	ID    string `json:"id"`
	Title string `json:"title,omitzero"`
	At    string `json:"at"` // file:line
	Layer Layer  `json:"layer"`
}

// EffectDecision is one effect with its decision.
type EffectDecision struct {
	Kind     effects.Kind `json:"kind"`
	Text     string       `json:"text"`
	From     string       `json:"from"`
	Tags     []string     `json:"tags,omitzero"`
	Claimed  bool         `json:"claimed,omitzero"`
	Declared bool         `json:"declared,omitzero"`
	Verdict  Verdict      `json:"verdict"`
	Reason   string       `json:"reason"`
	Row      int          `json:"row"` // of the table in docs/policy.md (Who wins), 0 on failure
	Rules    []RuleRef    `json:"rules"`
	ChoiceID string       `json:"choiceId,omitzero"`
	// Outdated is a remembered allow that would have answered this question, but for
	// content that has changed; nil if there is none.
	Outdated *Outdated `json:"outdated,omitzero"`
}

// PolicyRef says which policy a decision was made with.
type PolicyRef struct {
	Digest string `json:"digest"`
}

// Width is one way to remember an answer: a set of choices that would turn the
// whole call to allow. The narrowest comes first.
type Width struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Rule  string `json:"rule"` // the rule lines it would save, joined by newlines
	Scope string `json:"scope"`
}

// Decision is the answer to one call, with everything that explains it. Its JSON
// form is part of the protocol (docs/protocol.md): members may be added, but not
// renamed.
type Decision struct {
	ID      string           `json:"decisionId"`
	CallID  string           `json:"callId"`
	Verdict Verdict          `json:"verdict"`
	Needed  Needed           `json:"needed"`
	Reason  string           `json:"reason"`
	Message string           `json:"message,omitzero"` // for the model, from a rule
	By      DecidedBy        `json:"decidedBy"`
	Policy  PolicyRef        `json:"policy"`
	Defects []effects.Defect `json:"defects,omitzero"`
	Effects []EffectDecision `json:"effects"`
	Widths  []Width          `json:"widths,omitzero"`
	// NotRemembered says why no yes to a question can be remembered; "" if one can, and
	// where there is no question.
	NotRemembered string `json:"notRemembered,omitzero"`
	// Outcome says what happened to the call, if the verdict does not tell.
	Outcome Outcome `json:"outcome,omitzero"`

	// Details describe the effects for the record; nil after a failure.
	Details []EffectDetail `json:"-"`
	// Shell is how the call may leave a shell that stays alive, nil if as it was.
	Shell *LeftShell `json:"-"`
	// Fingerprints identify the effects of the call, in their order. There are none
	// after a failure.
	Fingerprints []Fingerprint `json:"-"`
	// Opaque is set if the call may change more than its effects show, Stateful if
	// what it does depends on the state of the machine when it runs. Neither is known
	// after a failure.
	Opaque, Stateful bool `json:"-"`
	// Unsettled is set if earlier calls of the same request may change what this call
	// does, so that an answer now might be to another call.
	Unsettled bool `json:"-"`
	// Permanent is set when a deny comes from a rule that holds for every such
	// call, so that a protocol may answer "always".
	Permanent bool `json:"-"`
	// Contents are the files whose content determines what a call does. They are set
	// for calls that are left to the person.
	Contents []Content `json:"-"`
	// Offer is what memory needs to store the person's answer, nil if no answer can be
	// remembered.
	Offer *Offer `json:"-"`
}

// LeftShell is how a call may leave a shell that stays alive ([effects.Result]).
type LeftShell struct {
	Folders   []string // it may be in one of them
	Activated []string // folders of programs that it may look into first
}

// Left returns how the call may leave such a shell.
func (d *Decision) Left() LeftShell {
	if d.Shell == nil {
		return LeftShell{}
	}
	return *d.Shell
}

// Peer is the process at the other end, from facts of the socket.
type Peer struct {
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
	PID int32  `json:"pid"` // 0 when it lives in another pid namespace
}

// Author returns the peer as who answers a question.
func (p Peer) Author(via author.Via) author.Identity {
	return author.Identity{Via: via, UID: p.UID, PID: p.PID}
}

// Request is one call and where it comes from.
type Request struct {
	Call    effects.Call
	Peer    Peer
	Session SessionRef
	// HarnessAsks is why the harness itself wants a person to answer (a plan review,
	// "default to no"), "" if it does not.
	HarnessAsks string
	// Forbidden is why the call's protocol forbids it whatever rules say, "" if it does
	// not: the call is denied.
	Forbidden string
	// Unrecorded is set, for all requests or none, if the decisions are only to be compared
	// with others: they are not in the journal, so nobody may act on them.
	Unrecorded bool
	// Decided is a decision of this call that was not recorded, which is recorded now
	// instead of deciding again; nil for none.
	Decided *Decision
	// Reconsiders is the decision whose open question is decided again by this request, ""
	// for none. The call itself was requested once.
	Reconsiders string
	// Gate is set for requests of a client instead of an agent.
	Gate *Gate
	// Ran is set for a call that has run: RanUnprompted or RanDespiteDeny.
	Ran Outcome
	// Refused is set for a call that the protocol does not let run, whatever is decided:
	// Refused, Unmet or Invalid. It is the outcome, unless the call is denied anyway.
	Refused Outcome
	// Recent is the number of calls for the same claimed user of the same peer's user
	// within the last minute, this one included. 0 means that it was not counted yet: the
	// engine does so when it decides the request first.
	Recent int
}

// SessionRef is the part of a session that policy and memory see, and that a record of
// the journal has.
type SessionRef struct {
	// Conn is the connection that the session belongs to (Owner.Conn), 0 for
	// one that belongs to none. A choice for a session holds on it alone.
	Conn      uint64   `json:"-"`
	ID        string   `json:"id"`
	Ancestors []string `json:"ancestors,omitzero"` // nearest first
	Mode      string   `json:"mode,omitzero"`
	// OneRequest is set for a session that ends with its request (see Declaration).
	OneRequest bool `json:"-"`
}

// Record is one entry of the journal: a decision with its circumstances. The
// journal assigns the sequence number.
type Record struct {
	Seq      int64         `json:"seq,omitzero"`
	Time     time.Time     `json:"time"`
	Peer     Peer          `json:"peer"`
	Agent    effects.Party `json:"agent"`
	Client   effects.Party `json:"client"`
	Session  SessionRef    `json:"session"`
	Protocol string        `json:"protocol"`
	Tool     string        `json:"tool"`
	// Declared is what the client declared of the tool, "" if nothing.
	Declared string `json:"declared,omitzero"`
	// ClaimedUser and ClaimedTrace are for whom the caller says that the call is, and under
	// which id it says that it traces it; "" if it does not say.
	ClaimedUser  string `json:"claimedUser,omitzero"`
	ClaimedTrace string `json:"claimedTrace,omitzero"`
	// What else the agent says of the call. The title is masked, the paths are those of
	// locations and diffs as it wrote them, and MorePaths is how many are not stored.
	ClaimedKind  string   `json:"claimedKind,omitzero"`
	ClaimedTitle string   `json:"claimedTitle,omitzero"`
	ClaimedPaths []string `json:"claimedPaths,omitzero"`
	MorePaths    int      `json:"morePaths,omitzero"`
	// ClaimedStatus is how far the agent says that the call is, ClaimedOptions are the kinds of
	// the options that it offers, and ClaimedMeta the names in _meta that rules see. The
	// values are not stored.
	ClaimedStatus  string   `json:"claimedStatus,omitzero"`
	ClaimedOptions []string `json:"claimedOptions,omitzero"`
	ClaimedMeta    []string `json:"claimedMeta,omitzero"`
	Cwd            string   `json:"cwd,omitzero"`
	Project        string   `json:"project,omitzero"`
	// Reconsiders is the decision whose open question was decided again, since rules or
	// choices had changed; "" for a call that was requested.
	Reconsiders string `json:"reconsiders,omitzero"`
	// LatencyNS is the time up to the hand-over to the journal, in nanoseconds.
	LatencyNS int64    `json:"latencyNs"`
	Decision  Decision `json:"decision"`
	// Details describe the effects of the decision, in their order; nil after a failure.
	Details []EffectDetail `json:"details,omitzero"`
	// LeftOut is the number of effects that are not stored, because all of them
	// would be too many.
	LeftOut int `json:"leftOut,omitzero"`
	// Answer is what the person said to a question, nil while it is not known.
	Answer *HumanAnswer `json:"answer,omitzero"`
	// Ran is when the call of a question was reported to have run, which is no approval.
	Ran *time.Time `json:"ran,omitzero"`
	// Ended says how the call ended, nil while nobody has reported it.
	Ended *Ending `json:"ended,omitzero"`
	// Unreadable is why only the number, the time and the id are known, "" if all are.
	Unreadable string `json:"unreadable,omitzero"`
}

// ProtocolCommand is the protocol of records of what a person did with permd's commands.
const ProtocolCommand = "admin"

// IsCall reports whether the record is about a call that was requested, and not about what a person
// did with permd's commands, or about an earlier call whose open question was decided again.
func (r *Record) IsCall() bool { return r.Protocol != ProtocolCommand && r.Reconsiders == "" }

// RecordFilter selects records of the journal. Its JSON is the params of the management
// methods; what has no name there is for programs that open the journal themselves.
type RecordFilter struct {
	// Limit is the maximum number of records; 0 is the default of the journal, or of the
	// method.
	Limit int `json:"limit,omitzero"`
	// After and Before bound the sequence number, exclusively; 0 means none. With After, the
	// records that follow it are listed, otherwise the newest ones.
	After  int64 `json:"after,omitzero"`
	Before int64 `json:"before,omitzero"`
	// Since and Until bound the time: at or after, and before.
	Since   time.Time `json:"since,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	Verdict Verdict   `json:"verdict,omitzero"`
	By      DecidedBy `json:"decidedBy,omitzero"`
	Session string    `json:"session,omitzero"`
	Agent   string    `json:"agent,omitzero"`
	Tool    string    `json:"tool,omitzero"`
	UID     *uint32   `json:"-"`
	Project string    `json:"project,omitzero"` // its folder, or one above it
	Path    string    `json:"path,omitzero"`    // text in the path of an effect
	Host    string    `json:"host,omitzero"`    // a host, or one above it, that is reached
	// Unapproved selects calls that ran without having been allowed: RanUnprompted and
	// RanDespiteDeny.
	Unapproved bool `json:"unasked,omitzero"`
	// Oldest lists the oldest records first, as After does.
	Oldest bool `json:"oldest,omitzero"`
}

// HumanAnswer is a person's answer to a question, as a client reported it.
type HumanAnswer struct {
	Time    time.Time `json:"time"`
	Verdict Verdict   `json:"verdict"`          // Allow or Deny
	Choices []string  `json:"choices,omitzero"` // the ids of what was remembered
	// Author is who answered, nil where that is not known: earlier versions did not store it.
	Author *author.Identity `json:"author,omitzero"`
	// Allowed is when a yes was given that was taken back before a call had used it, at Time, and
	// AllowedBy who gave it. Author has taken it back.
	Allowed   *time.Time       `json:"allowed,omitzero"`
	AllowedBy *author.Identity `json:"allowedBy,omitzero"`
}

// Word returns the answer in a word or two: allowed, denied, taken back.
func (a *HumanAnswer) Word() string {
	switch {
	case a.Allowed != nil:
		return EndedTakenBack
	case a.Verdict == Allow:
		return "allowed"
	}
	return "denied"
}

// EndedTakenBack begins an ending that only journals have: the yes for once to a question was taken
// back. After a space follows who did that, as JSON. Records that are read have it as their Answer.
const EndedTakenBack = "taken back"

// Ending says how a call ended, as the program that ran it reported.
type Ending struct {
	Time time.Time `json:"time"`
	As   string    `json:"as"` // "ran", "failed", "cancelled" or "unknown"
}

// decisionBytes is what a decision uses at least until it is answered.
const decisionBytes = 2 << 10

// size estimates the bytes that a decision uses until it is answered, including its
// record.
func (d *Decision) size() int {
	n := decisionBytes
	for i := range d.Effects {
		e := &d.Effects[i]
		n += 512 + 2*len(e.Text) + len(e.From) + len(e.Reason) + 16*len(e.Tags) + 96*len(e.Rules)
		if o := e.Outdated; o != nil {
			n += 256 + len(o.What) + len(o.Was) + len(o.Now)
		}
	}
	for i := range d.Details {
		n += len(d.Details[i].Path)
		for _, w := range d.Details[i].Words {
			n += 16 + len(w)
		}
	}
	return n + 16*len(d.Fingerprints)
}
