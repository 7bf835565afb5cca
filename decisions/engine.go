package decisions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/fairshare"
)

// Config configures an Engine.
type Config struct {
	Policy  Policy
	Memory  Memory
	Journal Journal
	// OnLogFailure is the verdict for a call that may run and cannot be logged: Ask
	// if empty, or Deny.
	OnLogFailure Verdict
	// Proposer proposes what could be remembered. If nil, nothing is offered.
	Proposer Proposer
	// Observe, if not nil, is called with the deliberation of each decision before
	// the decision is logged. It must return quickly.
	Observe func(*Deliberation)

	// FS is the file system that paths are resolved in, Own are permd's own
	// files (see tools.World).
	FS  effects.FS
	Own paths.Own
	// System is set if calls come from users other than the one that the engine runs
	// as, who may not be able to read what it can. It must equal that of the Policy.
	System bool
	// PID is the daemon's process, which no call may end; 0 if there is none.
	PID int
	// Cache caches evaluations of calls. If nil, each call is evaluated.
	Cache *Cache
	// NotPlain, if not nil, counts shell text that is not plain.
	NotPlain *NotPlain
	// Unattended, if not nil, reports whether there is nobody to ask, so that calls
	// that would ask are denied. Its result may change at any time.
	Unattended func() bool

	// Underway, if not nil, knows the requests that are being decided.
	Underway *Underway
	// Deadline is how long deciding the calls of one request may take: what is not
	// decided by then is asked. 0 means 2 seconds.
	Deadline time.Duration

	// TakeApproval, if not nil, reports whether a person has approved the same
	// question out of band (permd allow), and consumes the approval.
	TakeApproval func(req *Request, d *Decision) bool
	// Digest returns the hash of a file's content and its size, if that is within the
	// limit. If nil, a late approval does not depend on the content of files.
	Digest func(path string, limit int64) (sum string, size int64, err error)

	Now   func() time.Time
	NewID func() string // unique, sorted by time
	Log   *slog.Logger
}

// Engine decides calls. It is safe for concurrent use.
type Engine struct {
	evaluator
	config       Config
	memory       Memory
	journal      Journal
	proposer     Proposer
	observe      func(*Deliberation)
	notPlain     *NotPlain
	unattended   func() bool
	takeApproval func(req *Request, d *Decision) bool
	digest       func(path string, limit int64) (sum string, size int64, err error)
	maxSummed    int64 // of a call, in bytes
	now          func() time.Time
	newID        func() string
}

// NewEngine returns a new engine. It is an error if a required member of the
// configuration is missing.
func NewEngine(c Config) (*Engine, error) {
	for _, m := range []struct {
		name   string
		absent bool
	}{
		{"Policy", c.Policy == nil}, {"Memory", c.Memory == nil}, {"Journal", c.Journal == nil}, {"FS", c.FS == nil},
		{"Now", c.Now == nil}, {"NewID", c.NewID == nil}, {"Log", c.Log == nil},
	} {
		if m.absent {
			return nil, fmt.Errorf("making an engine: %s is not set", m.name)
		}
	}
	// If policy and file access disagreed about whether there is one user or many, a
	// check would be silently skipped.
	if p, ok := c.Policy.(interface{ System() bool }); ok && p.System() != c.System {
		return nil, fmt.Errorf("making an engine: System is %v, and %v of its policy", c.System, p.System())
	}
	return &Engine{
		evaluator: evaluator{
			policy: c.Policy, fs: c.FS, own: c.Own, system: c.System, pid: c.PID, cache: c.Cache, log: c.Log,
		},
		memory: c.Memory, journal: c.Journal, proposer: c.Proposer, observe: c.Observe, notPlain: c.NotPlain,
		unattended: c.Unattended, takeApproval: c.TakeApproval, digest: c.Digest, maxSummed: maxSummed, now: c.Now, newID: c.NewID, config: c,
	}, nil
}

// With returns a copy of e with some members changed.
func (e *Engine) With(change func(*Config)) (*Engine, error) {
	c := e.config
	change(&c)
	return NewEngine(c)
}

// World returns what effects of calls are derived with, for callers that need more
// of them than a decision shows.
func (e *Engine) World(snap Snapshot) tools.World {
	return e.world(e.fs, snap)
}

// Protect sets permd's own files, if they are only known once its sockets are open. It
// must be called before the first call is decided.
func (e *Engine) Protect(own paths.Own) { e.own, e.config.Own = own, own }

