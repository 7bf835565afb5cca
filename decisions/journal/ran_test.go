//go:build cgo

package journal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
)

// TestRan adds to records that their calls have run, and reads that from the spool and,
// after a restart, from the database. It is no answer, and an answer may come before or
// after it.
func TestRan(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j, err := journal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		mustAppend(t, j, record(n))
	}
	at := noon.Add(time.Minute)
	ran := func(n int, at time.Time) {
		t.Helper()
		if err := j.Ran(t.Context(), record(n).Decision.ID, at); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(n int) {
		t.Helper()
		if err := j.Answer(t.Context(), record(n).Decision.ID, decisions.HumanAnswer{Time: noon, Verdict: decisions.Deny}); err != nil {
			t.Fatal(err)
		}
	}
	ran(0, at)
	ran(0, at.Add(time.Hour)) // the first is kept
	answer(1)
	ran(1, at)
	ran(2, at)
	answer(2)
	if err := j.Ran(t.Context(), "none", at); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("an id that is not there: %v", err)
	}
	end := func(n int, as string) {
		t.Helper()
		if err := j.Ended(t.Context(), record(n).Decision.ID, decisions.Ending{Time: at, As: as}); err != nil {
			t.Fatal(err)
		}
	}
	end(1, "failed")
	end(1, "ran") // the first is kept
	end(3, "cancelled")
	if err := j.Ended(t.Context(), "none", decisions.Ending{Time: at, As: "ran"}); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("an id that is not there: %v", err)
	}
	check := func() {
		t.Helper()
		recs, err := j.List(t.Context(), decisions.RecordFilter{})
		if err != nil || len(recs) != 4 {
			t.Fatalf("%d records, %v", len(recs), err)
		}
		for n, rec := range recs {
			if hasRun := n < 3; (rec.Ran != nil) != hasRun || hasRun && !rec.Ran.Equal(at) {
				t.Errorf("record %d ran at %v", n, rec.Ran)
			}
			wantEnd := map[int]string{1: "failed", 3: "cancelled"}[n]
			if (rec.Ended != nil) != (wantEnd != "") || rec.Ended != nil && (rec.Ended.As != wantEnd || !rec.Ended.Time.Equal(at)) {
				t.Errorf("record %d ended as %+v, want %q", n, rec.Ended, wantEnd)
			}
			if answered := n == 1 || n == 2; (rec.Answer != nil) != answered || answered && rec.Answer.Verdict != decisions.Deny {
				t.Errorf("record %d has the answer %+v", n, rec.Answer)
			}
		}
		if rec, err := j.Get(t.Context(), record(0).Decision.ID); err != nil || rec.Ran == nil || !rec.Ran.Equal(at) {
			t.Errorf("record 0 alone: %v, %v", rec, err)
		}
		if last := j.Status().Last; last != 4 {
			t.Errorf("the newest is %d, want 4", last)
		}
	}
	check()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, o)
	check()
	mustAppend(t, j, record(4))
	if last := j.Status().Last; last != 5 {
		t.Errorf("the next is number %d, want 5", last)
	}
}
