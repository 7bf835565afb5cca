package decisions

import (
	"context"
	"log/slog"
	"slices"
)

// StillHolds reports whether deciding a request anew would say the very same as the
// earlier decision: by the same rules, of the same effects, for the same reasons,
// with the same choices. Then an answer that was given may be given again. Nothing
// is logged.
//
// It does decide anew. To compare digests of rules and of memory would not see a
// choice that has ended meanwhile, a link that was put in a path's place, or a rule
// that looks at the clock.
func (e *Engine) StillHolds(ctx context.Context, req *Request, earlier *Decision) bool {
	now := e.now()
	received := e.receive(req, true)
	defer e.cache.release(received.buffer)
	snap, err := e.policy.Snapshot(req.Peer.UID, received.project)
	if err != nil || snap.Digest() != earlier.Policy.Digest {
		return false
	}
	if received.cached != nil && received.cached.evaluation.snapshot != snap {
		received.resolve(&e.evaluator, cacheableRequest(req))
	}
	quiet := *e
	quiet.observe, quiet.proposer, quiet.log = nil, nil, slog.New(slog.DiscardHandler)
	d := &Decision{ID: earlier.ID, CallID: req.Call.ID}
	quiet.decide(ctx, snap, req, received, d, now)
	d.denyUnattended(e.unattended != nil && e.unattended())
	return ctx.Err() == nil && d.By != ByFailure && d.sameAs(earlier)
}

// sameAs reports whether two decisions say the same of the same effects.
func (d *Decision) sameAs(o *Decision) bool {
	return d.Verdict == o.Verdict && d.By == o.By && d.Reason == o.Reason && d.Message == o.Message &&
		slices.Equal(d.Defects, o.Defects) && slices.Equal(d.Fingerprints, o.Fingerprints) &&
		slices.EqualFunc(d.Effects, o.Effects, func(a, b EffectDecision) bool {
			return a.Kind == b.Kind && a.Text == b.Text && a.From == b.From && a.Claimed == b.Claimed &&
				a.Verdict == b.Verdict && a.Reason == b.Reason && a.Row == b.Row && a.ChoiceID == b.ChoiceID &&
				slices.Equal(a.Tags, b.Tags) && slices.Equal(a.Rules, b.Rules)
		})
}
