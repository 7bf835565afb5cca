package decisions

import (
	"errors"
	"strings"
	"testing"
)

// TestUnattended: if nobody can be asked, every ask becomes a deny with the reason,
// even one that a failure caused.
func TestUnattended(t *testing.T) {
	tests := []struct {
		name string
		set  func(*fakePolicy, *fakeJournal)
		want Verdict
		why  string
	}{
		{"allowed", func(p *fakePolicy, _ *fakeJournal) { p.fired = []Finding{finding(User, SetAllow)} }, Allow, ""},
		{"denied", func(p *fakePolicy, _ *fakeJournal) { p.fired = []Finding{finding(User, SetDeny)} }, Deny, "deny of user"},
		{"asked", func(p *fakePolicy, _ *fakeJournal) { p.fired = []Finding{finding(User, SetAsk)} }, Deny, "ask of user"},
		{"silent", func(p *fakePolicy, _ *fakeJournal) { p.fired = nil }, Deny, "no rule"},
		{"not logged", func(_ *fakePolicy, j *fakeJournal) { j.err = errors.New("disk full") }, Deny, "could not be logged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _, j, e := newFakes(t)
			tt.set(p, j)
			e.unattended = func() bool { return true }
			d := e.Decide(t.Context(), bash(t, "ls"))[0]
			if d.Verdict != tt.want || !strings.Contains(d.Reason, tt.why) {
				t.Errorf("got %s: %s", d.Verdict, d.Reason)
			}
			if tt.want == Deny && tt.name != "denied" && !strings.HasPrefix(d.Reason, "nobody is there to be asked: ") {
				t.Errorf("the reason is %q", d.Reason)
			}
			if len(d.Widths) > 0 || d.Offer != nil {
				t.Error("something is offered to nobody")
			}
			if j.err == nil && j.recs[0].Decision.Verdict != d.Verdict {
				t.Errorf("the journal says %s", j.recs[0].Decision.Verdict)
			}
			e.unattended = func() bool { return false }
			if d := e.Decide(t.Context(), bash(t, "ls"))[0]; tt.name == "asked" && d.Verdict != Ask {
				t.Errorf("with people there: %s", d.Verdict)
			}
		})
	}
}
