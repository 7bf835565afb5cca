package decisions

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/permd/permd/decisions/underway"
)

// StillHolds reports whether deciding a request again would yield the same decision:
// by the same rules, with the same effects, reasons and choices. If so, the earlier
// answer may be repeated. Nothing is logged.
//
// It really decides again. Comparing digests of rules and memory would miss a choice
// that has expired, a path that has become a link, or a rule that depends on the time.
//
// An allow by rules that look at the time or at the number of calls never holds: each
// answer that lets a call run is a decision of its own there. Under other rules it is
// counted as a call.
func (e *Engine) StillHolds(ctx context.Context, req *Request, earlier *Decision) bool {
	d, snap, err := e.decideAgain(ctx, req, earlier, bySameRules)
	if err != nil || d.By == ByFailure {
		return false
	}
	if t, ok := snap.(timelessPolicy); earlier.Verdict == Allow && ok && !t.Timeless() {
		return false
	}
	d.denyUnattended(e.unattended != nil && e.unattended())
	if !d.sameAs(earlier) {
		return false
	}
	if d.Verdict == Allow && req.Recent == 0 {
		req.Recent = e.config.Recent.Add(req.Peer.UID, req.Call.Claims.User, e.now())
	}
	return true
}

// The reasons why an approval does not fit.
var (
	// ErrChanged means that the call would do something else now, or is decided by other rules.
	ErrChanged = errors.New("what the call would do has changed since the question")
	// errDeniedNow means that rules or choices deny the call by now.
	errDeniedNow = changed("by now, rules or a remembered choice deny the call")
	// errAskedOtherwise means that the person would be shown something else.
	errAskedOtherwise = changed("what is asked about the call has changed since the question")
	// errNotInTime means that nobody knows: deciding again took longer than a decision may.
	errNotInTime = errors.New("permd could not look in time whether the call would still do the same")
)

// changed is an ErrChanged that says more.
type changed string

func (c changed) Error() string { return string(c) }

func (changed) Is(target error) bool { return target == ErrChanged }

// errRules means that the rules cannot be had now.
var errRules = errors.New("the rules could not be read")

// againBy says by which rules a call is decided again.
type againBy bool

const (
	bySameRules againBy = false // by those of the earlier decision, or not at all
	byRulesNow  againBy = true  // by those of now, with what could be remembered
)

// decideAgain decides a request once more, and returns the rules too.
func (e *Engine) decideAgain(ctx context.Context, req *Request, earlier *Decision, by againBy) (*Decision, Snapshot, error) {
	now := e.now()
	w := e.config.Underway.Begin(underway.AtRules, now)
	defer w.End()
	limit := e.within(ctx, now, w, 1)
	ctx = &limit
	// The cache does not know what calls before this one may change.
	received := new(intake)
	e.receive(ctx, received, req, req.Call.Before.None())
	defer e.cache.release(received.buffer)
	snap, err := e.policy.Snapshot(req.Peer.UID, received.project)
	switch {
	case err != nil && by == bySameRules && earlier.Policy.Digest != "":
		return nil, nil, ErrChanged
	case err != nil:
		return nil, nil, errRules
	case by == bySameRules && snap.Digest() != earlier.Policy.Digest:
		return nil, nil, ErrChanged
	}
	if received.cached != nil && received.cached.evaluation.snapshot != snap {
		received.resolve(ctx, &e.evaluator, cacheableRequest(req))
	}
	quiet := *e
	quiet.observe, quiet.log = nil, slog.New(slog.DiscardHandler)
	if by == bySameRules {
		quiet.proposer = nil
	}
	quiet.allContents = earlier.Verdict == Ask
	d := &Decision{ID: earlier.ID, CallID: req.Call.ID, Policy: PolicyRef{snap.Digest()}}
	quiet.decide(ctx, snap, req, received, d, now)
	if ctx.Err() != nil {
		return nil, nil, errNotInTime
	}
	return d, snap, nil
}

// Holds returns nil if a person's approval, given now, still fits the call: deciding
// again would ask the same question, about the same effects and the same contents of
// files, or would allow the same. By other rules than those of the question, the person
// must be shown the same, too. Otherwise it returns [ErrChanged] or another reason.
//
// A question that was asked because of a failure holds unless a new decision denies it.
func (e *Engine) Holds(ctx context.Context, req *Request, asked *Decision) error {
	by := byRulesNow
	if asked.By == ByFailure {
		by = bySameRules
	}
	d, _, err := e.decideAgain(ctx, req, asked, by)
	switch {
	case errors.Is(err, ErrChanged):
		return err
	case ctx.Err() != nil:
		return errNotInTime
	case asked.By == ByFailure && asked.Fingerprints == nil:
		// Nothing was known about the call, and the person saw that.
		if err == nil && d.Verdict == Deny {
			return errDeniedNow
		}
		return nil
	case errors.Is(err, errNotInTime):
		return err
	case err != nil:
		return ErrChanged
	case d.Verdict == Deny:
		return errDeniedNow
	case !d.fits(asked, e.digest != nil):
		return ErrChanged
	case d.Policy != asked.Policy && d.Verdict == Ask && !d.asksAs(asked):
		return errAskedOtherwise
	}
	return nil
}

