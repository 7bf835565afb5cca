package hook

import (
	"cmp"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// answerKind is an answer to a harness.
type answerKind uint8

const (
	deny      answerKind = iota // the zero value, so that a missing answer denies
	allow                       // run the tool
	ask                         // ask the person
	noOpinion                   // leave the call to the harness
)

// How texts for person and model begin: a harness shows them among its own.
const (
	byPermd       = "permd: "
	byPermdAsks   = "permd asks: "
	byPermdDenies = "permd denies: "
)

// outcome returns the answer to this harness for a decision, and its text for person and
// model.
func (r *Request) outcome(d *decisions.Decision) (answerKind, string) {
	if d == nil {
		return r.withoutDecision("permd has not decided")
	}
	reason, message := printable(d.Reason), printable(d.Message)
	switch d.Verdict {
	case decisions.Allow:
		if r.readOnly {
			return noOpinion, ""
		}
		return allow, byPermd + reason
	case decisions.Deny:
		return deny, byPermdDenies + cmp.Or(message, reason, "no reason was given")
	case decisions.Ask:
		if message != "" {
			reason += "; " + message
		}
		if why := printable(d.NotRemembered); why != "" {
			reason += "; no yes can be remembered: " + why // before they choose
		}
		return r.leaveToPerson(d, byPermdAsks+reason)
	}
	return r.withoutDecision("permd's answer has no known verdict")
}

// leaveToPerson returns the answer for a decision that asks the person.
func (r *Request) leaveToPerson(d *decisions.Decision, reason string) (answerKind, string) {
	switch {
	case r.onlyAsks:
		return noOpinion, ""
	case d.Needed == decisions.NeededByDefault && r.ownRules:
		return noOpinion, ""
	case r.canAsk:
		return ask, reason
	}
	return deny, reason + "; " + howToAllow(d)
}

// withoutDecision returns the answer if there is no decision.
func (r *Request) withoutDecision(why string) (answerKind, string) {
	why = byPermd + why
	if r.canAsk {
		return ask, why
	}
	return deny, why
}

// howToAllow tells how the person can allow a call if the harness cannot ask.
func howToAllow(d *decisions.Decision) string {
	id := printable(d.ID)
	switch {
	case slices.ContainsFunc(d.Effects, func(e decisions.EffectDecision) bool { return e.Kind == effects.KindQuestion }):
		return "only a person can answer this, and here nobody can be asked"
	case !d.Answerable():
		return "a person sees why with: permd log show " + id
	}
	return "a person must allow this in a terminal of their own: permd allow " + id + " (then try again)"
}

// Waits reports whether it is worth to wait for a person's answer to a decision: the call is asked
// about, a yes that is given elsewhere answers it, and the harness would block it, or asks its
// person although nobody is in front of it.
func (r *Request) Waits(d *decisions.Decision, unattended bool) bool {
	if d == nil || !d.Answerable() || r.onlyAsks {
		return false
	}
	o, _ := r.outcome(d)
	return unattended || o == deny
}

// Unattended reports whether nobody is in front of the harness, as its environment says: by
// PERMD_UNATTENDED, which people set, or by what the harness sets for its hooks.
func (h *Harness) Unattended(getenv func(name string) string) bool {
	switch getenv("PERMD_UNATTENDED") {
	case "1", "true", "yes":
		return true
	}
	// Claude Code with -p. It is not documented, and says nothing if it is anything else.
	return h.Name == "claude" && getenv("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli"
}
