package decisions

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// conclude makes the decision from the results of its effects.
func (d *Decision) conclude(effs []effects.Effect, results []effectResult) {
	if len(results) == 0 {
		// A call always has an effect; one without is not understood.
		d.fail(Ask, "the call has no effects that permd understands")
		return
	}
	d.Verdict = Allow
	d.Needed = NotNeeded
	lead := &results[0]
	for i := range results {
		o := &results[i]
		d.Effects = append(d.Effects, explain(&effs[i], o))
		if o.verdict.strictness() > lead.verdict.strictness() ||
			o.verdict == lead.verdict && o.verdict == Ask && o.needed == NeededByRule && lead.needed != NeededByRule {
			lead = o
		}
	}
	d.Verdict, d.Reason, d.Message, d.By = lead.verdict, lead.reason+lead.note, lead.message, lead.by
	if d.Verdict == Ask {
		d.Needed = lead.needed
	}
	if d.Verdict == Allow {
		for i := range results {
			if results[i].by == ByMemory {
				d.By = ByMemory
			}
		}
		d.Reason = reasonsOf(results)
	}
	d.Permanent = d.Verdict == Deny && lead.by == ByPolicy
}

// reasonsOf returns why all effects are allowed: the first three distinct reasons.
func reasonsOf(results []effectResult) string {
	const limit = 3
	var reasons []string
	for i := range results {
		switch {
		case slices.Contains(reasons, results[i].reason):
		case len(reasons) == limit:
			return strings.Join(reasons, "; ") + "; and more"
		default:
			reasons = append(reasons, results[i].reason)
		}
	}
	return strings.Join(reasons, "; ")
}

// fail makes d a decision by failure, with an explanation of what broke.
func (d *Decision) fail(v Verdict, reason string) {
	d.Verdict, d.Reason, d.By, d.Message, d.Permanent = v, reason, ByFailure, "", false
	d.Needed, d.Widths, d.Offer = NotNeeded, nil, nil
	if v == Ask {
		d.Needed = NeededByRule
	}
	if d.Effects == nil {
		d.Effects = []EffectDecision{}
	}
}

func explain(e *effects.Effect, o *effectResult) EffectDecision {
	x := EffectDecision{
		Kind: e.Kind, Text: e.Text, From: e.From, Tags: e.Tags.Names(), Claimed: e.Claimed,
		Verdict: o.verdict, Reason: o.reason, Row: o.row, Rules: []RuleRef{},
	}
	for _, r := range o.rules {
		// One line of a list may be several rules of Rego.
		if !slices.Contains(x.Rules, r.Rule) {
			x.Rules = append(x.Rules, r.Rule)
		}
	}
	if o.choice != nil {
		x.ChoiceID = o.choice.ID
	}
	return x
}
