// Package rulecost measures which rules take the time of evaluations, and which match, on past
// calls whose arguments are kept: permd policy profile does, and the daemon for the pages of
// permd review. It decides nothing, and no request waits for it; requests that are decided meanwhile
// share the memory that it may take (see rules.Timer).
package rulecost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/socket/admin"
)

// onePage is how many records are read at once.
const onePage = 250

// maxReasons bounds the reasons why calls were not evaluated.
const maxReasons = 16

// byPerson is the protocol of records about what a person did, which are no requests.
const byPerson = "admin"

// Report is what rules took, and which matched. Its JSON form is stable.
type Report struct {
	// Digest identifies the rules outside of projects.
	Digest string `json:"digest"`
	// Calls were evaluated again, from Oldest to Newest; they had so many effects.
	Calls   int       `json:"calls"`
	Effects int       `json:"effects"`
	Oldest  time.Time `json:"oldest,omitzero"`
	Newest  time.Time `json:"newest,omitzero"`
	// TookNS is what all rules together took, in nanoseconds.
	TookNS int64 `json:"tookNs"`
	// All is how many rules there are, Unmatched how many of them matched none of the calls.
	All       int     `json:"allRules"`
	Unmatched int     `json:"unmatched"`
	Rules     []*Rule `json:"rules"` // the slowest first
	// Undecided are the calls that were not evaluated, the most frequent reason first.
	Undecided []*replay.NotDecided `json:"notEvaluated"`
	// WithoutProject is for how many of Calls the rules of their project were not loaded.
	WithoutProject int `json:"withoutProject,omitzero"`
	// Ended is why not all of the calls that were selected were looked at, "" if all were.
	Ended string `json:"ended,omitzero"`
}

// Rule is one rule. Times are those of its evaluation alone.
type Rule struct {
	rules.RuleInfo
	// Share is its part of TookNS, between 0 and 1.
	Share float64 `json:"share"`
	// Evaluations is for how many effects it was evaluated: those for which OPA's index does not
	// exclude it. It matched in so many calls.
	Evaluations int `json:"evaluations"`
	Matched     int `json:"matched"`
	// P50NS and P99NS are what it took of a call in which it was evaluated, in nanoseconds: half
	// of the calls, and 99 of 100, took no longer.
	P50NS int64 `json:"p50Ns"`
	P99NS int64 `json:"p99Ns"`
	// Cut is how many evaluations did not end by themselves, and Why the latest of them. After
	// three of them it was not evaluated again. Those for which the heap grew too much count only
	// after 16 in a row, and if none has ended by itself.
	Cut int    `json:"cut,omitzero"`
	Why string `json:"why,omitzero"`
}

// Name is what the rule is about, in words.
func (r *Rule) Name() string { return cmp.Or(r.Title, r.Reason, r.ID) }

// source is where past calls come from, and what evaluates them.
type source struct {
	page   func(context.Context, decisions.RecordFilter) (admin.Records, error)
	engine *engine.Engine
	rules  *engine.Rules
	policy decisions.Policy // their snapshots
	// calls returns what finds the calls of decisions, by their ids.
	calls   func(ids map[string]bool) (callOf, error)
	prepare func(ctx context.Context, uid uint32, project string) error
	off     bool // no arguments are kept

	maxCalls int           // that are looked at, the newest
	maxWork  time.Duration // without what rest takes
	// rest is called after each call with how long it took.
	rest     func(context.Context, time.Duration)
	progress func(done, all int)
}

// callOf returns the call of a decision, nil if it is not kept, and how many there were lately.
type callOf func(id string) (call *arguments.Call, recent int)

// none is a memory without choices: rules are evaluated whatever it says.
type none struct{}

// Match implements [decisions.Memory].
func (none) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}

// measure measures the rules on the newest calls that a filter selects.
func (s *source) measure(ctx context.Context, f decisions.RecordFilter) (*Report, error) {
	recs, more, err := s.newest(ctx, f)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]bool, len(recs))
	for _, rec := range recs {
		ids[rec.Decision.ID] = true
	}
	calls, err := s.calls(ids)
	if err != nil {
		return nil, err
	}
	var at time.Time
	m := newMeter(s.policy)
	m.prepare = s.prepare
	e, err := s.engine.Decisions.With(func(c *decisions.Config) {
		c.Detach()
		c.Policy, c.Memory, c.Proposer, c.Pause = m, none{}, nil, nil
		c.Digest = nil // no content is read for an answer that nobody gives
		c.Now = func() time.Time { return at }
		c.NewID = func() string { return uuid.Nil.String() }
	})
	if err != nil {
		return nil, fmt.Errorf("making an engine: %w", err)
	}
	r := &Report{Digest: s.rules.Digest(), Rules: []*Rule{}, Undecided: []*replay.NotDecided{}}
	if more {
		r.Ended = fmt.Sprintf("only the newest %d calls were looked at", len(recs))
	}
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var worked time.Duration
	late := func(n int) { r.Ended = fmt.Sprintf("%d of %d calls were looked at in %v", n, len(recs), s.maxWork) }
	for n, rec := range recs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if worked >= s.maxWork {
			late(n)
			break
		}
		begun := time.Now()
		timer := time.AfterFunc(s.maxWork-worked, func() { cancel(errTime) })
		call, recent := calls(rec.Decision.ID)
		at = rec.Time
		why := s.one(limited, e, m, rec, call, recent)
		timer.Stop()
		took := time.Since(begun)
		worked += took
		over := errors.Is(context.Cause(limited), errTime)
		switch {
		case over && r.Calls > 0: // it is the last one, and not whole
			late(n)
		case over: // rules that take all of the time must be named
			late(n + 1)
			r.add(m, rec)
		case why != "":
			r.miss(why)
		default:
			r.add(m, rec)
		}
		if s.progress != nil {
			s.progress(n+1, len(recs))
		}
		if over {
			break
		}
		if s.rest != nil {
			s.rest(ctx, took)
		}
	}
	r.conclude(m, s.rules.List())
	return r, ctx.Err()
}

