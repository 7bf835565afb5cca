package acp

import (
	"errors"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/native"
)

// pick turns the person's answer into the agent's. What the person sees and
// what the agent is given differ in one case: for "always" the agent gets its
// option for once, because it is permd that remembers.
//
// It returns a Result. An error says why the pick does not fit.
func (f *offer) pick(choice native.Pick) (any, error) {
	if repeats(f.options) {
		return nil, errors.New("the request's options have ids that repeat, so none can be named")
	}
	if choice.Verdict != "" {
		return f.pickVerdict(choice.Verdict)
	}
	i := slices.IndexFunc(f.options, func(o Option) bool { return o.ID == choice.OptionID })
	if i < 0 {
		return nil, errors.New("the request has no option of that id")
	}
	o := f.options[i]
	if f.facts.Question || f.facts.ModeSwitch {
		return selected(o.ID), nil // an answer, not a permission: there is no once
	}
	switch o.Kind {
	case AllowAlways:
		id, ok := plainAllow(f.options, f.facts.Agent)
		if !ok {
			return nil, errors.New("the agent would remember this option itself, and it offers none that allows just this call")
		}
		return selected(id), nil
	case RejectAlways:
		if id, ok := plainReject(f.options, Facts{Permanent: true}); ok {
			return selected(id), nil
		}
	}
	return selected(o.ID), nil
}

// pickVerdict turns a verdict of the person into an option. What keeps permd
// from allowing by itself does not keep the person from it.
func (f *offer) pickVerdict(v decisions.Verdict) (any, error) {
	facts := Facts{Agent: f.facts.Agent, Question: f.facts.Question, ModeSwitch: f.facts.ModeSwitch}
	id, ok := Choose(f.options, v, facts)
	switch {
	case ok:
		return selected(id), nil
	case v == decisions.Deny:
		return cancelled(), nil
	}
	return nil, errors.New("no option says allow and nothing more; name the option")
}
