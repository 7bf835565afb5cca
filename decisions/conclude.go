package decisions

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/targets"
)

// decide fills d and returns what the call may change for later calls. A panic anywhere
// below is a failure, never an answer.
func (e *Engine) decide(
	ctx context.Context, snap Snapshot, req *Request, received *intake, d *Decision, now time.Time,
) (after effects.Disturbance) {
	defer func() {
		if r := recover(); r != nil {
			e.log.Error("deciding panicked", "decision", d.ID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			d.fail(Stricter(Ask, snap.OnFailure()), "deciding failed")
			d.Opaque, d.Stateful = true, true
			after = effects.UnknownDisturbance()
		}
	}()
	m := e.evaluation(ctx, snap, received, now)
	res := &m.res
	e.notPlain.note(res.Effects)
	query := &received.query
	*query = MemoryQuery{
		UID: req.Peer.UID, Session: req.Session, Project: res.Project,
		ProjectKey: m.projectKey, All: res.Effects, Call: m.call, Now: now, Trees: e.trees,
	}
	found := e.recall(m, query)
	received.evaluated, received.found, received.at = m, found, now
	c := m.unremembered.Load()
	if found != nil || c == nil {
		c = e.conclude(ctx, m, found)
		if found == nil && !m.failed {
			m.unremembered.Store(c)
		}
	}
	asked := c
	if e.pause != nil {
		if p := e.pause(req.Peer.UID); p != nil {
			received.paused = true
			c = p.over(m, c, func(results []effectResult) string { return e.passedOn(ctx, m, c.all, results, now) })
		}
	}
	id, call, digest := d.ID, d.CallID, d.Policy
	*d = c.decision
	d.ID, d.CallID, d.Policy = id, call, digest
	d.Contents = e.contents(m, d)
	own := len(res.Effects)
	if d.Verdict == Ask && e.proposer != nil {
		offered := *query // it is kept
		query = &offered
		query.Effect, query.Target = nil, nil
		query.Call = received.withoutMessage(m.call) // an offer is kept, and counts no message
		e.offer(d, m, query, asked.inputs[:own], asked.results[:own])
		if len(c.all) > own {
			d.Widths = nil // none answers what stopped at a hint
			d.NotRemembered = "it may do more than is certain, and an answer is about what is"
			if d.Offer != nil {
				d.Offer.Sets = nil
			}
		}
	}
	if e.observe != nil {
		e.observe(&Deliberation{ID: d.ID, Snapshot: snap, now: now, made: c.effectResults, of: m})
	}
	return res.After
}

// memoryMatch is what memory says of one effect. err means that allows are off.
type memoryMatch struct {
	reject, allow *Choice
	err           error
	outdated      *Outdated // set only where memory says nothing else
}

// recall returns what memory says of the effects of a call, then of its hints, then of its
// rest; nil if it says nothing of any.
func (e *Engine) recall(m *evaluation, q *MemoryQuery) (list []memoryMatch) {
	own, hints := len(m.effects), len(m.hints)
	ask := func(i int, eff *effects.Effect, target *effects.Script) {
		q.Effect, q.Target = eff, target
		var r memoryMatch
		if r.reject, r.allow, r.err = e.memory.Match(q); r == (memoryMatch{}) {
			if e.renewer == nil || eff.Run == nil || eff.Run.Script == nil && !targets.BoundToFiles(eff.Run) {
				return
			}
			if r.outdated = e.renewer.Outdated(q); r.outdated == nil {
				return
			}
		}
		if r.err != nil {
			// Rejects stay, allows are off: the person is asked again.
			r.allow = nil
		}
		if list == nil {
			list = make([]memoryMatch, own+hints+len(m.rest))
		}
		list[i] = r
	}
	for i := range m.effects {
		ask(i, &m.res.Effects[i], m.effects[i].target)
	}
	for i := range m.hints {
		ask(own+i, &m.res.Hints[i], nil)
	}
	for i := range m.rest {
		ask(own+hints+i, &m.res.Rest[i], nil)
	}
	return list
}

// conclusion is what an evaluation and memory say together. One without memory belongs to
// its evaluation and is used for many requests, so nothing in it may be changed.
type conclusion struct {
	*effectResults
	// decision has no id, no call and no digest.
	decision Decision
}

// effectResults are the effects of a call with what the precedence table made of each.
type effectResults struct {
	all     []effects.Effect // with the hints that count
	inputs  []effectInputs
	results []effectResult

	// one is the memory of inputs and results for a call with one effect.
	one struct {
		inputs  [1]effectInputs
		results [1]effectResult
	}
}

// conclude applies the precedence table to an evaluation.
func (e *Engine) conclude(ctx context.Context, m *evaluation, found []memoryMatch) *conclusion {
	c := &conclusion{effectResults: new(effectResults)}
	d, res := &c.decision, &m.res
	d.Defects, d.Fingerprints = res.Defects, m.fingerprints
	if len(res.Folders)+len(res.Activated) > 0 {
		d.Shell = &LeftShell{Folders: res.Folders, Activated: res.Activated}
	}
	said := func(i int) (r memoryMatch) {
		if found != nil {
			r = found[i] // a failure if it is too short: a reject may be missing
		}
		return r
	}
	results := sized(&c.one.results, len(res.Effects))
	inputs := sized(&c.one.inputs, len(res.Effects))

	own := len(res.Effects)
	after := func(i int) memoryMatch { return said(own + i) }
	claims := e.claims(ctx, m, after)
	// An inherent effect takes its allow from its run, so runs come first.
	for _, inherent := range []bool{false, true} {
		for i := range res.Effects {
			eff, p := &res.Effects[i], &m.effects[i]
			if eff.Inherent() != inherent {
				continue
			}
			v := &inputs[i]
			*v = effectInputs{fence: p.fence, person: m.person, trusted: m.trustedRoot(), elsewhere: p.elsewhere, findings: p.findings}
			if inherent && eff.Via.Effect >= 0 && eff.Via.Effect < len(results) {
				v.run = &results[eff.Via.Effect]
			}
			if eff.Kind == effects.KindUse && v.run == nil {
				v.run = claims.answer(m.res.Hints, i)
			}
			results[i] = e.effect(ctx, m.snapshot, eff, p.err, said(i), v)
		}
	}
	all, inputs, results := e.hints(ctx, m, after, claims, inputs, results)
	for i := range m.unprofiled {
		u := &m.unprofiled[i]
		all, inputs = append(all, u.effect), append(inputs, u.inputs)
		results = append(results, e.effect(ctx, m.snapshot, &u.effect, u.err, memoryMatch{}, &u.inputs))
	}
	c.all, c.inputs, c.results = all, inputs, results
	shown := all
	after = func(i int) memoryMatch { return said(own + len(m.hints) + i) }
	if denied, why := e.deniedOfRest(ctx, m, after); denied != nil {
		shown = slices.Concat(all, denied)
		d.conclude(shown, slices.Concat(results, why))
	} else {
		d.conclude(all, results)
	}
	d.Details = details(shown, res.Project, m.call.User.Home)
	if len(all) > own {
		d.Fingerprints = append(slices.Clip(d.Fingerprints), fingerprints(m.call, all[own:], nil)...)
	}
	d.Opaque, d.Stateful = opaque(res.Effects, &res.After), stateful(res.Effects)
	return c
}

// hints applies the table to the hints of a call, and adds those that ask or deny to
// its effects. The others are dropped: they decided nothing.
func (e *Engine) hints(
	ctx context.Context, m *evaluation, said func(i int) memoryMatch, claims claimResults, inputs []effectInputs, results []effectResult,
) ([]effects.Effect, []effectInputs, []effectResult) {
	all := slices.Clip(m.res.Effects)
	for i := range m.res.Hints {
		eff, p := &m.res.Hints[i], &m.hints[i]
		if eff.StandsFor > 0 {
			if c := claims[i]; c.holdsUp(eff, inputs, results) {
				all, inputs, results = append(all, *eff), append(inputs, c.inputs), append(results, c.result)
			}
			continue
		}
		v := effectInputs{fence: p.fence, trusted: m.trustedRoot(), findings: p.findings}
		v.findings.Fired = ofPersons(eff, v.findings.Fired)
		o := e.effect(ctx, m.snapshot, eff, p.err, said(i), &v)
		if o.row == RowGuarded && !eff.Claimed {
			continue // what is certain of a guarded file is an effect of its own
		}
		if o.verdict == Ask && eff.NameOf > 0 && sameRulesAsk(&v, &inputs[eff.NameOf-1]) {
			continue // the answer to the effect itself is enough
		}
		if o.verdict != Allow {
			all, inputs, results = append(all, *eff), append(inputs, v), append(results, o)
		}
	}
	return all, inputs, results
}

// sameRulesAsk reports whether rules ask, and all of those also ask about the other effect.
func sameRulesAsk(v, other *effectInputs) bool {
	asks := pick(v.findings.Fired, SetAsk, anyLayer)
	return asks != nil && (v.reject == nil || !v.reject.Unsure) && all(asks, func(r Finding) bool {
		return slices.ContainsFunc(other.findings.Fired, func(o Finding) bool { return o.Set == SetAsk && o.Rule == r.Rule })
	})
}

// ofPersons leaves out the shipped rules if an effect is a guess. Their denies are about
// catastrophes that are certain to happen, not about one of several things that a call
// may do.
func ofPersons(e *effects.Effect, fired []Finding) []Finding {
	if !e.Guessed {
		return fired
	}
	return filter(fired, func(r Finding) bool { return !inBase(r) })
}

// effect applies the precedence table to one effect with what memory says of it. err is
// the error of evaluating the rules.
func (e *Engine) effect(ctx context.Context, snap Snapshot, eff *effects.Effect, err error, said memoryMatch, v *effectInputs) effectResult {
	v.reject, v.allow = said.reject, said.allow
	if err != nil {
		failed := effectResult{
			verdict: Stricter(Ask, snap.OnFailure()), row: RowFailure, by: ByFailure,
			needed: NeededByRule, reason: cmp.Or(abandonedReason(ctx), "policy failed: "+reasonOf(err)),
		}
		// The rules of the layers that could be evaluated, and the results that need no
		// policy, may still be stricter.
		if o := precede(eff, v); o.verdict == Deny {
			return o
		}
		return failed
	}
	o := precede(eff, v)
	if said.err != nil && o.verdict == Ask && memoryAnswers(o.row) {
		o.note = "; remembered allows are off (see permd status)"
	}
	if o.verdict == Ask && memoryAnswers(o.row) {
		o.outdated = said.outdated
	}
	return o
}

// conclude makes the decision from the results of its effects.
func (d *Decision) conclude(effs []effects.Effect, results []effectResult) {
	if len(results) == 0 {
		// A call always has an effect; one without is not understood.
		d.fail(Ask, "the call has no effects that permd understands")
		return
	}
	d.Verdict = Allow
	d.Needed = NotNeeded
	lead, at := &results[0], 0
	d.Effects = make([]EffectDecision, 0, len(results))
	for i := range results {
		o := &results[i]
		d.Effects = append(d.Effects, explain(&effs[i], o))
		if o.leads(&effs[i], lead, &effs[at]) {
			lead, at = o, i
		}
	}
	d.Verdict, d.Reason, d.Message, d.By = lead.verdict, lead.reason+lead.note, lead.message, lead.by
	if lead.outdated != nil {
		d.Reason = lead.outdated.reason() + "; " + d.Reason
	}
	if d.Verdict == Ask {
		d.Needed = lead.needed
	}
	if d.Verdict == Allow {
		for i := range results {
			if results[i].by == ByMemory {
				d.By = ByMemory
			}
		}
		d.Reason = reasonsOf(results)
	}
	d.Permanent = d.Verdict == Deny && lead.by == ByPolicy
}

// leads reports whether the answer to a call gives the reason of this result, not that of
// an earlier effect: the strictest one does, then one that a rule asks about, then one
// whose reason says more.
func (o *effectResult) leads(e *effects.Effect, lead *effectResult, of *effects.Effect) bool {
	switch {
	case o.verdict != lead.verdict:
		return o.verdict.strictness() > lead.verdict.strictness()
	case o.verdict != Ask:
		return false
	case o.needed != lead.needed:
		return o.needed == NeededByRule
	}
	return lead.by != ByFailure && o.tells(e) > lead.tells(of)
}

// tells returns how much the reason of a question says about the call.
func (o *effectResult) tells(e *effects.Effect) int {
	switch {
	case o.outdated != nil:
		return 4
	case o.row == RowDefault:
		return 0
	case len(o.rules) > 0 && o.rules[0].General && reasonFor(e, &o.rules[0]) == o.rules[0].Reason:
		return 1
	case e.Kind == effects.KindDelete:
		return 3
	}
	return 2
}

// reasonsOf returns why all effects are allowed: the first three distinct reasons.
func reasonsOf(results []effectResult) string {
	const limit = 3
	var reasons []string
	for i := range results {
		switch {
		case slices.Contains(reasons, results[i].reason):
		case len(reasons) == limit:
			return strings.Join(reasons, "; ") + "; and more"
		default:
			reasons = append(reasons, results[i].reason)
		}
	}
	return strings.Join(reasons, "; ")
}

// fail makes d a decision by failure, with an explanation of what broke.
func (d *Decision) fail(v Verdict, reason string) {
	d.Verdict, d.Reason, d.By, d.Message, d.Permanent = v, reason, ByFailure, "", false
	d.Needed, d.Widths, d.Offer, d.NotRemembered = NotNeeded, nil, nil, ""
	if v == Ask {
		d.Needed, d.NotRemembered = NeededByRule, "permd could not decide the call"
	}
	if d.Effects == nil {
		d.Effects = []EffectDecision{}
	}
}

func explain(e *effects.Effect, o *effectResult) EffectDecision {
	x := EffectDecision{
		Kind: e.Kind, Text: e.Text, From: e.From, Tags: e.Tags.Names(), Claimed: e.Claimed, Declared: e.Declared,
		Verdict: o.verdict, Reason: o.reason, Row: o.row, Rules: []RuleRef{},
	}
	for _, r := range o.rules {
		// One line of a list may be several rules of Rego.
		if !slices.Contains(x.Rules, r.Rule) {
			x.Rules = append(x.Rules, r.Rule)
		}
	}
	if o.choice != nil {
		x.ChoiceID = o.choice.ID
	}
	x.Outdated = o.outdated
	return x
}
