// Package explain says why a decision is what it is and what would make its call
// allowed, from the journal's record and, where it is still known, from what the
// decision was made of. The daemon keeps that for the latest decisions.
package explain

import (
	"context"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy"
)

// Explanation is what permd explain shows. Its JSON form is kept.
type Explanation struct {
	Decision *decisions.Decision `json:"decision"`
	Call     explainedCall       `json:"call"`
	// Known is set when permd still knew the call, and not only what the journal
	// holds of it: without it there are no fired rules but those that decided,
	// no near ones and no ways.
	Known       bool              `json:"known"`
	Effects     []explainedEffect `json:"effects"`
	Suggestions []suggestion      `json:"ways"`      // that would make the call allowed
	Obstacles   []obstacle        `json:"obstacles"` // why there is none
	// More is set when not all that may be near or a way was looked at.
	More bool `json:"more,omitzero"`

	from *decisions.Deliberation
}

// explainedCall is where a call came from, as far as it is known.
type explainedCall struct {
	Time    time.Time     `json:"time,omitzero"`
	Tool    string        `json:"tool,omitzero"`
	Agent   effects.Party `json:"agent,omitzero"`
	Session string        `json:"session,omitzero"`
	Cwd     string        `json:"cwd,omitzero"`
	Project string        `json:"project,omitzero"`
	Answer  string        `json:"answer,omitzero"` // the person's
}

// explainedEffect is one effect and all that spoke of it.
type explainedEffect struct {
	decisions.EffectDecision
	Why string `json:"why"` // the row in words
	// Inherited is set when the effect takes its allow from its run.
	Inherited bool `json:"inherited,omitzero"`
	// Table is the file and line of a layer that says what the run's program does.
	Table string      `json:"table,omitzero"`
	Fired []firedRule `json:"fired"`
	// Near are the rules that came closest to saying something else.
	Near []policy.Near `json:"near"`
}

// firedRule is a rule that fired.
type firedRule struct {
	decisions.RuleRef
	Set     decisions.Set `json:"set"`
	Reason  string        `json:"reason"`
	Decided bool          `json:"decided"` // it is one of those that decided
}

// rows are the rows of the precedence table in words, as docs/policy.md has them.
var rows = []string{
	decisions.RowFailure:    "something failed",
	decisions.RowDeny:       "a deny, of rules or of permd itself",
	decisions.RowReject:     "a remembered reject",
	decisions.RowPerson:     "a person is needed",
	decisions.RowOrgAsk:     "the organisation asks",
	decisions.RowGuarded:    "guarded, and nothing names it exactly",
	decisions.RowFirmAsk:    "a rule asks each time",
	decisions.RowRemembered: "a remembered allow",
	decisions.RowAsk:        "a rule of user or project asks",
	decisions.RowAllow:      "a rule of org, user or project allows",
	decisions.RowBase:       "the base layer",
	decisions.RowDefault:    "nothing spoke",
}

func rowWords(row int) string {
	if row < 0 || row >= len(rows) {
		return "not known"
	}
	return rows[row]
}

// Record explains what the journal holds of a decision, and with what it
// was made of all the rest; from is nil where that is not known any more.
func Record(ctx context.Context, r *decisions.Record, from *decisions.Deliberation) *Explanation {
	x := &Explanation{Decision: &r.Decision, from: from, Call: explainedCall{
		Time: r.Time, Tool: r.Tool, Agent: r.Agent, Session: r.Session.ID, Cwd: r.Cwd, Project: r.Project,
	}}
	if r.Answer != nil {
		x.Call.Answer = string(r.Answer.Verdict)
	}
	x.effects()
	x.fill(ctx)
	return x
}

// Decision explains a decision that was just made.
func Decision(ctx context.Context, d *decisions.Decision, from *decisions.Deliberation) *Explanation {
	x := &Explanation{Decision: d, from: from}
	if from != nil && from.Len() > 0 {
		in := from.Input(0)
		x.Call = explainedCall{
			Time: in.Now, Tool: in.Call.Tool.Name, Agent: in.Call.Agent, Session: in.Session.ID,
			Cwd: in.Call.Cwd, Project: in.Result.Project,
		}
	}
	x.effects()
	x.fill(ctx)
	return x
}

// effects takes over what the decision says.
func (x *Explanation) effects() {
	x.Effects, x.Suggestions, x.Obstacles = []explainedEffect{}, []suggestion{}, []obstacle{}
	for _, e := range x.Decision.Effects {
		one := explainedEffect{EffectDecision: e, Why: rowWords(e.Row), Fired: []firedRule{}, Near: []policy.Near{}}
		for _, r := range e.Rules {
			f := firedRule{RuleRef: r, Set: decisions.Set(e.Verdict), Reason: e.Reason, Decided: e.Row != decisions.RowGuarded}
			if !slices.Contains(one.Fired, f) {
				one.Fired = append(one.Fired, f)
			}
		}
		x.Effects = append(x.Effects, one)
	}
	x.Known = x.from != nil && x.from.Len() == len(x.Effects) && len(x.Effects) > 0
}

// maxExplained bounds the effects of a call that near rules and ways are looked
// for, in a call of hundreds.
const maxExplained = 32

// fill adds what only the deliberation knows.
func (x *Explanation) fill(ctx context.Context) {
	if !x.Known {
		return
	}
	near, _ := x.from.Snapshot.(policy.Explainer)
	for i := range x.Effects {
		e := &x.Effects[i]
		fired := x.from.Fired(i)
		if r := x.from.Effect(i).Run; r != nil {
			e.Table = r.Table
		}
		e.Inherited = x.from.Inherited(i)
		x.fired(e, fired)
		if near == nil || e.Inherited {
			continue
		}
		if i >= maxExplained {
			x.More = true
			continue
		}
		for _, set := range wantedSets(&e.EffectDecision) {
			list, more := near.Nearest(ctx, x.from.Input(i), set, fired)
			x.More = x.More || more
			for _, n := range list {
				// That the shipped asks and denies do not speak of what is
				// allowed is no news.
				if set == decisions.SetAllow || n.Rule.Layer != decisions.Base {
					e.Near = append(e.Near, n)
				}
			}
		}
	}
	if x.Decision.Verdict != decisions.Allow {
		x.findSuggestions()
	}
}

// fired lists all rules that fired, those that decided first. An entry of a list
// may be several rules.
func (x *Explanation) fired(e *explainedEffect, fired []decisions.Finding) {
	if e.Inherited {
		return // those of its run are listed
	}
	var by, beside []firedRule
	for _, f := range fired {
		one := firedRule{RuleRef: f.Rule, Set: f.Set, Reason: f.Reason}
		// Of a guarded effect the decision names the asks that say why, but no
		// rule decided.
		one.Decided = e.Row != decisions.RowGuarded && string(f.Set) == string(e.Verdict) && slices.Contains(e.Rules, f.Rule)
		if one.Decided && !slices.Contains(by, one) {
			by = append(by, one)
		} else if !one.Decided && !slices.Contains(beside, one) {
			beside = append(beside, one)
		}
	}
	e.Fired = append(append(e.Fired[:0], by...), beside...)
}

// wantedSets are the sets in which a rule would have changed the answer: where the
// base layer or nothing spoke an allow, and of what is allowed a deny or an ask.
func wantedSets(e *decisions.EffectDecision) []decisions.Set {
	switch {
	case e.Verdict == decisions.Allow:
		return []decisions.Set{decisions.SetDeny, decisions.SetAsk}
	case e.Verdict == decisions.Ask && e.Row >= decisions.RowBase:
		return []decisions.Set{decisions.SetAllow}
	}
	return nil
}
