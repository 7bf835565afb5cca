// Package explain explains why a decision was made and what would allow its call.
// It works from the journal's record and, for recent decisions, from the
// decisions.Deliberation that the daemon keeps in memory.
package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/rules"
)

// Explanation is the output of permd explain. Its JSON form is stable.
type Explanation struct {
	Decision *decisions.Decision `json:"decision"`
	Call     explainedCall       `json:"call"`
	// Known is set if the deliberation was still in memory. Otherwise the only
	// fired rules are those that decided, and there are no near rules and no
	// suggestions.
	Known       bool              `json:"known"`
	Effects     []explainedEffect `json:"effects"`
	Suggestions []suggestion      `json:"ways"`      // changes that would allow the call
	Obstacles   []obstacle        `json:"obstacles"` // why there are none
	// More is set if a bound was reached before all near rules and suggestions were
	// examined.
	More bool `json:"more,omitzero"`

	// Recreated says by which rules the call was decided again to explain it, "" if its
	// deliberation was still in memory.
	Recreated string `json:"recreated,omitzero"`
	// Why is why it could not be decided again, if it is not Known.
	Why string `json:"why,omitzero"`

	// TrustProblem is why the allows of the project did not count although the person trusts, or
	// trusted, it; "" for nothing.
	TrustProblem string `json:"trustProblem,omitzero"`

	// Unlogged is set for a decision that is in no log.
	Unlogged bool `json:"unlogged,omitzero"`

	deliberation *decisions.Deliberation
}

// explainedCall describes the call, as far as it is known.
type explainedCall struct {
	Time    time.Time     `json:"time,omitzero"`
	Tool    string        `json:"tool,omitzero"`
	Agent   effects.Party `json:"agent,omitzero"`
	Session string        `json:"session,omitzero"`
	Cwd     string        `json:"cwd,omitzero"`
	Project string        `json:"project,omitzero"`
	Answer  string        `json:"answer,omitzero"` // the person's
	// Author is who gave the answer, nil if that is not known.
	Author *author.Identity `json:"author,omitzero"`
	// Arguments are the tool's, masked, where they were kept.
	Arguments string `json:"arguments,omitzero"`
	// Claims are sentences about what the agent claims of the call: paths, status, options
	// and the names of the members of _meta.
	Claims []string `json:"claims,omitzero"`
}

// explainedEffect is one effect with all rules that matched it.
type explainedEffect struct {
	decisions.EffectDecision
	Why string `json:"why"` // the row of the precedence table, in words
	// Inherited is set when the effect takes its allow from its run.
	Inherited bool `json:"inherited,omitzero"`
	// Table is the file and line of the layer's program entry, if it has one.
	Table string      `json:"table,omitzero"`
	Fired []firedRule `json:"fired"`
	// Near are the rules that nearly matched and would have changed the verdict.
	Near []rules.Near `json:"near"`
}

// firedRule is a rule that fired.
type firedRule struct {
	decisions.RuleRef
	Set     decisions.Set `json:"set"`
	Reason  string        `json:"reason"`
	Decided bool          `json:"decided"` // whether it determined the verdict
}

// rowDescriptions describes the rows of the precedence table, as docs/policy.md does.
var rowDescriptions = []string{
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
	if row < 0 || row >= len(rowDescriptions) {
		return "not known"
	}
	return rowDescriptions[row]
}

// why describes the row that decided an effect. The effect of a run that a choice allows is
// allowed at the row of a rule.
func why(e *decisions.EffectDecision) string {
	if e.Row == decisions.RowAllow && e.ChoiceID != "" {
		return "a remembered allow of its run covers it"
	}
	return rowWords(e.Row)
}

// Record explains a decision in the journal. from is its deliberation, nil if that
// is no longer in memory.
func Record(ctx context.Context, r *decisions.Record, from *decisions.Deliberation) *Explanation {
	x := &Explanation{Decision: &r.Decision, deliberation: from, Call: explainedCall{
		Time: r.Time, Tool: r.Tool, Agent: r.Agent, Session: r.Session.ID, Cwd: r.Cwd, Project: r.Project,
	}}
	if r.Answer != nil {
		x.Call.Answer, x.Call.Author = string(r.Answer.Verdict), r.Answer.Author
	}
	x.effects()
	x.claims()
	x.fill(ctx)
	return x
}

// Decision explains a decision that was just made.
func Decision(ctx context.Context, d *decisions.Decision, from *decisions.Deliberation) *Explanation {
	x := &Explanation{Decision: d, deliberation: from}
	if from != nil && from.Len() > 0 {
		in := from.Input(0)
		x.Call = explainedCall{
			Time: in.Now, Tool: in.Call.Tool.Name, Agent: in.Call.Agent, Session: in.Session.ID,
			Cwd: in.Call.Cwd, Project: in.Result.Project,
		}
	}
	x.effects()
	x.claims()
	x.fill(ctx)
	return x
}

// maxClaims bounds the claims that an explanation lists.
const maxClaims = 32

// claims sets Claims. It leaves out the values of _meta, which may be secrets.
func (x *Explanation) claims() {
	if x.deliberation == nil || x.deliberation.Len() == 0 {
		return
	}
	in := x.deliberation.Input(0)
	cl := &in.Call.Claims
	var list []string
	if cl.Status != "" {
		list = append(list, "status "+cl.Status)
	}
	if len(cl.Options) > 0 {
		list = append(list, "options "+strings.Join(cl.Options, ", "))
	}
	for i := range in.Result.Claimed {
		p := &in.Result.Claimed[i]
		words := strings.ReplaceAll(p.Source, "_", " ")
		if p.Operation != "" {
			words += " (" + p.Operation + ")"
		}
		list = append(list, words+" "+cmp.Or(p.Path, p.AsWritten)+", "+strings.Join(p.Tags.Names(), ", "))
	}
	for _, n := range effects.NamedIn(cl.Meta) {
		list = append(list, "_meta "+n.Name)
	}
	if n := len(list) - maxClaims; n > 0 {
		list = append(list[:maxClaims:maxClaims], fmt.Sprintf("%d more", n))
	}
	x.Call.Claims = list
}

