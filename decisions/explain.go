package decisions

import (
	"strings"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// Deliberation holds the inputs and results of one decision, for explanations:
// which rules matched, including overridden ones, and what the table would yield with
// further rules. It does not hold the decision, which may still become a failure when
// it is logged.
type Deliberation struct {
	ID       string // of the decision
	Snapshot Snapshot

	// What is said below is found there when it is asked for: nearly no deliberation is
	// looked at, and as many are kept as memory allows.
	now  time.Time
	made *effectResults
	of   *evaluation // nil once it is slim
	slim *slimInput  // nil until then
}

// input returns what rules saw, without the effect.
func (d *Deliberation) input() *Input {
	in := new(Input)
	if d.slim != nil {
		*in = Input{Call: &d.slim.call, Result: d.slim.result, Session: d.slim.session, Trusted: d.slim.trusted, Recent: d.slim.recent}
	} else {
		*in = d.of.input()
	}
	in.Now, in.All = d.now, d.made.all
	return in
}

// Call returns the call with its raw input, which belongs to the decision: a caller that
// keeps any of it copies that. It is nil once d is slim, and if deciding the call again
// takes more than the call, its session and its user, such as what a harness wanted.
func (d *Deliberation) Call() *effects.Call {
	if d.of == nil || !d.of.alone {
		return nil
	}
	return d.of.call
}

// Cached reports whether the evaluation is in a cache: then equal calls may get the same
// one, with the same result of Call. Another Call may be part of the request's message.
// It is false once d is slim.
func (d *Deliberation) Cached() bool { return d.of != nil && d.of.cached }

// Recent returns [Request.Recent] of the call.
func (d *Deliberation) Recent() int {
	if d.slim != nil {
		return d.slim.recent
	}
	return d.of.recent
}

// Slim drops the raw input, which may hold whole files, and what no rule sees: effects
// that only deny, and what the call may change. Then only rules that read the input cannot
// be explained.
func (d *Deliberation) Slim() {
	d.slim, d.of = d.of.slimInput(), nil
}

// Size estimates the memory that the deliberation uses, in bytes.
func (d *Deliberation) Size() int {
	n := 1024 + effects.SizeOf(d.made.all)
	if d.slim != nil {
		n += effects.SizeOfClaims(d.slim.result.Claimed) + effects.SizeOf(d.slim.result.Rest) + d.slim.call.Size()
	} else {
		n += effects.SizeOfClaims(d.of.res.Claimed) + effects.SizeOf(d.of.res.Rest) + d.of.call.Size()
	}
	for i := range d.made.inputs {
		n += 160 * len(d.made.inputs[i].findings.Fired)
	}
	return n
}

// Len returns the number of the call's effects.
func (d *Deliberation) Len() int { return len(d.made.all) }

// Effect returns the i-th effect of the call.
func (d *Deliberation) Effect(i int) *effects.Effect { return &d.made.all[i] }

// Effects returns all effects; Effect.Via is an index into them.
func (d *Deliberation) Effects() []effects.Effect { return d.made.all }

// Input returns what rules saw of an effect.
func (d *Deliberation) Input(i int) *Input {
	in := d.input()
	in.Effect = &in.All[i]
	return in
}

// Context returns the folders that rule lines are relative to.
func (d *Deliberation) Context() pattern.Context {
	in := d.input()
	return pattern.Context{Project: in.Result.Project, Home: in.Call.User.Home, Cwd: in.Call.Cwd}
}

// OnlyOrg reports whether allows of user and project are ignored.
func (d *Deliberation) OnlyOrg() bool {
	return len(d.made.inputs) > 0 && d.made.inputs[0].findings.OnlyOrg
}

// Trusted reports whether the project's allows count.
func (d *Deliberation) Trusted() bool { return d.input().Trusted }

// Fired returns the rules that fired for an effect, including overridden ones.
func (d *Deliberation) Fired(i int) []Finding { return d.made.inputs[i].findings.Fired }

// Fence says why permd itself forbids an effect, "" if it does not.
func (d *Deliberation) Fence(i int) string { return d.made.inputs[i].fence }

// Reject returns the remembered reject that matches an effect, nil if there is none.
func (d *Deliberation) Reject(i int) *Choice { return d.made.inputs[i].reject }

// Result returns the decision of an effect.
func (d *Deliberation) Result(i int) EffectDecision {
	return explain(&d.made.all[i], &d.made.results[i])
}

// Inherited reports whether an effect took its allow from its run.
func (d *Deliberation) Inherited(i int) bool {
	e := &d.made.all[i]
	return e.Inherent() && d.made.results[i].verdict == Allow && d.made.inputs[i].run != nil && d.made.results[i].by == d.made.inputs[i].run.by &&
		pick(d.made.results[i].rules, SetAllow, anyLayer) != nil && pick(d.Fired(i), SetAllow, anyLayer) == nil
}

// LineKind says as what a proposed line is tried.
type LineKind int

// The kinds of proposed lines.
const (
	AsRule   LineKind = iota // an entry of the person's rules.yaml
	AsChoice                 // a remembered allow
)

// With returns what would be decided of each effect if the person had these lines.
// It applies the precedence table itself, so that no line is suggested that would not
// help.
func (d *Deliberation) With(lines []*pattern.Pattern, as LineKind) []EffectDecision {
	now := make([]effectResult, len(d.made.results))
	said := make([]EffectDecision, len(d.made.results))
	ctx := d.Context()
	if as == AsChoice {
		ctx = pattern.Context{Project: ctx.Project} // memory knows no more
	}
	for _, inherent := range []bool{false, true} {
		for i := range d.made.results {
			e := &d.made.all[i]
			if e.Inherent() != inherent {
				continue
			}
			v := d.made.inputs[i]
			if inherent && e.Via.Effect >= 0 && e.Via.Effect < len(now) {
				v.run = &now[e.Via.Effect]
			}
			for _, p := range lines {
				// A remembered line is about effects of its own kind alone.
				if (as == AsRule || p.Kind == e.Kind) && p.Match(e, d.made.all, ctx) {
					v.add(p, e, d.made.all, ctx, as)
				}
			}
			if d.made.results[i].row == RowFailure {
				now[i] = d.made.results[i] // no line fixes what broke
			} else {
				now[i] = precede(e, &v)
			}
			said[i] = explain(e, &now[i])
		}
	}
	return said
}

// add adds a line that matches.
func (v *effectInputs) add(p *pattern.Pattern, e *effects.Effect, all []effects.Effect, ctx pattern.Context, as LineKind) {
	exact := p.Exact(e, all, ctx)
	if as == AsChoice {
		if v.allow == nil || exact {
			v.allow = &Choice{Exact: exact, Label: p.String()}
		}
		return
	}
	f := Finding{
		Rule: RuleRef{ID: "a new line", Layer: User}, Set: SetAllow,
		Reason: strings.Join([]string{"listed under allow", string(p.Kind), p.String()}, " "),
	}
	if exact {
		f.Covers = ^effects.Tags(0)
	}
	// The findings are shared with the decision that was made.
	v.findings.Fired = append(append([]Finding(nil), v.findings.Fired...), f)
}
