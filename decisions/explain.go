package decisions

import (
	"strings"

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
	// Raw is set as long as the call's raw input is held, for rules that read it.
	Raw bool

	input   Input
	inputs  []effectInputs
	results []effectResult
	of      *evaluation // nil once it is slim
}

// Slim drops the raw input, which may hold whole files, and what no rule sees: effects
// that only deny, and what the call may change. Then only rules that read the input cannot
// be explained.
func (d *Deliberation) Slim() {
	slim := d.of.slimInput()
	d.input.Call, d.input.Result, d.input.Scratch, d.Raw, d.of = &slim.call, slim.result, nil, false, nil
}

// Size estimates the memory that the deliberation uses, in bytes.
func (d *Deliberation) Size() int {
	n := 1024 + sizeOf(d.input.All) + sizeOf(d.input.Result.Rest) + sizeOfCall(d.input.Call)
	for i := range d.inputs {
		n += 160 * len(d.inputs[i].findings.Fired)
	}
	return n
}

// Len returns the number of the call's effects.
func (d *Deliberation) Len() int { return len(d.input.All) }

// Effect returns the i-th effect of the call.
func (d *Deliberation) Effect(i int) *effects.Effect { return &d.input.All[i] }

// Effects returns all effects; Effect.Via is an index into them.
func (d *Deliberation) Effects() []effects.Effect { return d.input.All }

// Input returns what rules saw of an effect.
func (d *Deliberation) Input(i int) *Input {
	in := d.input
	in.Effect, in.Scratch = &in.All[i], nil
	return &in
}

// Context returns the folders that rule lines are relative to.
func (d *Deliberation) Context() pattern.Context {
	return pattern.Context{Project: d.input.Result.Project, Home: d.input.Call.User.Home, Cwd: d.input.Call.Cwd}
}

// OnlyOrg reports whether allows of user and project are ignored.
func (d *Deliberation) OnlyOrg() bool {
	return len(d.inputs) > 0 && d.inputs[0].findings.OnlyOrg
}

// Trusted reports whether the project's allows count.
func (d *Deliberation) Trusted() bool { return d.input.Trusted }

// Fired returns the rules that fired for an effect, including overridden ones.
func (d *Deliberation) Fired(i int) []Finding { return d.inputs[i].findings.Fired }

// Fence says why permd itself forbids an effect, "" if it does not.
func (d *Deliberation) Fence(i int) string { return d.inputs[i].fence }

// Reject returns the remembered reject that matches an effect, nil if there is none.
func (d *Deliberation) Reject(i int) *Choice { return d.inputs[i].reject }

// Result returns the decision of an effect.
func (d *Deliberation) Result(i int) EffectDecision { return explain(&d.input.All[i], &d.results[i]) }

// Inherited reports whether an effect took its allow from its run.
func (d *Deliberation) Inherited(i int) bool {
	e := &d.input.All[i]
	return e.Inherent() && d.results[i].verdict == Allow && d.inputs[i].run != nil && d.results[i].by == d.inputs[i].run.by &&
		pick(d.results[i].rules, SetAllow, anyLayer) != nil && pick(d.Fired(i), SetAllow, anyLayer) == nil
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
	now := make([]effectResult, len(d.results))
	said := make([]EffectDecision, len(d.results))
	ctx := d.Context()
	if as == AsChoice {
		ctx = pattern.Context{Project: ctx.Project} // memory knows no more
	}
	for _, inherent := range []bool{false, true} {
		for i := range d.results {
			e := &d.input.All[i]
			if e.Inherent() != inherent {
				continue
			}
			v := d.inputs[i]
			if inherent && e.Via.Effect >= 0 && e.Via.Effect < len(now) {
				v.run = &now[e.Via.Effect]
			}
			for _, p := range lines {
				// A remembered line is about effects of its own kind alone.
				if (as == AsRule || p.Kind == e.Kind) && p.Match(e, d.input.All, ctx) {
					v.add(p, e, d.input.All, ctx, as)
				}
			}
			if d.results[i].row == RowFailure {
				now[i] = d.results[i] // no line fixes what broke
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
