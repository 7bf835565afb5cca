package aap

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

type answerParams struct {
	SessionID string       `json:"sessionId"`
	BatchID   string       `json:"batchId"`
	Answers   []answerWire `json:"answers"`
	Results   []resultWire `json:"results"`
}

type answerWire struct {
	ToolCallID string            `json:"toolCallId"`
	Verdict    decisions.Verdict `json:"verdict"`
	Reason     string            `json:"reason"`
	Width      string            `json:"width"`
	Scope      string            `json:"scope"`
	ExpiresIn  strictjson.Value  `json:"expiresIn"`
	// Later leaves the question of a denied call open: the answer counts for the same call,
	// if that is made again.
	Later bool `json:"later"`
}

type resultWire struct {
	ToolCallID string           `json:"toolCallId"`
	Content    strictjson.Value `json:"content"`
}

// answer handles the person's answers and the client's results. Without either it
// returns the messages again.
func (h *handler) answer(c *socket.Conn, params strictjson.Value) (run, error) {
	var p answerParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	if err := p.checkTypes(); err != nil {
		return nil, err
	}
	t, err := h.contextOf(c, p.SessionID)
	if err != nil {
		return nil, err
	}
	b, err := t.batch(p.BatchID)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		fairshare.TurnOf(ctx).Await(ctx, b.mu.Lock)
		defer b.mu.Unlock()
		if err := h.update(ctx, t, b); err != nil {
			return nil, err
		}
		if err := p.check(b, t.batches); err != nil {
			return nil, err
		}
		stored := h.applyAnswers(ctx, t, b, p.Answers)
		b.takeResults(t.batches, &t.state.Questions, p.Results)
		if b.readyToRun() {
			// Time has passed since these calls were decided, and since a
			// person was asked: a call that is forbidden by now must not be
			// released.
			if err := h.decide(ctx, t, b); err != nil {
				return nil, err
			}
		}
		return b.result(stored)
	}, nil
}

// checkTypes validates what does not depend on the batch.
func (p *answerParams) checkTypes() error {
	if p.BatchID == "" {
		return socket.Refuse("batchId is missing")
	}
	for _, a := range p.Answers {
		switch {
		case a.ToolCallID == "":
			return socket.Refuse("answers: toolCallId is missing")
		case a.Verdict != decisions.Allow && a.Verdict != decisions.Deny:
			return socket.Refuse("answers: verdict must be allow or deny")
		case a.Later && (a.Verdict != decisions.Deny || a.Width != "" || a.Scope != "" || len(a.ExpiresIn) > 0):
			return socket.Refuse("answers: later belongs to a deny that is not remembered")
		}
		if err := native.CheckExpiresIn(a.ExpiresIn); err != nil {
			return err
		}
	}
	for _, r := range p.Results {
		if r.ToolCallID == "" {
			return socket.Refuse("results: toolCallId is missing")
		}
		if k := strictjson.Kind(r.Content); k != '"' && k != '[' {
			return socket.Refuse("results: content must be text or a list of blocks")
		}
	}
	return nil
}

// check validates everything before any of it is applied.
func (p *answerParams) check(b *batch, all *batches) error {
	allowed := map[string]bool{}
	seen := map[string]bool{}
	for _, a := range p.Answers {
		e := b.entry(a.ToolCallID)
		switch {
		case e == nil:
			return socket.Refuse("answers: the batch has no call of that toolCallId")
		case seen[a.ToolCallID]:
			return socket.Refuse("answers: two of them are for one call")
		case e.outcome != Ask:
			return socket.Refuse("answers: a call of that toolCallId does not wait for the person")
		case a.Reason != "" && a.Verdict != decisions.Deny:
			return socket.Refuse("answers: a reason belongs to a deny")
		case len(a.Reason) > maxReason:
			return socket.Refuse("answers: a reason is longer than %d bytes", maxReason)
		}
		seen[a.ToolCallID] = true
		allowed[a.ToolCallID] = a.Verdict == decisions.Allow
	}
	seen = map[string]bool{}
	size := 0
	for _, r := range p.Results {
		e := b.entry(r.ToolCallID)
		switch {
		case e == nil || e.side != client:
			return socket.Refuse("results: the client has no call of that toolCallId in the batch")
		case seen[r.ToolCallID]:
			return socket.Refuse("results: two of them are for one call")
		case e.result != nil && !equalValues(e.result, r.Content):
			return socket.Refuse("results: another result of that call was brought before")
		case !e.released && e.result == nil && !allowed[r.ToolCallID]:
			return socket.Refuse("results: a call of that toolCallId may not run")
		}
		seen[r.ToolCallID] = true
		if e.result == nil {
			size += len(r.Content)
		}
	}
	if !all.fits(b, size) {
		return socket.Refuse("results: the batch would be larger than %d MiB", maxBatchBytes>>20)
	}
	return nil
}

func (b *batch) entry(id string) *entry {
	for _, e := range b.entries {
		if e.id == id {
			return e
		}
	}
	return nil
}

// readyToRun reports whether no question is left and at least one call will run.
func (b *batch) readyToRun() bool {
	some := false
	for _, e := range b.entries {
		if e.outcome == Ask {
			return false
		}
		some = some || e.outcome == Granted || e.outcome == Execute
	}
	return some
}

// applyAnswers applies the answers one by one: one that cannot be stored leaves its
// question open and does not affect the others.
func (h *handler) applyAnswers(ctx context.Context, t *requestContext, b *batch, answers []answerWire) (stored []decisions.StoredChoice) {
	// A denied call does not run, and so changes nothing for the others.
	answers = slices.Clone(answers)
	by := t.peer.Author(author.Client)
	slices.SortStableFunc(answers, func(x, y answerWire) int { return cmp.Compare(y.Verdict, x.Verdict) })
	for _, a := range answers {
		e := b.entry(a.ToolCallID)
		if a.Verdict == decisions.Allow && a.Width == "" && b.mayBeAffected(e) {
			e.problem = whyAffected
			continue
		}
		if a.Later && b.denyLater(t, e, a.Reason) {
			continue
		}
		kept, err := native.AnswerQuestion(ctx, h.Deps, &t.state.Questions, native.Answer{
			DecisionID: e.decision.ID, Verdict: a.Verdict, Width: a.Width, Scope: a.Scope, ExpiresIn: a.ExpiresIn, Author: by,
		})
		if err != nil {
			e.problem = "the answer could not be taken"
			if s, ok := errors.AsType[*socket.Error](err); ok {
				e.problem = s.Message
			}
			continue
		}
		stored = append(stored, kept...)
		inForce := slices.ContainsFunc(kept, func(k decisions.StoredChoice) bool { return !k.Unconfirmed })
		e.applyVerdict(a.Verdict, by, inForce, a.Reason)
	}
	b.noteAffected()
	return stored
}

// takeResults takes the client's results, also of calls that would be denied
// now: the model must learn what happened.
func (b *batch) takeResults(all *batches, asks *native.PendingQuestions, results []resultWire) {
	for _, r := range results {
		e := b.entry(r.ToolCallID)
		if e.outcome != Execute && !e.released || e.result != nil {
			continue // its answer could not be applied, or was sent before
		}
		asks.Remove(e.decision.ID) // its question needs no answer any more
		all.grow(b, len(r.Content))
		e.result = bytes.Clone(r.Content)
		e.outcome, e.reason = Skip, whySkipHere
	}
}
