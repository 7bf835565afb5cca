package native

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
)

// dropper is a memory that notes what is revoked.
type dropper struct {
	settler
	dropped []string
}

func (d *dropper) Drop(_ context.Context, ids ...string) error {
	d.dropped = append(d.dropped, ids...)
	return nil
}

// TestUnloggedAnswer: a person's answer that cannot be logged, and must be, does not
// count, and nothing of it is remembered.
func TestUnloggedAnswer(t *testing.T) {
	offer := &decisions.Offer{Sets: []decisions.OfferSet{{Width: decisions.Width{ID: "w1"}}}, Reject: &decisions.Rejection{}}
	for _, tc := range []struct {
		name    string
		answer  Answer
		failure error
		dropped []string
	}{
		{"once", Answer{Verdict: decisions.Allow}, errors.New("disk full"), nil},
		{"always", Answer{Verdict: decisions.Allow, Width: "w1"}, errors.New("disk full"), []string{"c1"}},
		{"once, logged", Answer{Verdict: decisions.Allow}, nil, nil},
		{"always, logged", Answer{Verdict: decisions.Allow, Width: "w1"}, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			memory := &dropper{}
			deps := Deps{Keeper: memory, RecordAnswer: func(context.Context, string, decisions.Verdict, author.Identity, []decisions.StoredChoice) error {
				return tc.failure
			}}
			var asks PendingQuestions
			asks.Add(&PendingQuestion{ID: "d1", Offer: offer})
			tc.answer.DecisionID = "d1"
			kept, err := AnswerQuestion(t.Context(), deps, &asks, tc.answer)
			if (err != nil) != (tc.failure != nil) || err != nil && kept != nil {
				t.Errorf("kept %v, error %v", kept, err)
			}
			if !slices.Equal(memory.dropped, tc.dropped) {
				t.Errorf("revoked %v, want %v", memory.dropped, tc.dropped)
			}
		})
	}
}
