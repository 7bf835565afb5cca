package aap

import (
	"context"
	"errors"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/socket/native"
)

// elsewhereAnswer is the answer to the question of one call that did not come with aap/answer:
// that of permd/choose, or of permd allow while permd/wait waits; or what rules or choices, which
// have changed, say while it does.
type elsewhereAnswer struct {
	question   *decisions.Decision
	verdict    decisions.Verdict
	remembered bool
	at         time.Time
	by         author.Identity
	reason     string // why rules or choices deny the call by now
}

// pendingQuestion returns the question of a call. It must not take the batch's lock, which
// is held while calls are decided.
func (h *handler) pendingQuestion(t *requestContext, e *entry, d *decisions.Decision, req *decisions.Request) *native.PendingQuestion {
	return &native.PendingQuestion{
		ID: d.ID, SessionID: t.session.ID, RequestID: t.request, Offer: d.Offer, Digest: d.Policy.Digest, Cwd: req.Call.Cwd,
		Decision: d, Request: req, Refresh: h.refresh(t),
		Resolve: func(s native.Selection) (native.Resolution, error) {
			switch {
			case s.OptionID != "":
				return native.Resolution{}, errors.New("the request had no options; name a verdict")
			case s.Verdict == decisions.Allow && e.affected.Load():
				return native.Resolution{}, errors.New(whyAffected)
			}
			return native.Resolution{Verdict: s.Verdict, OnStored: func(a native.Accepted) {
				e.elsewhere.Store(&elsewhereAnswer{d, s.Verdict, a.Remembered, h.Time(), a.By, ""})
			}}, nil
		},
		Again: func(now *decisions.Decision) func(native.Selection) (native.Resolution, error) {
			if now.Verdict == decisions.Ask || now.Verdict == decisions.Allow && e.affected.Load() {
				return nil // the batch is decided as a whole
			}
			return func(s native.Selection) (native.Resolution, error) {
				return native.Resolution{Verdict: s.Verdict, OnStored: func(a native.Accepted) {
					// As a choice: before any call of the batch is released, rules decide it again.
					e.elsewhere.Store(&elsewhereAnswer{d, s.Verdict, true, h.Time(), a.By, reasonOf(now)})
				}}, nil
			}
		},
	}
}

// refresh returns what puts the session as it is by then into a request. An agent that the
// session does not name is that of the turn.
func (h *handler) refresh(t *requestContext) func(*decisions.Request) {
	now := native.RefreshSession(h.Sessions, t.owner, t.session.ID)
	return func(r *decisions.Request) {
		agent := r.Call.Agent
		if now(r); r.Call.Agent.Name == "" {
			r.Call.Agent = agent
		}
	}
}

// update brings a batch up to date with what has happened since its last request: answers
// that came elsewhere are applied, and calls that a later turn has closed are recorded as
// denied. The batch's lock is held.
func (h *handler) update(ctx context.Context, t *requestContext, b *batch) error {
	for _, e := range b.entries {
		b.applyElsewhere(e, &t.state.Questions)
	}
	b.noteAffected()
	var reqs []*decisions.Request
	var of []*entry
	for _, e := range b.entries {
		if e.closed {
			reqs, of = append(reqs, e.request(b.parties, b.session)), append(of, e)
		}
	}
	if reqs == nil {
		return nil
	}
	for _, r := range reqs {
		r.Peer, r.Call.User = t.peer, h.Users(t.peer.UID)
	}
	decided, err := h.Decide(ctx, reqs...)
	if err != nil {
		return err
	}
	for i, d := range decided {
		of[i].closed = false
		b.decideEntry(of[i], d)
	}
	t.batches.updateSize(b)
	return nil
}

// applyElsewhere applies an answer that came elsewhere, if it is to the question that is
// open now.
func (b *batch) applyElsewhere(e *entry, asks *native.PendingQuestions) {
	if e.outcome == Denied {
		return // an answer that comes later may count for the same call, see applyLate
	}
	a := e.elsewhere.Swap(nil)
	if a == nil || e.outcome != Ask {
		return
	}
	if a.question.ID != e.decision.ID {
		// The call was decided again at the same time.
		if a.verdict == decisions.Allow && !sameQuestion(a.question, e.decision) {
			return
		}
		asks.Remove(e.decision.ID)
	}
	e.applyVerdict(a.verdict, a.by, a.remembered, a.reason)
}

// applyVerdict applies the person's answer. remembered tells whether an allow is also a choice
// that decides by itself, for as long as it is stored.
func (e *entry) applyVerdict(v decisions.Verdict, by author.Identity, remembered bool, reason string) {
	e.problem = ""
	if v != decisions.Allow {
		e.deny(reason)
		return
	}
	if !remembered {
		e.approvedOnce, e.approvedBy = e.decision, by
	}
	e.allow()
}

// noteAffected notes for which calls a yes cannot be accepted, for those who do not hold
// the batch's lock.
func (b *batch) noteAffected() {
	for _, e := range b.entries {
		e.affected.Store(b.mayBeAffected(e))
	}
}