// effects fills in what the decision itself holds.
func (x *Explanation) effects() {
	x.Effects, x.Suggestions, x.Obstacles = []explainedEffect{}, []suggestion{}, []obstacle{}
	for _, e := range x.Decision.Effects {
		one := explainedEffect{EffectDecision: e, Why: why(&e), Fired: []firedRule{}, Near: []rules.Near{}}
		for _, r := range e.Rules {
			f := firedRule{RuleRef: r, Set: decisions.Set(e.Verdict), Reason: e.Reason, Decided: e.Row != decisions.RowGuarded}
			if !slices.Contains(one.Fired, f) {
				one.Fired = append(one.Fired, f)
			}
		}
		x.Effects = append(x.Effects, one)
	}
	x.Known = x.deliberation != nil && x.deliberation.Len() == len(x.Effects) && len(x.Effects) > 0
}

// maxExplained bounds the number of effects for which near rules are searched.
const maxExplained = 32

// fill fills in what only the deliberation holds.
func (x *Explanation) fill(ctx context.Context) {
	if !x.Known {
		return
	}
	near, _ := x.deliberation.Snapshot.(rules.Explainer)
	if s, ok := x.deliberation.Snapshot.(*rules.Snapshot); ok && x.Decision.Verdict == decisions.Ask {
		x.TrustProblem = s.TrustProblem()
	}
	for i := range x.Effects {
		e := &x.Effects[i]
		fired := x.deliberation.Fired(i)
		if r := x.deliberation.Effect(i).Run; r != nil {
			e.Table = r.Table
		}
		e.Inherited = x.deliberation.Inherited(i)
		if o := x.deliberation.Result(i).Outdated; o != nil && e.Outdated != nil {
			e.Outdated = o // with the texts, which the journal does not keep
		}
		x.fired(e, fired)
		if near == nil || e.Inherited {
			continue
		}
		if i >= maxExplained {
			x.More = true
			continue
		}
		for _, set := range wantedSets(&e.EffectDecision) {
			list, more := near.Nearest(ctx, x.deliberation.Input(i), set, fired)
			x.More = x.More || more
			for _, n := range list {
				// That a shipped ask or deny did not match an allowed effect
				// is not worth showing.
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

// fired lists all rules that fired, those that decided first. A list entry may be
// compiled to several rules, so duplicates are dropped.
func (x *Explanation) fired(e *explainedEffect, fired []decisions.Finding) {
	if e.Inherited {
		return // the rules of its run are listed there
	}
	var decided, overridden []firedRule
	for _, f := range fired {
		one := firedRule{RuleRef: f.Rule, Set: f.Set, Reason: f.Reason}
		// The decision of a guarded effect names the asks that explain it, but no
		// rule decided.
		one.Decided = e.Row != decisions.RowGuarded && string(f.Set) == string(e.Verdict) && slices.Contains(e.Rules, f.Rule)
		if one.Decided && !slices.Contains(decided, one) {
			decided = append(decided, one)
		} else if !one.Decided && !slices.Contains(overridden, one) {
			overridden = append(overridden, one)
		}
	}
	e.Fired = append(append(e.Fired[:0], decided...), overridden...)
}

// wantedSets returns the sets in which one more rule could have changed the
// verdict: an allow if the base layer asked or no rule matched, a deny or an ask if
// the effect was allowed.
func wantedSets(e *decisions.EffectDecision) []decisions.Set {
	switch {
	case e.Verdict == decisions.Allow:
		return []decisions.Set{decisions.SetDeny, decisions.SetAsk}
	case e.Verdict == decisions.Ask && e.Row >= decisions.RowBase:
		return []decisions.Set{decisions.SetAllow}
	}
	return nil
}

// Moved returns a function that replaces folders, or files, in a text, as [Explanation.MoveRules]
// does.
func Moved(pairs ...[2]string) func(text string) string {
	pairs = slices.Clone(pairs)
	slices.SortStableFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	var list []string
	for _, p := range pairs {
		list = append(list, p[0], p[1])
	}
	return strings.NewReplacer(list...).Replace // what was replaced is not looked at again
}

// MoveRules replaces folders, or files, in the places of rules: they were read from a copy.
// Each pair is what is replaced and by what. Where one begins with another, the longer one is
// replaced.
func (x *Explanation) MoveRules(pairs ...[2]string) {
	moved := Moved(pairs...)
	move := func(text *string) { *text = moved(*text) }
	refs := func(rules []decisions.RuleRef) []decisions.RuleRef {
		rules = slices.Clone(rules)
		for i := range rules {
			move(&rules[i].At)
		}
		return rules
	}
	x.Decision.Effects = slices.Clone(x.Decision.Effects)
	for i := range x.Decision.Effects {
		e := &x.Decision.Effects[i]
		e.Rules = refs(e.Rules)
	}
	for i := range x.Effects {
		e := &x.Effects[i]
		move(&e.Table)
		e.Rules = refs(e.Rules)
		for k := range e.Fired {
			move(&e.Fired[k].At)
		}
		for k := range e.Near {
			move(&e.Near[k].Rule.At)
		}
	}
	for i := range x.Obstacles {
		move(&x.Obstacles[i].Text)
	}
	move(&x.Decision.Reason)
}
