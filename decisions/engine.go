package decisions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/decisions/recent"
	"github.com/permd/permd/decisions/underway"
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

	// Shadow, if not nil, is called for each decision after it was logged, to evaluate shadow
	// rules on the same facts.
	Shadow Shadow

	// FS is the file system that paths are resolved in, Own are permd's own
	// files (see tools.World).
	FS  effects.FS
	Own paths.Own
	// System is set if calls come from users other than the one that the engine runs
	// as, who may not be able to read what it can. It must equal that of the Policy.
	System bool
	// Machine reads what is known of this machine; may be nil (see tools.World).
	Machine func() *paths.Machine
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
	Underway *underway.Requests
	// Deadline is how long deciding the calls of one request may take: what is not
	// decided by then is asked. 0 means 2 seconds.
	Deadline time.Duration

	// Pause, if not nil, returns the pause or lock of a user that is in force now, nil if
	// none is. It must not wait.
	Pause func(uid uint32) *Pause
	// TakeApproval, if not nil, reports whether a person has approved the same
	// question out of band (permd allow), and consumes the approval.
	TakeApproval func(req *Request, d *Decision) bool
	// Digest returns the hash of a file's content and its size, if that is within the
	// limit. If nil, a late approval does not depend on the content of files.
	Digest func(path string, limit int64) (sum string, size int64, err error)

	// Recent counts calls. If nil, rules see each as the first one.
	Recent *recent.Calls

	Now   func() time.Time
	NewID func() string // unique, sorted by time
	Log   *slog.Logger
}

// Engine decides calls. It is safe for concurrent use.
type Engine struct {
	evaluator
	config       Config
	memory       Memory
	renewer      Renewer // the memory, nil if it is none
	journal      Journal
	proposer     Proposer
	observe      func(*Deliberation)
	notPlain     *NotPlain
	unattended   func() bool
	pause        func(uid uint32) *Pause
	takeApproval func(req *Request, d *Decision) bool
	digest       func(path string, limit int64) (sum string, size int64, err error)
	maxSummed    int64 // of a call, in bytes
	// allContents has decisions name the contents of calls that are allowed, too.
	allContents bool
	now         func() time.Time
	newID       func() string
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
	renewer, _ := c.Memory.(Renewer)
	return &Engine{
		renewer: renewer,
		evaluator: evaluator{
			policy: c.Policy, fs: c.FS, trees: workingTrees(c.FS), own: c.Own, system: c.System, machine: c.Machine, pid: c.PID, cache: c.Cache, log: c.Log,
		},
		memory: c.Memory, journal: c.Journal, proposer: c.Proposer, observe: c.Observe, notPlain: c.NotPlain,
		unattended: c.Unattended, pause: c.Pause, takeApproval: c.TakeApproval, digest: c.Digest, maxSummed: maxSummed, now: c.Now, newID: c.NewID, config: c,
	}, nil
}

// With returns a copy of e with some members changed.
func (e *Engine) With(change func(*Config)) (*Engine, error) {
	c := e.config
	change(&c)
	return NewEngine(c)
}

// Detach removes the side effects of decisions: they are not logged, observed, counted, cached or
// evaluated by shadow rules, and consume no approval. Neither do earlier calls have an effect on
// them, nor whether somebody is there to ask.
func (c *Config) Detach() {
	c.Journal, c.Log, c.Shadow, c.Cache = discard{}, slog.New(slog.DiscardHandler), nil, nil
	c.Observe, c.NotPlain, c.TakeApproval, c.Unattended, c.Underway, c.Recent = nil, nil, nil, nil, nil, nil
}

// discard is a journal that keeps nothing.
type discard struct{}

