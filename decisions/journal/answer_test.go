//go:build cgo

package journal_test

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/internal/sqlitedb"
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

// TestAnsweredOfVersion6: a journal without the index of answered questions gets it, and counts
// them by it.
func TestAnsweredOfVersion6(t *testing.T) {
	t.Parallel()
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	want := map[string]int64{"allow": 2, "deny": 1, "ran": 1, "": 3}
	n := 0
	for name, count := range want {
		for range count {
			rec := record(n)
			n++
			rec.Decision.Verdict = decisions.Ask
			mustAppend(t, j, rec)
			var err error
			switch name {
			case "ran":
				err = j.Ran(t.Context(), rec.Decision.ID, noon)
			case "allow", "deny":
				err = j.Answer(t.Context(), rec.Decision.ID, decisions.HumanAnswer{Time: noon, Verdict: decisions.Verdict(name)})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", o.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"DROP TABLE names", "DROP INDEX decisions_answered", "PRAGMA user_version = 6"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.OpenReadOnly(o); !errors.Is(err, sqlitedb.ErrOlder) {
		t.Errorf("reading it before it is updated: %v", err)
	}
	j = open(t, o)
	got, err := j.Tally(t.Context(), decisions.RecordFilter{}, []tally.By{tally.Answer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]int64{}
	for _, g := range got.Groups {
		have[g.Name] = g.Ask
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}