// fits reports whether an approval of an earlier question about the same call is one of this
// decision; compared tells whether contents of files are compared.
func (d *Decision) fits(asked *Decision, compared bool) bool {
	switch {
	case d.Verdict == Deny:
		return false
	case !slices.Equal(d.Contents, asked.Contents) || !slices.Equal(d.Defects, asked.Defects):
		return false
	case slices.ContainsFunc(d.Contents, func(c Content) bool { return c.Path == "" }):
		return false // more files than can be compared
	case compared && slices.ContainsFunc(d.Contents, func(c Content) bool { return c.Sum == "" }):
		return false // what is only named may be code as well
	}
	prints, list := asked.Fingerprints, asked.Effects
	if d.Verdict == Allow {
		// What asked may be a hint, which follows the effects and is only there if it counts.
		prints, list = prints[:min(len(prints), len(d.Fingerprints))], list[:min(len(list), len(d.Effects))]
	}
	return slices.Equal(d.Fingerprints, prints) && slices.EqualFunc(d.Effects, list, func(a, b EffectDecision) bool {
		return a.Kind == b.Kind && a.Text == b.Text && a.From == b.From && a.Claimed == b.Claimed && a.Declared == b.Declared && slices.Equal(a.Tags, b.Tags) &&
			(a.Verdict == Allow || a.Verdict == b.Verdict && a.Row == b.Row && a.Reason == b.Reason)
	})
}

// WithoutMessage returns a copy of a request that does not keep the message alive in which it came.
func (r *Request) WithoutMessage() *Request {
	kept := *r
	kept.Call.Input, kept.Call.Claims.Meta = bytes.Clone(r.Call.Input), bytes.Clone(r.Call.Claims.Meta)
	return &kept
}

// errUndecided means that a call could not be decided again.
var errUndecided = errors.New("the call could not be decided again")

// Reconsider decides a call again that was left to a person, by the rules and choices of now,
// and leaves nothing behind. It returns nil if the person would be shown the same, and an error
// if that is not known.
func (e *Engine) Reconsider(ctx context.Context, req *Request, asked *Decision) (*Decision, error) {
	d, _, err := e.decideAgain(ctx, req, asked, byRulesNow)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, errNotInTime
	}
	d.finalize(req, e.unattended != nil && e.unattended())
	switch {
	case d.By == ByFailure:
		return nil, errUndecided
	case d.asksAs(asked) && d.fits(asked, e.digest != nil):
		return nil, nil
	}
	return d, nil
}

// DecideAgain is Decide for the call of an open question, asked. A person's approval of the same
// call that waits for the call itself is not consumed.
func (e *Engine) DecideAgain(ctx context.Context, req *Request, asked *Decision) *Decision {
	again, now := *e, *req
	again.takeApproval, now.Reconsiders = nil, asked.ID
	return again.Decide(ctx, &now)[0]
}

// asksAs reports whether a person who is asked would be shown what they were shown before: the
// effects with why each is asked about, and how the answer can be remembered.
func (d *Decision) asksAs(asked *Decision) bool {
	return d.Verdict == Ask && asked.Verdict == Ask && d.By == asked.By && d.Reason == asked.Reason && d.NotRemembered == asked.NotRemembered &&
		slices.Equal(d.Widths, asked.Widths) && slices.EqualFunc(d.Effects, asked.Effects, func(a, b EffectDecision) bool {
		return a.Verdict == b.Verdict && a.Row == b.Row && a.Reason == b.Reason && a.Text == b.Text && a.Outdated.sameAs(b.Outdated)
	})
}

// sameAs reports whether both say the same, or are both nil.
func (o *Outdated) sameAs(p *Outdated) bool {
	if o == nil || p == nil {
		return o == p
	}
	return *o == *p
}

// sameAs reports whether two decisions are the same for the same effects.
func (d *Decision) sameAs(o *Decision) bool {
	return d.Verdict == o.Verdict && d.By == o.By && (d.Reason == o.Reason || d.By == ByPause) && d.Message == o.Message &&
		slices.Equal(d.Defects, o.Defects) && slices.Equal(d.Fingerprints, o.Fingerprints) && slices.Equal(d.Contents, o.Contents) &&
		slices.EqualFunc(d.Effects, o.Effects, func(a, b EffectDecision) bool {
			return a.Kind == b.Kind && a.Text == b.Text && a.From == b.From && a.Claimed == b.Claimed &&
				a.Verdict == b.Verdict && a.Reason == b.Reason && a.Row == b.Row && a.ChoiceID == b.ChoiceID &&
				slices.Equal(a.Tags, b.Tags) && slices.Equal(a.Rules, b.Rules)
		})
}

// NeverAllowed reports, for each request, whether its tool of a tool server is denied whatever
// the input is: an entry of a list of org or user denies it. Rules in Rego may depend on the
// input. What is not known is false. It decides, records and counts nothing.
func (e *Engine) NeverAllowed(ctx context.Context, reqs ...*Request) []bool {
	never := make([]bool, len(reqs))
	start := e.now()
	w := e.config.Underway.Begin(underway.AtRules, start)
	defer w.End()
	limit := e.within(ctx, start, w, len(reqs))
	for i, req := range reqs {
		if i > 0 && limit.betweenCalls() != "" {
			break
		}
		received := new(intake)
		e.receive(&limit, received, req, false)
		if snap, err := e.policy.Snapshot(req.Peer.UID, received.project); err == nil {
			never[i] = e.evaluate(&limit, snap, received, start).deniesTool()
			received.recorder.Release()
		}
	}
	return never
}

// deniesTool reports whether a list denies the tool of the call itself.
func (m *evaluation) deniesTool() bool {
	for i := range m.effects {
		use := m.res.Effects[i].Use
		if use != nil && use.Server == m.call.Tool.Server && use.Tool == m.call.Tool.Name && m.effects[i].err == nil &&
			slices.ContainsFunc(m.effects[i].findings.Fired, func(f Finding) bool {
				return f.Set == SetDeny && f.Listed && (f.Rule.Layer == Org || f.Rule.Layer == User)
			}) {
			return true
		}
	}
	return false
}