func (discard) Append(context.Context, ...*Record) error { return nil }

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
	for _, req := range reqs {
		if req.Recent == 0 {
			req.Recent = e.config.Recent.Add(req.Peer.UID, req.Call.Claims.User, start)
		}
	}
	s := new(scratch)
	w := e.config.Underway.BeginIn(&s.work, underway.AtRules, start)
	defer w.End()
	s.deadline = e.within(ctx, start, w, len(reqs))
	limit := &s.deadline
	ctx = limit
	first := &s.intake
	e.receive(ctx, first, reqs[0], len(reqs) == 1)
	defer e.cache.release(first.buffer)
	snap, err := e.policy.Snapshot(reqs[0].Peer.UID, first.project)
	if first.cached != nil && err == nil && first.cached.evaluation.snapshot != snap {
		// The rules have changed. The call is looked at again, and where it belongs
		// as well: the rules must be those of the project that it is judged by.
		first.resolve(ctx, &e.evaluator, cacheableRequest(reqs[0]))
		snap, err = e.policy.Snapshot(reqs[0].Peer.UID, first.project)
	}
	var decided []*Decision
	var alone *Decision // the only one
	if len(reqs) == 1 {
		one := new(struct {
			decision Decision
			list     [1]*Decision
		})
		alone, decided = &one.decision, one.list[:]
	} else {
		decided = make([]*Decision, len(reqs))
	}
	records := append(s.list[:0], make([]*Record, len(reqs))...)
	trying := e.config.Shadow != nil && !reqs[0].Unrecorded && e.config.Shadow.Trying()
	var made []*intake
	var before earlierCalls
	why := reserveLeast(turn, len(reqs))
	for i, req := range reqs {
		var received *intake // nil for what is not decided
		if i > 0 && why == "" {
			why = limit.betweenCalls()
		}
		d := alone
		if d == nil {
			d = new(Decision)
		}
		d.ID, d.CallID = e.newID(), req.Call.ID
		if err != nil {
			d.fail(Ask, "the rules are not ready: "+err.Error())
		} else if why != "" {
			d.Policy.Digest = snap.Digest()
			d.fail(Stricter(Ask, snap.OnFailure()), why)
			d.Opaque, d.Stateful = true, true
			before.add(d, effects.UnknownDisturbance())
		} else if req.Decided != nil {
			if *d = *req.Decided; d.Policy.Digest != snap.Digest() {
				d.Policy.Digest = snap.Digest()
				d.fail(Ask, "the rules have changed while the call was decided")
			}
		} else {
			d.Policy.Digest = snap.Digest()
			received = first
			if i > 0 {
				before.prepare(&req.Call, snap.Profiles())
				received = new(intake)
				e.receive(ctx, received, req, false)
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
		if trying && len(reqs) > 1 {
			made = append(made, received)
		}
		r := &s.record
		if i > 0 {
			r = new(Record)
		}
		r.describe(req, first.project, start)
		records[i] = r
	}
	if why := abandonedReason(ctx); why != "" {
		for _, d := range decided {
			if d.Verdict != Deny {
				d.fail(Ask, why)
			}
		}
	}
	nobody := e.unattended != nil && e.unattended()
	for i, d := range decided {
		d.finalize(reqs[i], nobody)
	}
	if reqs[0].Unrecorded {
		return decided
	}
	latency := e.now().Sub(start).Nanoseconds()
	for i, r := range records {
		r.LatencyNS, r.Decision = latency, *decided[i]
		if d := decided[i]; len(d.Details) == len(d.Effects) {
			r.Details = d.Details
		}
		r.bound()
	}
	w.Enter(underway.AtJournal)
	err = e.store(ctx, turn, records)
	if err != nil {
		e.log.Error("decision not logged, so nothing is allowed", "decisions", len(records), "error", err)
		reason := "the decision could not be logged"
		if errors.Is(err, ErrLogShare) {
			reason += ": " + ErrLogShare.Error()
		}
		for i, d := range decided {
			if d.mayRun() {
				d.fail(Stricter(Ask, e.config.OnLogFailure), reason)
				d.finalize(reqs[i], nobody)
			}
		}
	}
	switch {
	case trying && len(reqs) == 1:
		e.config.Shadow.Note(decidedFrom(first, snap, reqs[0], decided[0], nobody))
	case trying:
		for i, received := range made {
			e.config.Shadow.Note(decidedFrom(received, snap, reqs[i], decided[i], nobody))
		}
	}
	return decided
}

// store stores records in the journal, while others use the request's slot. For the write
// of one record that takes microseconds it keeps the slot: when many ask, it would wait
// for the next one much longer.
func (e *Engine) store(ctx context.Context, turn *fairshare.Turn, records []*Record) (err error) {
	if j, ok := e.journal.(PromptJournal); ok && len(records) == 1 && j.Prompt() {
		return e.journal.Append(context.WithoutCancel(ctx), records...)
	}
	turn.Await(ctx, func() { err = e.journal.Append(context.WithoutCancel(ctx), records...) })
	return err
}

// denyUnattended denies the call if it would ask and nobody is there to answer.
func (d *Decision) denyUnattended(alone bool) {
	if !alone || d.Verdict != Ask {
		return
	}
	d.Verdict, d.Needed = Deny, NotNeeded
	d.Reason = "nobody is there to be asked: " + d.Reason
	d.Widths, d.Offer, d.NotRemembered = nil, nil, ""
}

// scratch is what one request needs until it is answered, in one piece of memory. Nothing
// that lives longer may point into it.
type scratch struct {
	work     underway.Request
	deadline deadline
	intake   intake
	record   Record // of the first call
	list     [1]*Record
}

// describe sets what a record says besides the decision.
func (r *Record) describe(req *Request, project string, now time.Time) {
	c := &req.Call
	r.Time, r.Peer, r.Agent, r.Client, r.Session = now, req.Peer, c.Agent, c.Client, req.Session
	r.Reconsiders = req.Reconsiders
	r.Protocol, r.Tool, r.Declared, r.Cwd, r.Project = c.Protocol, c.Tool.Name, c.Declared.String(), c.Cwd, project
	r.ClaimedUser, r.ClaimedTrace = c.Claims.User, c.Claims.TraceID
	r.ClaimedKind, r.ClaimedTitle, r.ClaimedPaths = c.Claims.Kind, display.Title(c.Claims.Title), c.Claims.Paths()
	r.ClaimedStatus, r.ClaimedOptions, r.ClaimedMeta = c.Claims.Status, c.Claims.Options, effects.NamesIn(c.Claims.Meta)
	if g := req.Gate; g != nil {
		r.Agent = g.Agent
	}
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
