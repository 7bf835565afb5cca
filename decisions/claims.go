package decisions

import (
	"context"

	"github.com/permd/permd/decisions/effects"
)

// claimResults has what the precedence table makes of the claims among a call's hints that
// stand for the use of a tool, by their index there; nil if there are none.
//
// The shipped rules allow no claim, and ask about every use. So the use of a tool without a
// profile is allowed by itself, or because org, the person or memory allow all that it does
// by the usual meaning of its name and input.
type claimResults map[int]*claimResult

type claimResult struct {
	inputs effectInputs
	result effectResult
}

// claims applies the table to the claims of a call.
func (e *Engine) claims(ctx context.Context, m *evaluation, said func(i int) memoryMatch) claimResults {
	var all claimResults
	runs := map[int]*effectResult{} // by one more than the index of the run in the call
	for _, inherent := range []bool{false, true} {
		for i := range m.res.Hints {
			eff, p := &m.res.Hints[i], &m.hints[i]
			if eff.StandsFor == 0 || eff.Inherent() != inherent {
				continue
			}
			c := &claimResult{inputs: effectInputs{fence: p.fence, trusted: m.trustedRoot(), findings: p.findings}}
			if inherent {
				c.inputs.run = runs[eff.Via.Effect+1]
			}
			c.result = e.effect(ctx, m.snapshot, eff, p.err, said(i), &c.inputs)
			if all == nil {
				all = claimResults{}
			}
			if all[i] = c; eff.Run != nil && eff.NameOf > 0 {
				runs[eff.NameOf] = &c.result
			}
		}
	}
	return all
}

// answer returns the result from which the use at an index of the call takes its allow: that
// of the first of its claims, if org, the person or memory allow all of them; else nil.
func (c claimResults) answer(hints []effects.Effect, use int) (first *effectResult) {
	if len(c) == 0 {
		return nil
	}
	for i := range hints {
		if hints[i].StandsFor != use+1 {
			continue
		}
		r := &c[i].result
		if r.verdict != Allow || r.row >= RowBase {
			return nil
		}
		if first == nil {
			first = r
		}
	}
	return first
}

// holdsUp reports whether a claim denies the call, or rules ask about it, and the effect of the
// call that is the same does not. What the shipped rules ask about claims is asked about
// their use already.
func (c *claimResult) holdsUp(eff *effects.Effect, inputs []effectInputs, results []effectResult) bool {
	var same *effectResult
	if eff.NameOf > 0 {
		same = &results[eff.NameOf-1]
	}
	if c.result.verdict == Deny {
		return same == nil || same.verdict != Deny
	}
	switch c.result.row {
	case RowFailure:
		return true // nobody knows what the rules say
	case RowPerson:
		return c.inputs.reject != nil
	case RowOrgAsk, RowFirmAsk, RowAsk:
		return c.result.verdict == Ask && (same == nil || same.verdict == Allow && !sameRulesAsk(&c.inputs, &inputs[eff.NameOf-1]))
	}
	return false
}
