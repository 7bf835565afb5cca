package decisions

import "github.com/permd/permd/decisions/effects"

// claimOffer is a claim about the use of a tool, for which widths are offered instead.
type claimOffer struct {
	eff      *effects.Effect
	query    *MemoryQuery
	inputs   effectInputs
	proposed []Proposal
}

// claimOffers returns the claims of a call by the index of the use that they stand for, nil if
// there are none. A choice about what the tool does says more than one about its use, which
// would also cover what else the tool does with other inputs.
func (e *Engine) claimOffers(m *evaluation, q *MemoryQuery) map[int][]*claimOffer {
	var all map[int][]*claimOffer
	for i := range m.res.Hints {
		eff, p := &m.res.Hints[i], &m.hints[i]
		if eff.StandsFor == 0 {
			continue
		}
		about := *q
		about.Effect, about.Target = eff, nil
		c := &claimOffer{eff: eff, query: &about, inputs: effectInputs{fence: p.fence, trusted: m.trustedRoot(), findings: p.findings}}
		if p.err != nil {
			c.inputs.fence = "the rules could not be evaluated"
		}
		c.inputs.reject, c.inputs.allow, _ = e.memory.Match(&about)
		c.proposed = e.proposer.Propose(&about)
		if all == nil {
			all = map[int][]*claimOffer{}
		}
		all[eff.StandsFor-1] = append(all[eff.StandsFor-1], c)
	}
	return all
}

// claimedWidth returns the choices of a level that let all claims of a use be allowed, with the
// result that the use takes its allow from; ok is false if there are none. add is called for each.
func claimedWidth(claims []*claimOffer, level int, add func(*MemoryQuery, *Proposal)) (first effectResult, ok bool) {
	type chosen struct {
		q *MemoryQuery
		p *Proposal
	}
	var list []chosen
	runs := map[int]*effectResult{} // by the place of the run in the call, as claims have it
	for _, inherent := range []bool{false, true} {
		for _, c := range claims {
			if c.eff.Inherent() != inherent {
				continue
			}
			v := c.inputs
			if inherent {
				v.run = runs[c.eff.Via.Effect+1]
			}
			o := precede(c.eff, &v)
			for n := len(c.proposed) - 1; n >= 0 && (o.verdict != Allow || o.row >= RowBase); n-- {
				p := &c.proposed[n]
				if p.Level > level {
					continue
				}
				with := v
				with.allow = &p.Choice
				if o = precede(c.eff, &with); o.verdict == Allow && o.row < RowBase {
					list = append(list, chosen{c.query, p})
				}
			}
			if o.verdict != Allow || o.row >= RowBase {
				return effectResult{}, false
			}
			if c.eff.Run != nil && c.eff.NameOf > 0 {
				runs[c.eff.NameOf] = &o
			}
			if !ok {
				first, ok = o, true
			}
		}
	}
	if len(list) == 0 {
		return effectResult{}, false
	}
	for _, c := range list {
		add(c.q, c.p)
	}
	return first, ok
}