// Decide decides the calls of one request by one policy snapshot and returns a
// decision for each, in order, after all are in the journal. It never fails: an
// error becomes an ask or a deny, decided by failure.
func (e *Engine) Decide(ctx context.Context, reqs ...*Request) []*Decision {
	if len(reqs) == 0 {
		return nil
	}
	turn := fairshare.TurnOf(ctx)
	_, _ = turn.Resume(ctx) // what cannot wait any more is decided without
	start := e.now()
	w := e.config.Underway.Begin(AtRules, start)
	defer w.End()
	limit := e.within(ctx, start, w, len(reqs))
	ctx = limit
	first := e.receive(ctx, reqs[0], len(reqs) == 1)
	defer e.cache.release(first.buffer)
	snap, err := e.policy.Snapshot(reqs[0].Peer.UID, first.project)
	if first.cached != nil && err == nil && first.cached.evaluation.snapshot != snap {
		// The rules have changed. The call is looked at again, and where it belongs
		// as well: the rules must be those of the project that it is judged by.
		first.resolve(ctx, &e.evaluator, cacheableRequest(reqs[0]))
		snap, err = e.policy.Snapshot(reqs[0].Peer.UID, first.project)
	}
	decided := make([]*Decision, len(reqs))
	records := make([]*Record, len(reqs))
	var before earlierCalls
	why := reserveLeast(turn, len(reqs))
	for i, req := range reqs {
		if i > 0 && why == "" {
			why = limit.betweenCalls()
		}
		d := &Decision{ID: e.newID(), CallID: req.Call.ID}
		if err != nil {
			d.fail(Ask, "the rules are not ready: "+err.Error())
		} else if why != "" {
			d.Policy.Digest = snap.Digest()
			d.fail(Stricter(Ask, snap.OnFailure()), why)
			d.Opaque, d.Stateful = true, true
			before.add(d, effects.UnknownDisturbance())
		} else {
			d.Policy.Digest = snap.Digest()
			received := first
			if i > 0 {
				before.prepare(&req.Call, snap.Profiles())
				received = e.receive(ctx, req, false)
			}
			after := e.decide(ctx, snap, req, received, d, start)
			if d.Unsettled = before.mayAffect(e.fs, d); !d.Unsettled {
				e.applyApproval(req, d)
			}
			before.add(d, after)
			if !turn.Reserve(d.size() - decisionBytes) {
				why = tooMuchMemory
			}
		}
		decided[i] = d
		records[i] = record(req, d, first.project, start)
	}
	if why := abandonedReason(ctx); why != "" {
		for _, d := range decided {
			if d.Verdict != Deny {
				d.fail(Ask, why)
			}
		}
	}
	alone := e.unattended != nil && e.unattended()
	for i, d := range decided {
		d.finalize(reqs[i], alone)
	}
	latency := e.now().Sub(start).Nanoseconds()
	for i, r := range records {
		r.LatencyNS, r.Decision = latency, *decided[i]
		if d := decided[i]; len(d.Details) == len(d.Effects) {
			r.Details = d.Details
		}
		r.bound()
	}
	w.enter(AtJournal)
	turn.Await(ctx, func() { err = e.journal.Append(context.WithoutCancel(ctx), records...) })
	if err != nil {
		e.log.Error("decision not logged, so nothing is allowed", "decisions", len(records), "error", err)
		for i, d := range decided {
			if d.mayRun() {
				d.fail(Stricter(Ask, e.config.OnLogFailure), "the decision could not be logged")
				d.finalize(reqs[i], alone)
			}
		}
	}
	return decided
}

