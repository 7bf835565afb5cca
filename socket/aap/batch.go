package aap

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/toolserver"
)

// Outcome is the state of a call in a batch.
type Outcome string

// The outcomes.
const (
	Granted Outcome = "granted" // the server may run it
	Execute Outcome = "execute" // the client may run it
	Denied  Outcome = "denied"
	Ask     Outcome = "ask"  // the person must answer
	Skip    Outcome = "skip" // it already has a result
)

// entry is one call of a batch and its state.
type entry struct {
	plannedCall
	outcome  Outcome
	reason   string // for the model, of a call that is denied or skipped
	decision *decisions.Decision
	// approvedOnce is the question to which the person said yes, once; nil if they did
	// not.
	approvedOnce *decisions.Decision
	approvedBy   author.Identity
	// released is set once the client was told to run the call: it may have run, whatever
	// is decided later.
	released bool
	// ran is set once a turn has shown the result of the call.
	ran bool
	// shown is set once a turn has shown a result of the call's id.
	shown bool
	// result is the result of the client's tool, nil until it arrives.
	result strictjson.Value
	// problem is why the person's answer could not be applied.
	problem string
	// closed is set for a call that a later turn has closed, until that is recorded.
	closed bool
	// affected is mayBeAffected, and elsewhere an answer that came elsewhere and is not
	// applied yet; both may be used without the batch's lock.
	affected  atomic.Bool
	elsewhere atomic.Pointer[elsewhereAnswer]
}

// batch is the calls of one stopped turn. Its members are accessed with its
// lock held; requests about it are serialised.
type batch struct {
	id      string
	session *decisions.Session
	parties *parties // without the tools' names, which the calls' sides came from
	// size is the size of the calls and results in bytes, decisionBytes that of the
	// decisions; both are guarded by the lock of the connection's batches.
	size, decisionBytes int

	mu      sync.Mutex
	entries []*entry
	digest  string // of the rules
}

// newBatch returns a batch of planned calls. It copies what it keeps of them.
func newBatch(id string, ses *decisions.Session, w *parties, calls []plannedCall) *batch {
	b := &batch{id: id, session: ses, parties: &parties{agent: w.agent, version: w.version, endpoint: w.endpoint}, size: 8 << 10}
	for _, c := range calls {
		c.input = bytes.Clone(c.input)
		e := &entry{plannedCall: c}
		if c.skip {
			e.outcome, e.reason = Skip, whySkip
		}
		b.entries = append(b.entries, e)
		b.size += 2<<10 + len(c.id) + len(c.tool.Name) + len(c.input)
	}
	return b
}

// sameAs reports whether the batch has exactly those calls.
func (b *batch) sameAs(w *parties, calls []plannedCall) bool {
	mine, theirs := withoutResult(b.entries, func(e *entry) plannedCall { return e.plannedCall }), withoutResult(calls, func(c plannedCall) plannedCall { return c })
	if !b.sameParty(w) || len(mine) != len(theirs) {
		return false
	}
	for i := range mine {
		x, y := &mine[i], &theirs[i]
		if x.id != y.id || x.tool != y.tool || x.side != y.side || !equalValues(x.input, y.input) {
			return false
		}
	}
	return true
}

// noteResults notes of which calls a later turn shows results.
func (b *batch) noteResults(ids map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		e.shown = e.shown || ids[e.id]
	}
}

// close denies the calls whose ids are used for other calls in a later batch,
// and returns the ids of those that were unanswered, or may run and have no result yet.
func (b *batch) close(later *batch, asks *native.PendingQuestions) (open []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	others := make(map[string]*entry, len(later.entries))
	for _, e := range later.entries {
		others[e.id] = e // the id, name and input of an entry never change
	}
	for _, e := range b.entries {
		o := others[e.id]
		if o == nil || e.skip || e.result != nil || b.sameParty(later.parties) && e.tool.Name == o.tool.Name && e.side == o.side && equalValues(e.input, o.input) {
			continue
		}
		runs := (e.outcome == Granted || e.outcome == Execute) && !e.shown && !e.ran
		if runs || e.outcome == Ask || e.outcome == "" {
			open = append(open, e.id)
		}
		if e.decision != nil {
			asks.Remove(e.decision.ID)
		}
		e.closed = e.closed || e.whyDenied == ""
		e.whyDenied = cmp.Or(e.whyDenied, whyOther)
		e.deny(whyOther)
	}
	return open
}

