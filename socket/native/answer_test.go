package native

import (
	"context"
	"errors"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
)

// settler is a memory that stores everything, or fails.
type settler struct {
	kept []decisions.Answer
	err  error
}

func (s *settler) Keep(_ context.Context, a decisions.Answer) ([]decisions.StoredChoice, error) {
	if s.err != nil {
		return nil, s.err
	}
	s.kept = append(s.kept, a)
	return []decisions.StoredChoice{{ID: "c1"}}, nil
}
func (*settler) Drop(context.Context, ...string) error { return nil }
func (*settler) EndSession(decisions.Owner, string)    {}
func (*settler) EndConnection(decisions.Owner)         {}

// TestAnswerQuestion: an answer is accepted once, and one that does not fit, or cannot be
// stored, leaves the question open.
func TestAnswerQuestion(t *testing.T) {
	offer := &decisions.Offer{Sets: []decisions.OfferSet{{Width: decisions.Width{ID: "w1"}}}, Reject: &decisions.Rejection{}}
	for name, c := range map[string]struct {
		answer Answer
		offer  *decisions.Offer
		err    error
		fails  bool
		kept   int
	}{
		"once":             {answer: Answer{Verdict: decisions.Allow}, offer: offer},
		"a no":             {answer: Answer{Verdict: decisions.Deny}},
		"always":           {answer: Answer{Verdict: decisions.Allow, Width: "w1"}, offer: offer, kept: 1},
		"never":            {answer: Answer{Verdict: decisions.Deny, Scope: "project"}, offer: offer, kept: 1},
		"no verdict":       {answer: Answer{}, offer: offer, fails: true},
		"ask":              {answer: Answer{Verdict: decisions.Ask}, offer: offer, fails: true},
		"nothing offered":  {answer: Answer{Verdict: decisions.Allow, Width: "w1"}, fails: true},
		"a width to deny":  {answer: Answer{Verdict: decisions.Deny, Width: "w1"}, offer: offer, fails: true},
		"a scope for once": {answer: Answer{Verdict: decisions.Allow, Scope: "user"}, offer: offer, fails: true},
		"no time":          {answer: Answer{Verdict: decisions.Allow, Width: "w1", ExpiresIn: []byte("0")}, offer: offer, fails: true},
		"memory is full":   {answer: Answer{Verdict: decisions.Allow, Width: "w1"}, offer: offer, err: decisions.ErrNotKept, fails: true},
		"the disk is full": {answer: Answer{Verdict: decisions.Allow, Width: "w1"}, offer: offer, err: errors.New("no space"), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			memory, noted := &settler{err: c.err}, 0
			deps := Deps{Keeper: memory, RecordAnswer: func(context.Context, string, decisions.Verdict, author.Identity, []decisions.StoredChoice) error {
				noted++
				return nil
			}}
			var asks PendingQuestions
			refused := func(Selection) (Resolution, error) { return Resolution{}, errors.New("not here") }
			asks.Add(&PendingQuestion{ID: "d1", Offer: c.offer, Resolve: refused})
			c.answer.DecisionID = "d1"
			kept, err := AnswerQuestion(t.Context(), deps, &asks, c.answer)
			if (err != nil) != c.fails || len(kept) != c.kept || len(memory.kept) != c.kept {
				t.Fatalf("kept %v, error %v", kept, err)
			}
			if (noted == 1) == c.fails {
				t.Errorf("noted %d times", noted)
			}
			memory.err = nil
			if _, err := AnswerQuestion(t.Context(), deps, &asks, Answer{DecisionID: "d1", Verdict: decisions.Allow}); (err == nil) != c.fails {
				t.Errorf("a second answer: %v", err)
			}
		})
	}
	var none PendingQuestions
	if _, err := AnswerQuestion(t.Context(), Deps{}, &none, Answer{DecisionID: "d1", Verdict: decisions.Allow}); err == nil {
		t.Error("a question that nobody asked is answered")
	}
}
