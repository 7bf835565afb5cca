package acp

import (
	"errors"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/native"
)

// pick converts the person's answer to the agent's. They differ in one case: for
// "always" the agent gets its option for once, because permd remembers the answer.
//
// The error says why the answer does not fit.
func (f *offer) pick(choice native.Selection) (native.Resolution, error) {
	none := native.Resolution{}
	if hasDuplicates(f.options) {
		return none, errors.New("the request's options have ids that repeat, so none can be named")
	}
	if choice.Verdict != "" {
		return f.pickVerdict(choice.Verdict)
	}
	i := slices.IndexFunc(f.options, func(o Option) bool { return o.ID == choice.OptionID })
	if i < 0 {
		return none, errors.New("the request has no option of that id")
	}
	o := f.options[i]
	if f.facts.question || f.facts.modeSwitch {
		// It is an answer, not a permission: there is no option for once.
		return native.Resolution{Result: selected(o.ID), LetsAgentContinue: o.Kind != RejectOnce && o.Kind != RejectAlways}, nil
	}
	switch o.Kind {
	case AllowAlways:
		id, ok := plainAllow(f.options, f.facts.Plain)
		if !ok {
			return none, errors.New("the agent would remember this option itself, and it offers none that allows just this call")
		}
		// The further meaning of such an option (switch the mode, all tools) is not what
		// permd would remember.
		return native.Resolution{Result: selected(id), Verdict: decisions.Allow, Remember: !o.switchesMode()}, nil
	case RejectAlways:
		p := native.Resolution{Result: selected(o.ID), Verdict: decisions.Deny, Remember: true}
		if id, ok := plainReject(f.options, Facts{permanent: true}); ok {
			p.Result = selected(id)
		}
		return p, nil
	case RejectOnce:
		return native.Resolution{Result: selected(o.ID), Verdict: decisions.Deny}, nil
	case AllowOnce:
	}
	return native.Resolution{Result: selected(o.ID), Verdict: decisions.Allow}, nil
}

// pickVerdict converts a person's verdict to an option. Reasons that keep permd from
// allowing do not apply to the person.
func (f *offer) pickVerdict(v decisions.Verdict) (native.Resolution, error) {
	facts := Facts{Plain: f.facts.Plain, question: f.facts.question, modeSwitch: f.facts.modeSwitch}
	p := native.Resolution{Verdict: v}
	if facts.question || facts.modeSwitch {
		p.Verdict, p.LetsAgentContinue = "", v == decisions.Allow
	}
	id, ok := Choose(f.options, v, facts)
	switch {
	case ok:
		p.Result = selected(id)
	case v == decisions.Deny:
		p.Result = cancelled()
	default:
		return native.Resolution{}, errors.New("no option says allow and nothing more; name the option")
	}
	return p, nil
}
