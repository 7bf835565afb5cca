package decisions

import (
	"context"
	"errors"
	"testing"
)

// cancelsWhileAppending is a journal whose caller cancels while it stores.
type cancelsWhileAppending struct {
	fakeJournal
	cancel func()
}

func (j *cancelsWhileAppending) Append(ctx context.Context, recs ...*Record) error {
	j.cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.fakeJournal.Append(ctx, recs...)
}

// TestCancelled decides requests that were cancelled: the journal says so, and by
// whom, and none is allowed.
func TestCancelled(t *testing.T) {
	cause := errors.New("the client withdrew the request")
	tests := []struct {
		name   string
		policy func(*fakePolicy)
		want   Verdict
		reason string
	}{
		{"a call that rules allow", func(*fakePolicy) {}, Ask, "cancelled: the client withdrew the request"},
		{"a call that nothing speaks of", func(p *fakePolicy) { p.fired = nil }, Ask, "cancelled: the client withdrew the request"},
		{"policy gives up", func(p *fakePolicy) { p.err = context.Canceled }, Ask, "cancelled: the client withdrew the request"},
		{"policy gives up, and org denies on failure", func(p *fakePolicy) { p.err, p.onFailure = context.Canceled, Deny }, Deny, "cancelled: the client withdrew the request"},
		{"a deny stands", func(p *fakePolicy) { p.fired = []Finding{finding(Org, SetDeny)} }, Deny, "deny of org"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _, j, e := newFakes(t)
			tt.policy(p)
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(cause)
			d := e.Decide(ctx, bash(t, "ls"))[0]
			if d.Verdict != tt.want || d.Reason != tt.reason || len(d.Effects) == 0 {
				t.Errorf("%s because %q, %d effects", d.Verdict, d.Reason, len(d.Effects))
			}
			if len(j.recs) != 1 || j.recs[0].Decision.Verdict != tt.want || j.recs[0].Decision.Reason != tt.reason {
				t.Errorf("the journal holds %+v", j.recs)
			}
		})
	}
	t.Run("a deadline is no cancelling", func(t *testing.T) {
		p, _, _, e := newFakes(t)
		p.err = context.DeadlineExceeded
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		if d := e.Decide(ctx, bash(t, "ls"))[0]; d.Reason != "policy failed: it took too long" {
			t.Errorf("because %q", d.Reason)
		}
	})
	t.Run("while the journal stores", func(t *testing.T) {
		// A decision is stored even if its caller has disconnected.
		_, _, _, e := newFakes(t)
		ctx, cancel := context.WithCancel(t.Context())
		j := &cancelsWhileAppending{cancel: cancel}
		e.journal = j
		d := e.Decide(ctx, bash(t, "ls"))[0]
		if d.By == ByFailure || len(j.recs) != 1 {
			t.Errorf("decided by %s, %d records", d.By, len(j.recs))
		}
	})
}
