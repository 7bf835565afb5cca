package decisions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/permd/permd/decisions/effects"
)

// Engine decides calls. Its members are set once, before the first call; it is
// safe for concurrent use.
type Engine struct {
	Policy  Policy
	Memory  Memory
	Journal Journal
	// Proposer says what could be remembered; nil when nothing is offered.
	Proposer Proposer

	// FS is the file system that paths are resolved in, Own are permd's own
	// files (see effects.World).
	FS  effects.FS
	Own effects.Own
	// PID is the daemon's process, which no call may end; 0 when there is none.
	PID int

	Now   func() time.Time
	NewID func() string // unique, sorted by time
	Log   *slog.Logger
}

// Decide decides the calls of one request with one policy snapshot and returns
// a decision for each, in order, after all are in the journal. It never fails:
// what goes wrong ends in ask or deny, decided by failure.
func (e *Engine) Decide(ctx context.Context, reqs ...*Request) []*Decision {
	if len(reqs) == 0 {
		return nil
	}
	start := e.Now()
	first := reqs[0]
	w := effects.World{FS: e.FS, Own: e.Own}
	scene := w.Scene(&first.Call)
	project := scene.Project()
	snap, err := e.Policy.Snapshot(first.Peer.UID, project)

	decided := make([]*Decision, len(reqs))
	records := make([]*Record, len(reqs))
	var before batch
	for i, req := range reqs {
		d := &Decision{ID: e.NewID(), CallID: req.Call.ID}
		if err != nil {
			d.fail(Ask, "the rules are not ready: "+err.Error())
		} else {
			d.Policy.Digest = snap.Digest()
			if i > 0 {
				before.prepare(&req.Call, snap.Profiles())
				scene = w.Scene(&req.Call)
			}
			after := e.decide(ctx, snap, req, scene, d, start)
			before.note(d, after)
		}
		decided[i] = d
		records[i] = record(req, d, project, start)
	}
	latency := e.Now().Sub(start).Nanoseconds()
	for i, r := range records {
		r.LatencyNS, r.Decision = latency, *decided[i]
	}
	if err := e.Journal.Append(ctx, records...); err != nil {
		e.Log.Error("decision not logged, asking", "decisions", len(records), "error", err)
		for _, d := range decided {
			if d.Verdict == Allow {
				d.fail(Ask, "the decision could not be logged")
			}
		}
	}
	return decided
}

