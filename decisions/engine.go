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
)

// Engine decides calls. Its members are set once, before the first call; it is
// safe for concurrent use.
type Engine struct {
	Policy  Policy
	Memory  Memory
	Journal Journal
	// Proposer says what could be remembered; nil when nothing is offered.
	Proposer Proposer
	// Observe is shown what each decision was made of, before it is logged; nil
	// where nobody explains. It must be quick.
	Observe func(*Deliberation)

	// FS is the file system that paths are resolved in, Own are permd's own
	// files (see effects.World).
	FS  effects.FS
	Own effects.Own
	// PID is the daemon's process, which no call may end; 0 when there is none.
	PID int
	// Cache keeps what was found out of calls; nil to find it out each time.
	Cache *Cache
	// NotPlain counts shell text that is not plain; nil where nobody looks.
	NotPlain *NotPlain
	// Unattended reports whether nobody is there to be asked, so that what would
	// ask is rejected; nil when people are there. It may change at any time.
	Unattended func() bool

	// Answered reports whether a person said yes, elsewhere, to the very question
	// that the decision is; the yes is used up. It is nil where nobody can.
	Answered func(req *Request, d *Decision) bool
	// Digest is the hash of a file's content, with how much of it was read, if that
	// is not over the limit. With nil a late yes is not bound to what files hold.
	Digest func(path string, limit int64) (sum string, size int64, err error)

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
	first := e.meet(reqs[0], len(reqs) == 1)
	defer e.Cache.done(first.buffer)
	snap, err := e.Policy.Snapshot(reqs[0].Peer.UID, first.project)
	if first.kept != nil && err == nil && first.kept.matter.snap != snap {
		// The rules have changed. The call is looked at anew, and where it belongs
		// as well: the rules must be those of the project that it is judged by.
		first.look(e, essence(reqs[0]))
		snap, err = e.Policy.Snapshot(reqs[0].Peer.UID, first.project)
	}
	decided := make([]*Decision, len(reqs))
	records := make([]*Record, len(reqs))
	var before batch
	for i, req := range reqs {
		d := &Decision{ID: e.NewID(), CallID: req.Call.ID}
		if err != nil {
			d.fail(Ask, "the rules are not ready: "+err.Error())
		} else {
			d.Policy.Digest = snap.Digest()
			met := first
			if i > 0 {
				before.prepare(&req.Call, snap.Profiles())
				met = e.meet(req, false)
			}
			after := e.decide(ctx, snap, req, met, d, start)
			if d.Unsettled = before.unsettled(d); !d.Unsettled {
				e.answered(req, d)
			}
			before.note(d, after)
		}
		decided[i] = d
		records[i] = record(req, d, first.project, start)
	}
	if why := cancelled(ctx); why != "" {
		for _, d := range decided {
			if d.Verdict != Deny {
				d.fail(Ask, why)
			}
		}
	}
	alone := e.Unattended != nil && e.Unattended()
	for i, d := range decided {
		d.settle(reqs[i], alone)
	}
	latency := e.Now().Sub(start).Nanoseconds()
	for i, r := range records {
		r.LatencyNS, r.Decision = latency, *decided[i]
	}
	if err := e.Journal.Append(context.WithoutCancel(ctx), records...); err != nil {
		e.Log.Error("decision not logged, asking", "decisions", len(records), "error", err)
		for i, d := range decided {
			if d.stands() {
				d.fail(Ask, "the decision could not be logged")
				d.settle(reqs[i], alone)
			}
		}
	}
	return decided
}

// unasked rejects what a person would be asked, if nobody is there.
func (d *Decision) unasked(alone bool) {
	if !alone || d.Verdict != Ask {
		return
	}
	d.Verdict, d.Needed = Deny, NotNeeded
	d.Reason = "nobody is there to be asked: " + d.Reason
	d.Widths, d.Offer = nil, nil
}

