package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/evaltime"
)

// timerGrowth is how much the heap may grow while a rule is timed, in bytes: less than the limit of
// an evaluation for a request, so that timing does not cause one to be cancelled.
const timerGrowth = 12 << 20

// Timer evaluates the rules of a snapshot one by one, to tell how long each takes. It uses no
// tracer, which would make each step of a rule slower and none of a builtin. It must not be used
// concurrently.
type Timer struct {
	of      *Snapshot
	ruleOf  map[*ast.Rule]*rule
	limiter evaltime.Limiter
}

// Timing is one rule that was evaluated for one effect.
type Timing struct {
	Rule    decisions.RuleRef
	Set     decisions.Set
	Took    time.Duration
	Matched bool
	// Err is why it was not evaluated to its end; that of the context if this has ended.
	Err error
	// Memory is set if Err is that the heap grew too much meanwhile, which whatever ran at the
	// same time may have done.
	Memory bool
	// Endless is set if it goes on. As long as it does, no rule of its layer is evaluated again.
	Endless bool
}

// Timer returns a timer of the rules of s. A rule that does not end turns off no layer of s.
func (s *Snapshot) Timer() *Timer {
	apart := *s
	apart.layers, apart.kept, apart.compare = make([]*Layer, len(s.layers)), nil, nil
	t := &Timer{of: &apart, ruleOf: map[*ast.Rule]*rule{}, limiter: evaltime.Limiter{Growth: timerGrowth}}
	for i, l := range s.layers {
		apart.layers[i] = l.Apart()
		if l.compiler == nil {
			continue
		}
		at := make(map[string]*rule, len(l.rules))
		for _, r := range l.rules {
			at[r.ref.At] = r
		}
		for _, r := range l.compiler.GetRulesExact(firedRef(l.Name)) {
			if n, ok := numberOf(r); ok && n >= 0 && n < len(l.rules) {
				t.ruleOf[r] = l.rules[n]
			} else if r.Location != nil { // its key is computed
				t.ruleOf[r] = at[fmt.Sprintf("%s:%d", r.Location.File, r.Location.Row)]
			}
		}
	}
	return t
}

// Evaluate evaluates the rules that OPA's index does not exclude for an effect, each by itself
// and within the limits of a whole evaluation. It does so twice, and the quicker one counts: on a
// busy machine either may have been held up. Those that skip reports are left out. What several
// rules share, such as the value of a helper, counts for each of them.
func (t *Timer) Evaluate(ctx context.Context, in *decisions.Input, skip func(decisions.RuleRef) bool) ([]Timing, error) {
	kind := -1
	if in.Effect != nil {
		kind = kindIndex(in.Effect.Kind)
	}
	if kind < 0 || in.Call == nil || in.Result == nil {
		return nil, errors.New("timing rules: the effect is not of a known kind, or its call is missing")
	}
	layers, _, err := t.of.prepare(in, kind) // an endless layer is left out
	if err != nil {
		return nil, err
	}
	var list []Timing
	for _, p := range layers {
		q := query{input: p.input, now: in.Now, deny: in.OnlyDeny}
		found, err := p.layer.indexed(&q)
		if err != nil {
			return list, err
		}
		first := len(list)
		for _, r := range found {
			rule := t.ruleOf[r]
			switch {
			case rule == nil, q.deny && rule.set != decisions.SetDeny, skip(rule.ref):
				continue
			case ctx.Err() != nil:
				return list, ctx.Err()
			case p.layer.endless():
				continue
			}
			one := t.time(ctx, p.layer, q, r)
			if one.Err == nil {
				again := t.time(ctx, p.layer, q, r)
				switch {
				case again.Endless:
					one = again
				case again.Err == nil: // else it had bad luck
					one.Took = min(one.Took, again.Took)
				}
			}
			one.Rule, one.Set = rule.ref, rule.set
			list = add(list, first, &one)
		}
	}
	return list, nil
}

// add adds a timing to the ones of a layer, which begin at first. A list entry is several rules,
// and a deny with a reason that is not a literal is two.
func add(list []Timing, first int, one *Timing) []Timing {
	for i := range list[first:] {
		if was := &list[first+i]; was.Rule == one.Rule {
			was.Took += one.Took
			was.Matched = was.Matched || one.Matched
			if was.Err == nil || was.Memory && one.Err != nil && !one.Memory {
				was.Err, was.Memory = one.Err, one.Memory
			}
			was.Endless = was.Endless || one.Endless
			return list
		}
	}
	return append(list, *one)
}

// indexed returns the rules that the index does not exclude.
func (l *Layer) indexed(q *query) ([]*ast.Rule, error) {
	if l.index == nil {
		return l.compiler.GetRulesExact(firedRef(l.Name)), nil
	}
	var rules []*ast.Rule
	err, panicked := recoverPanic(func() error {
		found, err := l.index.Lookup(q)
		if err == nil {
			rules = append(rules, found.Rules...)
			ast.IndexResultPool.Put(found)
		}
		return err
	})
	if err = cmp.Or(panicked, err); err != nil {
		return nil, fmt.Errorf("timing rules of %s: %w", l.Name, err)
	}
	return rules, nil
}

// time evaluates one rule.
func (t *Timer) time(ctx context.Context, l *Layer, q query, r *ast.Rule) Timing {
	limited := t.limiter.Start(ctx)
	defer t.limiter.Stop(limited)
	q.cancel = limited.Cancel
	handover := evaltime.NewHandover[Timing](1)
	evaluate := func() {
		var one Timing
		begun := time.Now()
		one.Err = l.run(&q, r.Body, func(topdown.QueryResult) { one.Matched = true })
		one.Took = time.Since(begun)
		if !handover.Give(one) {
			l.stuck.Add(-1) // it has ended after all
		}
	}
	begun := time.Now()
	if l.mayHang {
		go evaluate()
	} else {
		evaluate()
	}
	var got Timing
	select {
	case got = <-handover.Results():
	case <-limited.Abandoned:
		var ok bool
		if got, ok = handover.Abandon(func() { l.stuck.Add(1) }); !ok {
			return Timing{Took: time.Since(begun), Err: errEndless, Endless: true}
		}
	}
	switch {
	case got.Err != nil && ctx.Err() != nil:
		got.Err = ctx.Err() // it was not the rule
	case errors.Is(got.Err, errTimeout) && limited.TooMuch():
		got.Err, got.Memory = fmt.Errorf("%s layer: %w", l.Name, errMemory), true
	}
	return got
}
