package decisions

import (
	"context"
	"slices"
	"time"

	"github.com/permd/permd/decisions/effects"
)

// maxRestDenied is how many denied effects from a call's rest a decision shows.
const maxRestDenied = 8

// maxCachedRest is how many effects of a call's rest are cached.
const maxCachedRest = 64

// evaluateRest searches the part of a call beyond the bounds for denied effects. A
// person is asked about such a call anyway, so only denies matter here.
func (e *evaluator) evaluateRest(ctx context.Context, m *evaluation, now time.Time) {
	rest := m.res.Rest
	if len(rest) == 0 {
		return
	}
	in := m.input()
	in.All, in.Now, in.OnlyDeny = slices.Concat(m.res.Effects, rest), now, true
	m.rest = make([]effectFacts, len(rest))
	denied := 0
	for i := range rest {
		p := &m.rest[i]
		// The only fence that applies to what merely may happen is that of permd's own
		// commands.
		if r := rest[i].Run; !rest[i].Guessed || r != nil && r.Own == effects.OwnChanges {
			p.fence = fences{e.pid, e.own.Programs()}.reason(&rest[i])
		}
		if ctx.Err() != nil {
			m.failed = true // a denied one may be among those that are left
		} else if p.fence == "" {
			in.Effect = &rest[i]
			if p.findings, p.err = m.snapshot.Evaluate(ctx, in); p.err != nil {
				m.failed = true
			}
			p.findings.Fired = ofPersons(&rest[i], p.findings.Fired)
		}
		if p.fence != "" || pick(p.findings.Fired, SetDeny, anyLayer) != nil {
			if denied++; denied == maxRestDenied {
				m.rest = m.rest[:i+1]
				return
			}
		}
	}
}

// deniedOfRest returns the denied effects of a call's rest with their results.
func (e *Engine) deniedOfRest(ctx context.Context, m *evaluation, q *MemoryQuery) (denied []effects.Effect, results []effectResult) {
	for i := range m.rest {
		eff, p := &m.res.Rest[i], &m.rest[i]
		one := *q
		one.Effect = eff
		v := &effectInputs{fence: p.fence, findings: p.findings}
		if o := e.effect(ctx, m.snapshot, eff, p.err, &one, v); o.verdict == Deny && len(denied) < maxRestDenied {
			denied, results = append(denied, *eff), append(results, o)
		}
	}
	return denied, results
}