// meeting is what is known of a request before there are rules for it: where it
// comes from, and what is kept of its like.
type meeting struct {
	project string
	buffer  []byte // of the cache
	key     []byte // in it; nil when the cache is not for it
	kept    *kept  // nil when nothing is
	// Else there is a scene, of a request that may be kept.
	req   *Request
	scene *effects.Scene
	seen  *observed
}

// meet looks at where a request comes from. Only one that stands alone is for
// the cache: what calls before it may change is not part of the key.
func (e *Engine) meet(req *Request, alone bool) *meeting {
	m := new(meeting)
	req.Call.Confined = req.Session.confined()
	if alone && e.Cache != nil {
		key, ok := appendRequest(e.Cache.buffer(), req)
		m.buffer = key
		if ok {
			m.key = key
			if m.kept = e.Cache.of(key, e.FS); m.kept != nil {
				m.project = m.kept.project
				return m
			}
			req = essence(req)
		}
	}
	m.look(e, req)
	return m
}

// look finds out what is not known of a request.
func (m *meeting) look(e *Engine, req *Request) {
	m.req, m.kept = req, nil
	if e.FS != nil {
		m.seen = &observed{fs: e.FS}
	}
	w := effects.World{FS: m.fs(), Own: e.Own}
	m.scene = w.Scene(&req.Call)
	m.project = m.scene.Project()
}

// fs is the file system as the request sees it, nil when there is none.
func (m *meeting) fs() effects.FS {
	if m.seen == nil {
		return nil
	}
	return m.seen
}

// matter returns what can be found out of a request without memory.
func (e *Engine) matter(ctx context.Context, snap Snapshot, met *meeting, now time.Time) *matter {
	if met.kept != nil {
		return met.kept.matter
	}
	m := e.consider(ctx, snap, met, now)
	if met.key != nil && met.seen != nil && len(m.res.Rest) <= maxKeptRest {
		e.Cache.keep(met.key, m, met.project, met.seen)
	}
	return m
}

