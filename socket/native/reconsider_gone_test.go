package native

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions"
)

// TestReconsiderGone: a client that is gone is not kept, nor are its questions, until a choice of the
// person expires in a week.
func TestReconsiderGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconsidered(t)
		week := time.Now().Add(7 * 24 * time.Hour)
		r.Next = func(uint32) time.Time { return week }
		r.waits(t, 1, "stays", "first")
		time.Sleep(time.Minute)
		for i := range 100 {
			client, id := fmt.Sprint("c", i), fmt.Sprint("q", i)
			r.waits(t, 1, client, id)
			time.Sleep(time.Second)
			r.asks[client].Remove(id) // as when its connection ends
			r.answer(id)
		}
		time.Sleep(time.Hour)
		r.Reconsideration.mu.Lock()
		defer r.Reconsideration.mu.Unlock()
		if n := len(r.clients); n > 1 {
			t.Errorf("%d clients are kept an hour after they have gone, want the one that waits", n)
		}
	})
}

// TestReconsideredShellRecords: a call that no new decision may answer, since its shell may be another one
// by now, is not decided for the record at each change of rules.
func TestReconsideredShellRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconsidered(t)
		shells, asks := new(Shells), new(PendingQuestions)
		req := &decisions.Request{Session: decisions.SessionRef{ID: "s"}}
		req.Call.ID = "call"
		asks.Add(&PendingQuestion{
			ID: "call", SessionID: "s", Decision: &decisions.Decision{ID: "call", Verdict: decisions.Ask, By: decisions.ByPolicy}, Request: req,
			Resolve: selectVerdict, Again: shells.decidedNow("s", true),
		})
		r.await(t, 1, asks, "call")
		shells.MarkUnknown("s")
		r.set("", map[string]decisions.Verdict{"call": decisions.Allow})
		for range 5 {
			r.Tell(nil)
			time.Sleep(2 * time.Second)
		}
		r.want(t, "the shell is another one", r.answer("call"), "it waits")
		if n := r.recorded(); n > 0 {
			t.Errorf("the log has %d allows of a call that waits, want none", n)
		}
	})
}
