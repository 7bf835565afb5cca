package decisions

import (
	"cmp"
	"slices"

	"github.com/permd/permd/decisions/effects"
)

// Outcome says what became of a call where its verdict does not say that; ""
// for a call that does what the verdict says.
type Outcome string

// The outcomes.
const (
	// Passed: only a deny or a rule that asks stops a gate, so this one passed,
	// and nobody allowed it.
	Passed Outcome = "passed"
	// Approved: the gate passed because the agent had asked for the same before,
	// and was allowed it.
	Approved Outcome = "approved"
	// RanUnprompted: the call ran, and its agent had asked nobody. The verdict is what
	// rules and memory would have said.
	RanUnprompted Outcome = "unasked"
	// RanDespiteDeny: the agent says that the call is done, which was denied.
	RanDespiteDeny Outcome = "despite"
	// Gated: the agent did not ask about the call, but all that needed somebody's
	// word has come through gates, where it was decided.
	Gated Outcome = "gated"
)

// Gate makes a request one about what a client is about to do for its agent,
// or a person with the agent. Who would be asked of such a thing has been asked
// by the agent's own request, as a rule: what would be asked passes, unless a
// rule of org, user or project asks, or something has failed or has a defect.
type Gate struct {
	// Agent is the one in the record. What is done is in the words of the protocol
	// and not in those of the agent's tools, so the call has another.
	Agent effects.Party
	// Asks is set where the person is asked of all that is not allowed.
	Asks bool
	// Path is set for what is all in its path. One that is not understood may be
	// any other, also one that is denied, so the person is asked. They are asked
	// about what is guarded as well.
	Path bool
	// Own is set for what the person does by themselves: nobody is asked whether
	// they may. Where something has failed it is not known that no rule denies it.
	Own bool
	// Approved reports whether the agent was allowed the same before; that is
	// used up. Nil where nothing is known of that.
	Approved func(d *Decision) bool
	// Through says of a call that is over what came of it at gates, "" for
	// nothing. It is for requests with Ran alone, and may be nil.
	Through func(d *Decision) Outcome
}

// finalize says what becomes of a decision when nobody can be asked, or nobody
// waits for an answer.
func (d *Decision) finalize(req *Request, alone bool) {
	g := req.Gate
	switch {
	case req.Ran != "":
		d.denyUnattended(alone)
		d.Outcome = req.Ran
		if g != nil && g.Through != nil {
			d.Outcome = cmp.Or(g.Through(d), req.Ran)
		}
	case g == nil:
		d.denyUnattended(alone)
		return
	case d.Verdict != Ask:
		d.Outcome = ""
		return
	case d.By != ByFailure && g.Approved != nil && g.Approved(d):
		d.Outcome = Approved
	case g.Own && d.By != ByFailure:
		d.Outcome = Passed
	case alone, g.Asks, d.By == ByFailure, d.ruled(), len(d.Defects) > 0, g.Path && (d.unclear() || d.guarded()):
		d.Outcome = ""
		d.denyUnattended(alone)
		return
	default:
		d.Outcome = Passed
	}
	d.Widths, d.Offer = nil, nil // there is no question
}

// unclear reports whether something of the call is not understood.
func (d *Decision) unclear() bool {
	return slices.ContainsFunc(d.Effects, func(e EffectDecision) bool {
		return e.Verdict == Ask && e.Kind == effects.KindUnknown
	})
}

// guarded reports whether it is about what is guarded, such as a secret: agents
// have read files so for which their own rules denied it.
func (d *Decision) guarded() bool {
	return slices.ContainsFunc(d.Effects, func(e EffectDecision) bool {
		return e.Verdict == Ask && (e.Row == RowGuarded || e.Row == RowPerson && len(e.Tags) > 0)
	})
}

// ruled reports whether a rule of org, user or project asks.
func (d *Decision) ruled() bool {
	return slices.ContainsFunc(d.Effects, func(e EffectDecision) bool {
		return e.Verdict == Ask && (e.Row == RowOrgAsk || e.Row == RowFirmAsk || e.Row == RowAsk)
	})
}

// mayRun reports whether the call may run by this decision, or has run.
func (d *Decision) mayRun() bool {
	return d.Verdict == Allow || d.Outcome == Passed || d.Outcome == Approved
}
