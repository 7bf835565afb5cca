package decisions

import (
	"context"
	"slices"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/fence"
)

// maxRestDenied is how many denied effects from a call's rest a decision shows.
const maxRestDenied = 8

// maxCachedRest is how many effects of a call's rest are cached.
const maxCachedRest = 64

// evaluateRest searches for denied effects in what a call may do besides its effects,
// and in the part beyond the bounds.
func (e *evaluator) evaluateRest(ctx context.Context, m *evaluation, now time.Time) {
	rest := m.res.Rest
	if len(rest) == 0 {
		return
	}
	in := new(m.input())
	in.All, in.Now, in.OnlyDeny = slices.Concat(m.res.Effects, rest), now, true
	m.rest = make([]effectFacts, len(rest))
	denied := 0
	for i := range rest {
		giveWay(ctx)
		p := &m.rest[i]
		// The only fence that applies to what merely may happen is that of permd's own
		// commands.
		if r := rest[i].Run; !rest[i].Guessed || r != nil && r.Own == effects.OwnChanges {
			p.fence = fence.Fence{PID: e.pid, Programs: e.own.Programs()}.Reason(&rest[i])
		}
		switch {
		case p.fence != "":
		case ctx.Err() != nil:
			p.err = ctx.Err()
		default:
			in.Effect = &rest[i]
			p.findings, p.err = m.snapshot.Evaluate(ctx, in)
			p.findings.Fired = ofPersons(&rest[i], p.findings.Fired)
		}
		m.failed = m.failed || p.err != nil
		if p.fence != "" || pick(p.findings.Fired, SetDeny, anyLayer) != nil {
			if denied++; denied == maxRestDenied {
				m.rest = m.rest[:i+1]
				return
			}
		}
	}
}

// deniedOfRest returns the denied effects of a call's rest with their results. Where one
// of the others could not be evaluated, it follows: it may be denied, so that the call
// must not be allowed.
func (e *Engine) deniedOfRest(ctx context.Context, m *evaluation, said func(i int) memoryMatch) (denied []effects.Effect, results []effectResult) {
	var failed *effectResult
	at := 0
	for i := range m.rest {
		eff, p := &m.res.Rest[i], &m.rest[i]
		v := &effectInputs{fence: p.fence, findings: p.findings}
		o := e.effect(ctx, m.snapshot, eff, p.err, said(i), v)
		switch {
		case o.by == ByFailure && failed == nil:
			failed, at = &o, i
		case o.by == ByFailure, o.verdict != Deny:
		case len(denied) < maxRestDenied:
			denied, results = append(denied, *eff), append(results, o)
		}
	}
	if failed != nil {
		denied, results = append(denied, m.res.Rest[at]), append(results, *failed)
	}
	return denied, results
}