// decide fills d, and returns what the call may change of where paths lead. A
// panic anywhere below is a failure, never an answer.
func (e *Engine) decide(
	ctx context.Context, snap Snapshot, req *Request, met *meeting, d *Decision, now time.Time,
) (after effects.Disturbance) {
	defer func() {
		if r := recover(); r != nil {
			e.Log.Error("deciding panicked", "decision", d.ID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			d.fail(Stricter(Ask, snap.OnFailure()), "deciding failed")
			d.Opaque, d.Stateful = true, true
			after = effects.Everything()
		}
	}()
	m := e.matter(ctx, snap, met, now)
	res := &m.res
	e.NotPlain.note(res.Effects)
	d.Defects, d.Folders, d.Activated, d.Traces = res.Defects, res.Folders, res.Activated, m.traces
	query := &MemoryQuery{
		UID: req.Peer.UID, Session: req.Session, Project: res.Project,
		ProjectKey: m.projectKey, All: res.Effects, Call: m.call, Now: now,
	}
	outcomes := make([]outcome, len(res.Effects))
	heard := make([]voices, len(res.Effects))

	// An inherent effect takes its allow from its run, so runs come first.
	for _, inherent := range []bool{false, true} {
		for i := range res.Effects {
			eff, p := &res.Effects[i], &m.parts[i]
			if eff.Inherent() != inherent {
				continue
			}
			query.Effect, query.Target = eff, p.target
			v := &heard[i]
			*v = voices{fence: p.fence, person: m.person, trusted: snap.Trusted(), findings: p.findings}
			if inherent && eff.Via.Effect >= 0 && eff.Via.Effect < len(outcomes) {
				v.run = &outcomes[eff.Via.Effect]
			}
			outcomes[i] = e.effect(ctx, snap, eff, p.err, query, v)
		}
	}
	own := len(res.Effects)
	all, heard, outcomes := e.hints(ctx, m, *query, heard, outcomes)
	if denied, why := e.deniedOfRest(ctx, m, query); denied != nil {
		d.conclude(slices.Concat(all, denied), slices.Concat(outcomes, why))
	} else {
		d.conclude(all, outcomes)
	}
	if len(all) > own {
		d.Traces = append(slices.Clip(d.Traces), traces(m.call, all[own:])...)
	}
	d.Opaque, d.Stateful = opaque(res.Effects, &res.After), stateful(res.Effects)
	d.Contents = e.contents(m, d)
	if d.Verdict == Ask && e.Proposer != nil {
		e.offer(d, query, heard[:own], outcomes[:own])
		if len(all) > own {
			d.Widths = nil // none answers what stopped at a hint
			if d.Offer != nil {
				d.Offer.Sets = nil
			}
		}
	}
	if e.Observe != nil {
		in := m.input()
		in.Now, in.All = now, all
		e.Observe(&Deliberation{ID: d.ID, Snapshot: snap, Raw: true, input: *in, heard: heard, was: outcomes})
	}
	return res.After
}

// hints puts the hints of a call through the table, and adds those that stop it
// to its effects. All others leave no trace: nothing was decided by them.
func (e *Engine) hints(
	ctx context.Context, m *matter, q MemoryQuery, heard []voices, was []outcome,
) ([]effects.Effect, []voices, []outcome) {
	all := slices.Clip(m.res.Effects)
	for i := range m.res.Hints {
		eff, p := &m.res.Hints[i], &m.hints[i]
		q.Effect, q.Target = eff, nil
		v := voices{fence: p.fence, trusted: m.snap.Trusted(), findings: p.findings}
		if eff.Guessed {
			// The shipped denies are of catastrophes that are sure to happen, not
			// of one thing of several that a call may do to a path.
			v.findings.Fired = filter(v.findings.Fired, func(r Finding) bool { return !inBase(r) })
		}
		if o := e.effect(ctx, m.snap, eff, p.err, &q, &v); o.verdict != Allow {
			all, heard, was = append(all, *eff), append(heard, v), append(was, o)
		}
	}
	return all, heard, was
}

// effect asks memory about one effect and applies the table; err is that of the
// rules.
func (e *Engine) effect(ctx context.Context, snap Snapshot, eff *effects.Effect, err error, q *MemoryQuery, v *voices) outcome {
	var unread error
	if v.reject, v.allow, unread = e.Memory.Match(q); unread != nil {
		// Rejects stay, allows are off: the person is asked again.
		v.allow = nil
	}
	if err != nil {
		failed := outcome{
			verdict: Stricter(Ask, snap.OnFailure()), row: RowFailure, by: ByFailure,
			needed: NeededByRule, reason: cmp.Or(cancelled(ctx), "policy failed: "+reasonOf(err)),
		}
		// What the layers that could be evaluated say, and what is known without
		// policy, may still be stricter.
		if o := precede(eff, v); o.verdict == Deny {
			return o
		}
		return failed
	}
	return precede(eff, v)
}

// needsPerson says why the whole call needs a person (docs/policy.md, "Who wins",
// row 3).
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

// secretLeaves reports whether a call both has a secret and reaches something
// other than this machine. A program that prints secrets has them from the
// service that it always asks, so for what it prints only others count.
func secretLeaves(effs []effects.Effect) bool {
	var read, printed, leaves, elsewhere bool
	for i := range effs {
		secret := effs[i].Tags.Has(effects.Secret)
		switch e := &effs[i]; e.Kind {
		case effects.KindRead:
			read = read || secret
		case effects.KindRun, effects.KindState:
			printed = printed || secret
		case effects.KindConnect:
			if e.Tags.Has(effects.Loopback) {
				continue
			}
			leaves = true
			elsewhere = elsewhere || !e.Inherent() || !effs[e.Via.Effect].Tags.Has(effects.Secret)
		}
	}
	return read && leaves || printed && elsewhere
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

// cancelled says why nobody waits for the answer any more, "" while somebody
// does. A deadline is not meant: that one passes is a failure.
func cancelled(ctx context.Context) string {
	if !errors.Is(ctx.Err(), context.Canceled) {
		return ""
	}
	return "cancelled: " + context.Cause(ctx).Error()
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