func (b *batch) sameParty(w *parties) bool {
	return w.agent == b.parties.agent && w.endpoint == b.parties.endpoint
}

// withoutResult returns the calls that have no result. A history may or may not contain
// calls that have one, depending on its turns.
func withoutResult[T any](list []T, of func(T) plannedCall) []plannedCall {
	var calls []plannedCall
	for _, v := range list {
		if c := of(v); !c.skip {
			calls = append(calls, c)
		}
	}
	return calls
}

// requests returns the requests for the calls that rules must decide, which are all that
// may still run, and the entry of each.
func (b *batch) requests() (reqs []*decisions.Request, of []*entry) {
	for _, e := range b.entries {
		if e.needsDecision() {
			reqs = append(reqs, e.request(b.parties, b.session))
			of = append(of, e)
		}
	}
	return reqs, of
}

// needsDecision reports whether rules must decide the call: a denied one stays denied,
// and does not run.
func (e *entry) needsDecision() bool { return !e.skip && e.result == nil && e.outcome != Denied }

func (b *batch) needsDecision() bool { return slices.ContainsFunc(b.entries, (*entry).needsDecision) }

// decideEntry applies the decision for a call. A repeated decision can only
// become stricter: what the person denied stays denied, and what they allowed
// once stays allowed unless it is forbidden now.
func (b *batch) decideEntry(e *entry, d *decisions.Decision) {
	kept := *d
	kept.Offer = nil // the pending question keeps it
	e.decision = &kept
	switch {
	case e.whyDenied != "":
		e.outcome, e.reason = Denied, e.whyDenied
	case d.Verdict == decisions.Allow:
		e.allow()
	case d.Verdict == decisions.Deny:
		e.deny(reasonOf(d))
	case e.approvedOnce != nil && sameQuestion(e.approvedOnce, d) && !b.mayBeAffected(e):
		e.allow()
	default:
		e.outcome, e.reason, e.approvedOnce = Ask, "", nil
	}
}

// whyAffected explains why an approval cannot be accepted.
const whyAffected = "calls of the turn that come before this one may change what it does: deny it, and let the agent try it again after them"

// mayBeAffected reports whether another call of the batch may change what the call does
// after the person approves it: an earlier one that may change things it does not name.
func (b *batch) mayBeAffected(e *entry) bool {
	switch {
	case e.decision == nil:
		return false
	case e.decision.Unsettled:
		return true
	case !e.decision.Stateful:
		return false
	}
	for _, o := range b.entries {
		switch {
		case o == e:
			return false
		case o.needsDecision() && o.decision != nil && o.decision.Opaque:
			return true
		}
	}
	return false
}

func (e *entry) allow() {
	e.outcome, e.reason = Granted, ""
	if e.side == client {
		e.outcome = Execute
	}
}

// reasonOf returns what the model is told about a denied call, "" if the person has given
// no reason: the protocol has its own words for that.
func reasonOf(d *decisions.Decision) string {
	if d.By == decisions.ByMemory && d.Message == "" {
		return ""
	}
	return toolserver.Reason(d)
}

func (e *entry) deny(reason string) { e.outcome, e.reason, e.approvedOnce = Denied, reason, nil }

// sameQuestion reports whether an approval of one question covers the other: it asks for
// no more, and for the same reasons. The same call may do something else later, if a
// link has a new target, and another rule may ask.
func sameQuestion(answered, d *decisions.Decision) bool {
	if d.By != answered.By || d.By == decisions.ByFailure && d.Reason != answered.Reason || !slices.Equal(d.Defects, answered.Defects) || !slices.Equal(d.Contents, answered.Contents) {
		return false
	}
	for i := range d.Effects {
		e := &d.Effects[i]
		if e.Verdict == decisions.Ask && i < len(d.Fingerprints) && !slices.Contains(answered.Fingerprints, d.Fingerprints[i]) {
			return false
		}
		if e.Verdict == decisions.Ask && !slices.ContainsFunc(answered.Effects, func(a decisions.EffectDecision) bool {
			return a.Kind == e.Kind && a.Text == e.Text && a.Claimed == e.Claimed && slices.Equal(a.Tags, e.Tags) &&
				a.Verdict == e.Verdict && a.Row == e.Row && a.Reason == e.Reason
		}) {
			return false
		}
	}
	return true
}
