package decisions

import (
	"context"
	"time"

	"github.com/permd/permd/decisions/effects"
)

// maxUnprofiled is how many effects that org stops a decision shows besides its own.
const maxUnprofiled = 8

// unprofiled is an effect that a call would have without a person's own profile of its agent,
// and that rules above the person stop.
type unprofiled struct {
	effect effects.Effect
	inputs effectInputs
	err    error // of the rules
}

// evaluateUnprofiled looks for what org's rules deny or ask about if they do not see what the
// person says of the agent's tools, and for what base denies of its commands. An ask of org
// about that is asked each time: memory knows the call as the person describes it.
func (e *evaluator) evaluateUnprofiled(ctx context.Context, m *evaluation, now time.Time) {
	list := m.res.Unprofiled
	if len(list) == 0 {
		return
	}
	in := new(m.input())
	in.All, in.Now = list, now
	for i := range list {
		giveWay(ctx)
		in.Effect = &list[i]
		found, err := m.snapshot.Evaluate(ctx, in)
		found.Fired = filter(found.Fired, func(r Finding) bool {
			return inOrg(r) && r.Set != SetAllow || inBase(r) && r.Set == SetDeny && (list[i].Run != nil || list[i].Kind == effects.KindUse)
		})
		if err == nil && len(found.Fired) == 0 {
			continue
		}
		m.failed = m.failed || err != nil
		u := unprofiled{effect: list[i], inputs: effectInputs{findings: found}, err: err}
		u.effect.Hint, u.effect.Via, u.effect.NameOf, u.effect.StandsFor = true, nil, 0, 0
		// One that denies is always among those that are shown.
		denies := pick(found.Fired, SetDeny, anyLayer) != nil
		switch n := len(m.unprofiled); {
		case n < maxUnprofiled:
			m.unprofiled = append(m.unprofiled, u)
		case denies:
			m.unprofiled[n-1] = u
		}
	}
}
