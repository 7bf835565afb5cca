package native

import (
	"context"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// Answer is the person's answer to a question, with the members of permd/choose.
type Answer struct {
	DecisionID string
	Verdict    decisions.Verdict // Allow or Deny
	// Width, Scope and ExpiresIn say what to remember, as in permd/choose. To WaitingQuestions
	// also a deny may name a width, one of the question's reject widths.
	Width, Scope string
	ExpiresIn    strictjson.Value
	// Bind derives the offer to store from the question's; nil for that one.
	Bind func(*decisions.Offer) *decisions.Offer
	// Author is who answers.
	Author author.Identity
	// UID is the user whose rules must be unchanged since the question, for an approval
	// to count; nil if the caller decides the call again.
	UID *uint32
}

// AnswerQuestion answers a question for a protocol with its own method for the
// person's answers. It does the same as permd/choose, except that it does not
// call the question's Answer, which may refuse permd/choose. On an error the
// question stays open, unless a yes came too late or could not be logged; the
// error's text may be shown.
func AnswerQuestion(ctx context.Context, deps Deps, asks *PendingQuestions, a Answer) ([]decisions.StoredChoice, error) {
	h := &handler{Deps: deps}
	if a.Verdict != decisions.Allow && a.Verdict != decisions.Deny {
		return nil, socket.Refuse("verdict must be allow or deny")
	}
	ask, err := asks.reserve(a.DecisionID)
	if err != nil {
		return nil, err
	}
	if a.UID != nil {
		if err := h.checkUnchanged(ctx, *a.UID, ask, ask.current(), Resolution{Verdict: a.Verdict}); err != nil {
			asks.finish(ask)
			return nil, err
		}
	}
	p := chooseParams{DecisionID: a.DecisionID, Verdict: a.Verdict, Width: a.Width, Scope: a.Scope, ExpiresIn: a.ExpiresIn}
	answer, err := p.choice(ask, Resolution{Verdict: a.Verdict}, false)
	if err != nil {
		asks.release(ask)
		return nil, err
	}
	if answer != nil && a.Bind != nil {
		answer.Offer = a.Bind(answer.Offer)
	}
	kept := []decisions.StoredChoice{}
	switch {
	case answer != nil:
		if kept, err = h.keep(ctx, asks, ask, *answer, nil); err != nil {
			return nil, err
		}
	case !asks.finish(ask):
		// The session or its turn ended meanwhile.
		return nil, errNotOpen
	}
	if err := h.recordAnswer(ctx, ask.ID, a.Verdict, a.Author, kept); err != nil {
		return nil, err
	}
	return kept, nil
}
