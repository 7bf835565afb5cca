package decisions

import "testing"

// TestRefusedOutcome: what a protocol does not let run is recorded so where the verdict does
// not say it, and is no question.
func TestRefusedOutcome(t *testing.T) {
	for _, tt := range []struct {
		verdict Verdict
		alone   bool
		refused Outcome
		want    Outcome
		then    Verdict
	}{
		{Ask, false, "", "", Ask},
		{Ask, false, Unmet, Unmet, Ask},
		{Ask, false, Refused, Refused, Ask},
		{Ask, true, Invalid, "", Deny},
		{Deny, false, Unmet, "", Deny},
	} {
		d := &Decision{Verdict: tt.verdict, Widths: []Width{{ID: "w1"}}, Offer: new(Offer)}
		d.finalize(&Request{Refused: tt.refused}, tt.alone)
		if d.Outcome != tt.want || d.Verdict != tt.then {
			t.Errorf("%+v: %s, %s", tt, d.Outcome, d.Verdict)
		}
		if asks := d.Offer != nil; asks != (tt.verdict == Deny || tt.want == "" && !tt.alone) {
			t.Errorf("%+v: it can be remembered: %v", tt, asks)
		}
	}
}
