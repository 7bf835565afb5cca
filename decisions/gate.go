package decisions

import (
	"cmp"
	"slices"

	"github.com/permd/permd/decisions/effects"
)

// Outcome says what happened to a call; "" if it is what the verdict says.
type Outcome string

// The outcomes.
const (
	// Passed: nothing allowed the gate's call, but no rule denied it or asked about
	// it, which is enough for gates.
	Passed Outcome = "passed"
	// Approved: the gate's call passed because the agent had asked for the same
	// before and was allowed.
	Approved Outcome = "approved"
	// RanUnprompted: the call ran without a request. The verdict is what rules and
	// memory would have answered.
	RanUnprompted Outcome = "unasked"
	// RanDespiteDeny: the agent reports the call as completed although it was denied.
	RanDespiteDeny Outcome = "despite"
	// Gated: the agent did not ask about the call, but everything in it that needed
	// permission came through gates and was decided there.
	Gated Outcome = "gated"
	// Refused: the call must not run whatever rules say of it, such as a second call
	// under the id of another one. The caller was told that it is denied.
	Refused Outcome = "denied"
	// Unmet: the call lacks what its tool requires.
	Unmet Outcome = "unmet"
	// Invalid: the input does not fit the tool.
	Invalid Outcome = "invalid"
)

// Gate marks a request about something that a client is about to do on behalf of its
// agent, or that a person does in it. Usually the agent's own request has been
// decided before, so what would otherwise be asked passes, unless a rule of org, user
// or project asks, or there was a failure or a defect.
type Gate struct {
	// Agent is the agent for the record. The call has another one, since it is in the
	// terms of the protocol and not of the agent's tools.
	Agent effects.Party
	// Asks is set if the person is asked about everything that is not allowed.
	Asks bool
	// Path is set for calls that are described by a path alone. If the path is not
	// understood it could be a denied one, so the person is asked. They are asked
	// about guarded paths as well.
	Path bool
	// Own is set for actions of the person, who is not asked about them. After a
	// failure the action is stopped, since a rule might deny it.
	Own bool
	// Approved, if not nil, reports whether the agent was allowed the same before,
	// and consumes that approval.
	Approved func(d *Decision) bool
	// Through, if not nil, returns the outcome at gates of a call that has run, "" for
	// none. It is used only for requests with Ran.
	Through func(d *Decision) Outcome
}

// finalize sets the verdict and the outcome of decisions for which nobody can be
// asked, or nobody waits for the answer.
func (d *Decision) finalize(req *Request, alone bool) {
	if req.Forbidden != "" && d.Verdict != Deny { // what failed is forbidden too
		d.fail(Deny, req.Forbidden)
	}
	g := req.Gate
	switch {
	case req.Ran != "":
		d.denyUnattended(alone)
		d.Outcome = req.Ran
		if g != nil && g.Through != nil {
			d.Outcome = cmp.Or(g.Through(d), req.Ran)
		}
	case g == nil && req.Refused != "":
		d.denyUnattended(alone)
		if d.Verdict == Deny {
			return
		}
		d.Outcome = req.Refused
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
	case alone, g.Asks, d.By == ByFailure, d.By == ByLock, d.askedByRule(), len(d.Defects) > 0, g.Path && (d.unclear() || d.guarded()):
		d.Outcome = ""
		d.denyUnattended(alone)
		return
	default:
		d.Outcome = Passed
	}
	d.Widths, d.Offer, d.NotRemembered = nil, nil, "" // there is no question
}

// unclear reports whether a part of the call was not understood.
func (d *Decision) unclear() bool {
	return slices.ContainsFunc(d.Effects, func(e EffectDecision) bool {
		return e.Verdict == Ask && e.Kind == effects.KindUnknown
	})
}

// guarded reports whether the call is about something guarded, such as a secret.
// Agents have used gates to read files that their own rules deny.
func (d *Decision) guarded() bool {
	return slices.ContainsFunc(d.Effects, func(e EffectDecision) bool {
		return e.Verdict == Ask && (e.Row == RowGuarded || e.Row == RowPerson && len(e.Tags) > 0)
	})
}

// askedByRule reports whether a rule of org, user or project asks.
func (d *Decision) askedByRule() bool {
	return slices.ContainsFunc(d.Effects, func(e EffectDecision) bool {
		return e.Verdict == Ask && (e.Row == RowOrgAsk || e.Row == RowFirmAsk || e.Row == RowAsk)
	})
}

// mayRun reports whether the call may run by this decision, or has run.
func (d *Decision) mayRun() bool {
	return d.Verdict == Allow || d.Outcome == Passed || d.Outcome == Approved
}
