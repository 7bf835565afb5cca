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
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/verify"
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
	said := decisions.HumanAnswer{Time: noon.Add(time.Minute), Verdict: decisions.Allow, Choices: []string{"a", "b"}, Author: &author.Identity{Via: author.Command, UID: 7, PID: 8, Process: "permd"}}
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

// TestAuthorChanged: an author that was changed, taken away or added after the answer is found out, of
// an answer and of one that was taken back.
func TestAuthorChanged(t *testing.T) {
	t.Parallel()
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	for n := range 3 {
		mustAppend(t, j, record(n))
		said := decisions.HumanAnswer{Time: noon, Verdict: decisions.Allow}
		if n > 0 {
			said.Author = &author.Identity{Via: author.Command, UID: 7, PID: 8, Process: "permd"}
		}
		if err := j.Answer(t.Context(), record(n).Decision.ID, said); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Ended(t.Context(), record(2).Decision.ID, decisions.Ending{Time: noon, As: decisions.EndedTakenBack + ` {"via":"lock","uid":7,"pid":9}`}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	clean(t, verifyFile(t, o.Path, verify.Options{}))
	for change, seq := range map[string]int64{
		`answer_info = CAST(replace(answer_info, '"uid":7', '"uid":0') AS BLOB) WHERE seq = 2`:    2,
		`answer_info = CAST(replace(answer_info, '"command"', '"client"') AS BLOB) WHERE seq = 2`: 2,
		`answer_info = CAST('{}' AS BLOB) WHERE seq = 2`:                                          2,
		`answer_info = CAST('{"author":{"via":"web","uid":7,"pid":1}}' AS BLOB) WHERE seq = 1`:    1,
		`ended_as = 'taken back' WHERE seq = 3`:                                                   3,
		`ended_as = replace(ended_as, '"lock"', '"client"') WHERE seq = 3`:                        3,
	} {
		db, err := sql.Open("sqlite3", o.Path)
		if err != nil {
			t.Fatal(err)
		}
		// As long as it is rolled back, the next change is made of what was written.
		var info []byte
		var as sql.NullString
		if err := db.QueryRow("SELECT answer_info, ended_as FROM decisions WHERE seq = ?", seq).Scan(&info, &as); err != nil {
			t.Fatal(err)
		}
		set := func(text string, args ...any) {
			t.Helper()
			if got, err := db.Exec("UPDATE decisions SET "+text, args...); err != nil {
				t.Fatal(err)
			} else if n, _ := got.RowsAffected(); n != 1 {
				t.Fatalf("%s: %d rows", text, n)
			}
		}
		set(change)
		var now []byte
		if err := db.QueryRow("SELECT coalesce(answer_info, '') || coalesce(ended_as, '') FROM decisions WHERE seq = ?", seq).Scan(&now); err != nil || string(now) == string(info)+as.String {
			t.Fatalf("%s changes nothing: %s, %v", change, now, err)
		}
		if v := verifyFile(t, o.Path, verify.Options{}); len(v.Faults) != 1 || v.Faults[0].Seq != seq {
			t.Errorf("%s: %+v", change, v.Faults)
		}
		set("answer_info = ?, ended_as = ? WHERE seq = ?", info, as, seq)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	clean(t, verifyFile(t, o.Path, verify.Options{}))
}
