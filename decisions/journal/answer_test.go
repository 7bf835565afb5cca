//go:build cgo

package journal_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
)

// TestAnswer adds answers to records while others are written, and reads them after
// a restart. The first answer is kept.
func TestAnswer(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j, err := journal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	said := decisions.HumanAnswer{Time: noon.Add(time.Minute), Verdict: decisions.Allow, Choices: []string{"a", "b"}}
	var all sync.WaitGroup
	for n := range 20 {
		mustAppend(t, j, record(n))
		all.Go(func() {
			if n%2 == 0 {
				if err := j.Answer(t.Context(), record(n).Decision.ID, said); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := j.Answer(t.Context(), record(0).Decision.ID, decisions.HumanAnswer{Time: noon, Verdict: decisions.Deny}); err != nil {
		t.Fatal(err)
	}
	if err := j.Answer(t.Context(), "none", said); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("an id that is not there: %v", err)
	}
	if last := j.Status().Last; last != 20 {
		t.Errorf("the newest is %d, want 20", last)
	}
	mustAppend(t, j, record(20))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Answer(t.Context(), record(1).Decision.ID, said); err == nil {
		t.Error("an answer after the end")
	}
	j = open(t, o)
	for n := range 21 {
		rec, err := j.Get(t.Context(), record(n).Decision.ID)
		if err != nil {
			t.Fatal(err)
		}
		var want *decisions.HumanAnswer
		if n%2 == 0 && n < 20 {
			want = &said
		}
		if diff := cmp.Diff(want, rec.Answer); diff != "" || rec.Seq != int64(n+1) {
			t.Errorf("%s: number %d (-want +got):\n%s", fmt.Sprint("record ", n), rec.Seq, diff)
		}
	}
}
