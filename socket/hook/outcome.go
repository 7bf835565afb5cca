package hook

import (
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// answerKind is the kind of answer to a harness.
type answerKind uint8

const (
	deny   answerKind = iota // the zero value, so that an omission is never more permissive
	allow                    // run it
	ask                      // ask the person
	silent                   // no opinion
)

// outcome turns a decision into the answer for this harness, with the text for
// person and model.
func (r *Request) outcome(d *decisions.Decision) (answerKind, string) {
	if d == nil {
		return r.withoutDecision("permd has not decided")
	}
	reason := d.Reason
	if d.Message != "" {
		reason = d.Message
	}
	reason = clean(reason)
	switch d.Verdict {
	case decisions.Allow:
		if r.readOnly {
			return silent, ""
		}
		return allow, reason
	case decisions.Deny:
		if reason == "" {
			reason = "denied"
		}
		return deny, reason
	case decisions.Ask:
		return r.leaveToPerson(d, reason)
	}
	return r.withoutDecision("permd's answer has no known verdict")
}

// leaveToPerson is the outcome of a call that is left to the person.
func (r *Request) leaveToPerson(d *decisions.Decision, reason string) (answerKind, string) {
	switch {
	case r.question:
		return silent, ""
	case d.Needed == decisions.NeededByDefault && r.rules:
		return silent, ""
	case r.asks:
		return ask, reason
	}
	return deny, reason + "; " + howToAllow(d)
}

// withoutDecision is the outcome when there is no decision.
func (r *Request) withoutDecision(why string) (answerKind, string) {
	if r.asks {
		return ask, why
	}
	return deny, why
}

// howToAllow says how a person allows what could not be asked.
func howToAllow(d *decisions.Decision) string {
	id := clean(d.ID)
	switch {
	case slices.ContainsFunc(d.Effects, func(e decisions.EffectDecision) bool { return e.Kind == effects.KindQuestion }):
		return "only a person can answer this, and here nobody can be asked"
	case !d.Answerable():
		return "a person sees why with: permd log show " + id
	}
	return "a person must allow this, in a terminal of their own, with: permd allow " + id + " (then try again)"
}
