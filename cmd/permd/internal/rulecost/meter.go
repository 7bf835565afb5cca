package rulecost

import (
	"context"
	"errors"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/rules"
)

// maxCut is after how many evaluations that were cut short a rule is not evaluated again.
const maxCut = 3

// maxCrowded is after how many evaluations in a row for which the heap grew too much a rule is not
// evaluated again. Requests that are decided meanwhile may be what a few are cut short for.
const maxCrowded = 16

// meter is a policy by which each effect of a call has its rules timed. It is not used
// concurrently.
type meter struct {
	of decisions.Policy
	// prepare loads the rules of a project, if it is not nil. Otherwise only those are
	// measured that are loaded.
	prepare func(ctx context.Context, uid uint32, project string) error

	ctx    context.Context // of the call
	timers map[decisions.Snapshot]*rules.Timer
	rules  map[decisions.RuleRef]*measured

	// Of the call that is being decided.
	call       map[decisions.RuleRef]*part
	effects    int
	withoutOwn bool // the rules of its project are not loaded
	err        error
}

// measured is what is known of a rule.
type measured struct {
	set         decisions.Set
	evaluations int
	matched     int             // calls
	took        time.Duration   // all
	calls       []time.Duration // of each call in which it was evaluated
	whole       bool            // an evaluation has ended by itself
	crowded     int             // the latest evaluations, all of which were cut short because of the heap
	crowdedBy   string          // the error of the latest of them
	cut         int             // evaluations that did not end by themselves
	why         string          // they did not
	off         bool            // it is not evaluated any more
}

// part is what a rule has taken of one call.
type part struct {
	evaluations int
	took        time.Duration
	matched     bool
}

func newMeter(of decisions.Policy) *meter {
	return &meter{of: of, timers: map[decisions.Snapshot]*rules.Timer{}, rules: map[decisions.RuleRef]*measured{}, call: map[decisions.RuleRef]*part{}}
}

// Snapshot implements [decisions.Policy].
func (m *meter) Snapshot(uid uint32, project string) (decisions.Snapshot, error) {
	snap, err := m.of.Snapshot(uid, project)
	if err != nil && m.prepare != nil {
		_ = m.prepare(m.ctx, uid, project) // what is broken says so by its snapshot
		snap, err = m.of.Snapshot(uid, project)
	}
	if err != nil && project != "" {
		m.withoutOwn = true
		snap, err = m.of.Snapshot(uid, "")
	}
	if err != nil {
		return nil, err
	}
	return timed{snap, m}, nil
}

// timed is a snapshot whose rules are timed.
type timed struct {
	decisions.Snapshot
	by *meter
}

// Evaluate implements [decisions.Snapshot]. What fires has no more than what tells whether more
// effects are looked at.
func (t timed) Evaluate(ctx context.Context, in *decisions.Input) (decisions.Findings, error) {
	return decisions.Findings{Fired: t.by.evaluate(ctx, t.Snapshot, in)}, nil
}

func (m *meter) evaluate(ctx context.Context, snap decisions.Snapshot, in *decisions.Input) (fired []decisions.Finding) {
	timer := m.timers[snap]
	if timer == nil {
		of, ok := snap.(*rules.Snapshot)
		if !ok {
			return nil
		}
		timer = of.Timer()
		m.timers[snap] = timer
	}
	list, err := timer.Evaluate(ctx, in, func(r decisions.RuleRef) bool { return m.rules[r] != nil && m.rules[r].off })
	if err != nil {
		m.err = err
	}
	m.effects++
	for i := range list {
		one := &list[i]
		p := m.call[one.Rule]
		if p == nil {
			p = new(part)
			m.call[one.Rule] = p
		}
		p.evaluations++
		p.took += one.Took
		p.matched = p.matched || one.Matched
		if one.Matched {
			fired = append(fired, decisions.Finding{Rule: one.Rule, Set: one.Set})
		}
		m.note(one)
	}
	return fired
}

// note notes what is known of a rule also if the call does not count.
func (m *meter) note(one *rules.Timing) {
	r := m.rules[one.Rule]
	if r == nil {
		r = &measured{set: one.Set}
		m.rules[one.Rule] = r
	}
	switch {
	case one.Err == nil:
		r.whole, r.crowded = true, 0
		return
	case errors.Is(one.Err, context.Canceled): // the measurement has ended, not the rule
		return
	case one.Memory:
		r.crowdedBy = one.Err.Error()
		if r.crowded++; r.crowded < maxCrowded {
			return
		}
		r.cut += r.crowded - 1
	}
	r.cut++
	r.why = one.Err.Error()
	r.off = r.cut >= maxCut || one.Endless
}

// cutShort returns how many evaluations did not end by themselves, and why. Those for which the heap
// grew too much count if there is no other evaluation: nothing is known of how long it takes.
func (r *measured) cutShort() (n int, why string) {
	if r.cut == 0 && !r.whole {
		return r.crowded, r.crowdedBy
	}
	return r.cut, r.why
}

// begin begins a call.
func (m *meter) begin(ctx context.Context) {
	clear(m.call)
	m.ctx, m.effects, m.withoutOwn, m.err = ctx, 0, false, nil
}

// count adds what was measured of the call.
func (m *meter) count() {
	for ref, p := range m.call {
		r := m.rules[ref]
		r.evaluations += p.evaluations
		r.took += p.took
		r.calls = append(r.calls, p.took)
		if p.matched {
			r.matched++
		}
	}
}