// denyUnattended denies the call if it would ask and nobody is there to answer.
func (d *Decision) denyUnattended(alone bool) {
	if !alone || d.Verdict != Ask {
		return
	}
	d.Verdict, d.Needed = Deny, NotNeeded
	d.Reason = "nobody is there to be asked: " + d.Reason
	d.Widths, d.Offer = nil, nil
}

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
	d.Defects, d.Folders, d.Activated, d.Fingerprints = res.Defects, res.Folders, res.Activated, m.fingerprints
	query := &MemoryQuery{
		UID: req.Peer.UID, Session: req.Session, Project: res.Project,
		ProjectKey: m.projectKey, All: res.Effects, Call: m.call, Now: now, Trees: workingTrees(e.fs),
	}
	results := make([]effectResult, len(res.Effects))
	inputs := make([]effectInputs, len(res.Effects))

	// An inherent effect takes its allow from its run, so runs come first.
	for _, inherent := range []bool{false, true} {
		for i := range res.Effects {
			eff, p := &res.Effects[i], &m.effects[i]
			if eff.Inherent() != inherent {
				continue
			}
			query.Effect, query.Target = eff, p.target
			v := &inputs[i]
			*v = effectInputs{fence: p.fence, person: m.person, trusted: snap.Trusted(), findings: p.findings}
			if inherent && eff.Via.Effect >= 0 && eff.Via.Effect < len(results) {
				v.run = &results[eff.Via.Effect]
			}
			results[i] = e.effect(ctx, snap, eff, p.err, query, v)
		}
	}
	own := len(res.Effects)
	all, inputs, results := e.hints(ctx, m, *query, inputs, results)
	shown := all
	if denied, why := e.deniedOfRest(ctx, m, query); denied != nil {
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
	d.Contents = e.contents(m, d)
	if d.Verdict == Ask && e.proposer != nil {
		query.Call = received.withoutMessage(m.call) // an offer is kept, and counts no message
		e.offer(d, m, query, inputs[:own], results[:own])
		if len(all) > own {
			d.Widths = nil // none answers what stopped at a hint
			if d.Offer != nil {
				d.Offer.Sets = nil
			}
		}
	}
	if e.observe != nil {
		in := m.input()
		in.Now, in.All = now, all
		e.observe(&Deliberation{ID: d.ID, Snapshot: snap, Raw: true, input: *in, inputs: inputs, results: results})
	}
	return res.After
}

// hints applies the table to the hints of a call, and adds those that ask or deny to
// its effects. The others are dropped: they decided nothing.
func (e *Engine) hints(
	ctx context.Context, m *evaluation, q MemoryQuery, inputs []effectInputs, results []effectResult,
) ([]effects.Effect, []effectInputs, []effectResult) {
	all := slices.Clip(m.res.Effects)
	for i := range m.res.Hints {
		eff, p := &m.res.Hints[i], &m.hints[i]
		q.Effect, q.Target = eff, nil
		v := effectInputs{fence: p.fence, trusted: m.snapshot.Trusted(), findings: p.findings}
		v.findings.Fired = ofPersons(eff, v.findings.Fired)
		o := e.effect(ctx, m.snapshot, eff, p.err, &q, &v)
		if o.row == RowGuarded && !eff.Claimed {
			continue // what is certain of a guarded file is an effect of its own
		}
		if o.verdict != Allow {
			all, inputs, results = append(all, *eff), append(inputs, v), append(results, o)
		}
	}
	return all, inputs, results
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

// effect looks up choices for one effect and applies the precedence table. err is the
// error of evaluating the rules.
func (e *Engine) effect(ctx context.Context, snap Snapshot, eff *effects.Effect, err error, q *MemoryQuery, v *effectInputs) effectResult {
	var unread error
	if v.reject, v.allow, unread = e.memory.Match(q); unread != nil {
		// Rejects stay, allows are off: the person is asked again.
		v.allow = nil
	}
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
	if unread != nil && o.verdict == Ask && memoryAnswers(o.row) {
		o.note = "; remembered allows are off (see permd status)"
	}
	return o
}

func record(req *Request, d *Decision, project string, now time.Time) *Record {
	c := &req.Call
	r := &Record{
		Time: now, Peer: req.Peer, Agent: c.Agent, Client: c.Client, Session: req.Session,
		Protocol: c.Protocol, Tool: c.Tool.Name, Cwd: c.Cwd, Project: project, Decision: *d,
	}
	if g := req.Gate; g != nil {
		r.Agent = g.Agent
	}
	return r
}

// abandonedReason returns why nobody waits for the answer any more, "" if somebody does:
// the request was withdrawn, its turn was cancelled, or the client is gone. An
// exceeded deadline is not such a reason, but a failure.
func abandonedReason(ctx context.Context) string {
	if !errors.Is(ctx.Err(), context.Canceled) {
		return ""
	}
	return CancelledReason(context.Cause(ctx))
}

// CancelledReason is the reason of a decision that nobody waits for any more; its text
// says cancelled for all of them, as the wire does.
func CancelledReason(why error) string { return "cancelled: " + why.Error() }

// reasonOf shortens an error's text, which is shown to people and stored.
func reasonOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "it took too long"
	}
	const limit = 300
	s := err.Error()
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return s
}