// errTime ends a measurement.
var errTime = errors.New("the time of the measurement is over")

// newest returns the newest requests that a filter selects, the newest first, and whether there
// may be more.
func (s *source) newest(ctx context.Context, f decisions.RecordFilter) (list []*decisions.Record, more bool, err error) {
	for {
		f.Limit = min(onePage, s.maxCalls-len(list))
		page, err := s.page(ctx, f)
		if err != nil {
			return nil, false, fmt.Errorf("reading the journal: %w", err)
		}
		for _, rec := range slices.Backward(page.Records) {
			if rec.Protocol != byPerson {
				list = append(list, rec)
			}
		}
		if page.Next == 0 || len(list) >= s.maxCalls {
			return list, page.Next != 0, nil
		}
		f.Before = page.Next
	}
}

// one measures the rules on the call of a record. why is why that cannot be.
func (s *source) one(ctx context.Context, e *decisions.Engine, m *meter, rec *decisions.Record, c *arguments.Call, recent int) (why string) {
	if why := replay.Undecidable(rec, c, s.off); why != "" {
		return why
	}
	req := &decisions.Request{
		Call: c.Call, Peer: decisions.Peer{UID: rec.Peer.UID, GID: rec.Peer.GID}, Session: rec.Session, Recent: max(recent, 1), Unrecorded: true,
	}
	req.Call.User = s.engine.Users.Lookup(rec.Peer.UID)
	m.begin(ctx)
	now := e.Decide(ctx, req)[0]
	switch {
	case m.err != nil:
		return "its rules cannot be evaluated: " + m.err.Error()
	case now.By == decisions.ByFailure:
		return "deciding it failed: " + now.Reason
	case !replay.SameEffects(rec.Decision.Effects, now.Effects):
		return replay.OtherEffects
	}
	return ""
}

// miss counts a call that was not evaluated.
func (r *Report) miss(why string) {
	for _, n := range r.Undecided {
		if n.Why == why {
			n.Count++
			return
		}
	}
	if len(r.Undecided) >= maxReasons {
		last := r.Undecided[maxReasons-1]
		last.Why, last.Count = "other reasons", last.Count+1
		return
	}
	r.Undecided = append(r.Undecided, &replay.NotDecided{Why: why, Count: 1})
}

// add counts a call that was.
func (r *Report) add(m *meter, rec *decisions.Record) {
	m.count()
	r.Calls++
	r.Effects += m.effects
	if m.withoutOwn {
		r.WithoutProject++
	}
	if r.Newest.IsZero() {
		r.Newest = rec.Time
	}
	r.Oldest = rec.Time
}

// conclude adds the rules.
func (r *Report) conclude(m *meter, all []rules.RuleInfo) {
	slices.SortStableFunc(r.Undecided, func(a, b *replay.NotDecided) int { return cmp.Compare(b.Count, a.Count) })
	known := map[decisions.RuleRef]bool{}
	add := func(ref decisions.RuleRef, info rules.RuleInfo) {
		if known[ref] { // of several people
			return
		}
		known[ref] = true
		one := &Rule{RuleInfo: info}
		r.Rules = append(r.Rules, one)
		got := m.rules[ref]
		if got == nil {
			return
		}
		one.Evaluations, one.Matched = got.evaluations, got.matched
		one.Cut, one.Why = got.cutShort()
		slices.Sort(got.calls)
		one.P50NS, one.P99NS = quantile(got.calls, 50), quantile(got.calls, 99)
		one.Share = float64(got.took) // of all, below
		r.TookNS += int64(got.took)
	}
	for _, info := range all {
		add(decisions.RuleRef{ID: info.ID, Title: info.Title, At: info.At, Layer: info.Layer}, info)
	}
	for ref, got := range m.rules { // of projects that are not loaded any more
		add(ref, rules.RuleInfo{ID: ref.ID, Title: ref.Title, Layer: ref.Layer, Set: got.set, At: ref.At})
	}
	for _, one := range r.Rules {
		if one.Matched == 0 {
			r.Unmatched++
		}
		one.Share /= float64(max(r.TookNS, 1))
	}
	r.All = len(r.Rules)
	slices.SortStableFunc(r.Rules, func(a, b *Rule) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.Cut, a.Cut), cmp.Compare(b.Evaluations, a.Evaluations),
			cmp.Compare(slices.Index(decisions.Layers, a.Layer), slices.Index(decisions.Layers, b.Layer)), cmp.Compare(a.At, b.At))
	})
}

// quantile returns the least of some times, in order, that so many percent of them do not exceed.
func quantile(times []time.Duration, percent int) int64 {
	if len(times) == 0 {
		return 0
	}
	return int64(times[(len(times)*percent+99)/100-1])
}