// decide fills d, and returns what the call may change of where paths lead. A
// panic anywhere below is a failure, never an answer.
func (e *Engine) decide(
	ctx context.Context, snap Snapshot, req *Request, scene *effects.Scene, d *Decision, now time.Time,
) (after effects.Disturbance) {
	defer func() {
		if r := recover(); r != nil {
			e.Log.Error("deciding panicked", "decision", d.ID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			d.fail(Stricter(Ask, snap.OnFailure()), "deciding failed")
			after = effects.Everything()
		}
	}()
	w := effects.World{FS: e.FS, Own: e.Own, Table: snap.Table(), Profiles: snap.Profiles()}
	res := w.In(scene)
	d.Defects, d.Folders = res.Defects, res.Folders

	in := &Input{All: res.Effects, Call: &req.Call, Result: &res, Session: req.Session, Trusted: snap.Trusted(), Now: now}
	query := &MemoryQuery{
		UID: req.Peer.UID, Session: req.Session, Project: res.Project,
		ProjectKey: ProjectKey(e.FS, res.Project), All: res.Effects, Now: now,
	}
	person := needsPerson(req, &res)
	outcomes := make([]outcome, len(res.Effects))
	heard := make([]voices, len(res.Effects))

	// An inherent effect takes its allow from its run, so runs come first.
	for _, inherent := range []bool{false, true} {
		for i := range res.Effects {
			eff := &res.Effects[i]
			if eff.Inherent() != inherent {
				continue
			}
			in.Effect, query.Effect, query.Target = eff, eff, targetOf(e.FS, eff.Run)
			v := &heard[i]
			*v = voices{fence: fences{e.PID}.why(eff), person: person, trusted: snap.Trusted()}
			if inherent && eff.Via.Effect >= 0 && eff.Via.Effect < len(outcomes) {
				v.run = &outcomes[eff.Via.Effect]
			}
			outcomes[i] = e.effect(ctx, snap, in, query, v)
		}
	}
	d.conclude(res.Effects, outcomes)
	if d.Verdict == Ask && e.Proposer != nil {
		e.offer(d, query, heard, outcomes)
	}
	return res.After
}

// effect asks policy and memory about one effect.
func (e *Engine) effect(ctx context.Context, snap Snapshot, in *Input, q *MemoryQuery, v *voices) outcome {
	var err error
	if v.reject, v.allow, err = e.Memory.Match(q); err != nil {
		// Rejects stay, allows are off: the person is asked again.
		v.allow = nil
	}
	if v.findings, err = snap.Evaluate(ctx, in); err != nil {
		e.Log.Warn("policy failed, asking", "kind", in.Effect.Kind, "error", err)
		failed := outcome{
			verdict: Stricter(Ask, snap.OnFailure()), row: RowFailure, by: ByFailure,
			needed: NeededByRule, reason: "policy failed: " + reasonOf(err),
		}
		// What the layers that could be evaluated say, and what is known without
		// policy, may still be stricter.
		if o := precede(in.Effect, v); o.verdict == Deny {
			return o
		}
		return failed
	}
	return precede(in.Effect, v)
}

// needsPerson says why the whole call needs a person (DESIGN 4.2, row 3).
func needsPerson(req *Request, res *effects.Result) string {
	switch {
	case len(res.Defects) > 0:
		return "the request is defective: " + res.Defects[0].Text
	case res.Completeness == effects.None || res.Missing != "":
		return "the call is not fully known: " + res.Missing
	case req.HarnessAsks != "":
		return "the harness wants a person: " + req.HarnessAsks
	case secretLeaves(res.Effects):
		return "a secret is read and the network is reached in one call"
	}
	return ""
}

// secretLeaves reports whether a call both reads a secret and reaches something
// other than this machine.
func secretLeaves(effs []effects.Effect) bool {
	var secret, leaves bool
	for i := range effs {
		switch e := &effs[i]; e.Kind {
		case effects.KindRead:
			secret = secret || e.Tags.Has(effects.Secret)
		case effects.KindConnect:
			leaves = leaves || !e.Tags.Has(effects.Loopback)
		}
	}
	return secret && leaves
}

// conclude makes the decision from what was decided of each effect.
func (d *Decision) conclude(effs []effects.Effect, outcomes []outcome) {
	if len(outcomes) == 0 {
		// A call always has an effect; one without is not understood.
		d.fail(Ask, "the call has no effects that permd understands")
		return
	}
	d.Verdict = Allow
	d.Needed = NotNeeded
	lead := &outcomes[0]
	for i := range outcomes {
		o := &outcomes[i]
		d.Effects = append(d.Effects, explain(&effs[i], o))
		if o.verdict.strictness() > lead.verdict.strictness() ||
			o.verdict == lead.verdict && o.verdict == Ask && o.needed == NeededByRule && lead.needed != NeededByRule {
			lead = o
		}
	}
	d.Verdict, d.Reason, d.Message, d.By = lead.verdict, lead.reason, lead.message, lead.by
	if d.Verdict == Ask {
		d.Needed = lead.needed
	}
	if d.Verdict == Allow {
		for i := range outcomes {
			if outcomes[i].by == ByMemory {
				d.By = ByMemory
			}
		}
		if n := len(outcomes); n > 1 {
			d.Reason = fmt.Sprintf("all %d effects are allowed: %s …", n, lead.reason)
		}
	}
	d.Permanent = d.Verdict == Deny && lead.by == ByPolicy
}

// fail makes the decision one that something broke.
func (d *Decision) fail(v Verdict, reason string) {
	d.Verdict, d.Reason, d.By, d.Message, d.Permanent = v, reason, ByFailure, "", false
	d.Needed, d.Widths, d.Offer = NotNeeded, nil, nil
	if v == Ask {
		d.Needed = NeededByRule
	}
	if d.Effects == nil {
		d.Effects = []EffectDecision{}
	}
}

func explain(e *effects.Effect, o *outcome) EffectDecision {
	x := EffectDecision{
		Kind: e.Kind, Text: e.Text, From: e.From, Tags: e.Tags.Names(), Claimed: e.Claimed,
		Verdict: o.verdict, Reason: o.reason, Row: o.row, Rules: []RuleRef{},
	}
	for _, r := range o.rules {
		x.Rules = append(x.Rules, r.Rule)
	}
	if o.choice != nil {
		x.ChoiceID = o.choice.ID
	}
	return x
}

func record(req *Request, d *Decision, project string, now time.Time) *Record {
	c := &req.Call
	return &Record{
		Time: now, Peer: req.Peer, Agent: c.Agent, Client: c.Client, Session: req.Session,
		Protocol: c.Protocol, Tool: c.Tool.Name, Cwd: c.Cwd, Project: project, Decision: *d,
	}
}

// reasonOf keeps an error's text short: it is shown to people and stored.
func reasonOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "it took too long"
	}
	const most = 300
	s := err.Error()
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}
