//go:build cgo

package journal_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/tally"
)

// TestUnreadableRecord: one record that cannot be read is shown as such in every list that
// has it, with its number and id, and the others are shown as they are.
func TestUnreadableRecord(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	var ids []string
	for n := range 5 {
		rec := record(n + 1)
		mustAppend(t, j, rec)
		ids = append(ids, rec.Decision.ID)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", o.Path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE decisions SET record = CAST('{\"time\":' AS BLOB) WHERE seq = 3"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, o)
	for name, f := range map[string]decisions.RecordFilter{
		"all": {}, "after": {After: 1}, "of a kind": {Verdict: record(3).Decision.Verdict}, "before": {Before: 5},
	} {
		recs, err := j.List(t.Context(), f)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		unreadable := 0
		for _, r := range recs {
			switch {
			case r.Unreadable == "":
			case r.Seq != 3 || r.Decision.ID != ids[2] || r.Time.IsZero() || !strings.Contains(r.Unreadable, "record 3"):
				t.Errorf("%s: %+v", name, r)
			default:
				unreadable++
			}
		}
		if unreadable != 1 || len(recs) < 4 {
			t.Errorf("%s: %d records, %d of them unreadable", name, len(recs), unreadable)
		}
	}
	if r, err := j.Get(t.Context(), ids[2]); err != nil || r.Seq != 3 || r.Decision.ID != ids[2] || r.Time.IsZero() || !strings.Contains(r.Unreadable, "record 3") {
		t.Errorf("alone: %+v, %v", r, err)
	}
	for name, err := range map[string]error{
		"answer": j.Answer(t.Context(), ids[2], decisions.HumanAnswer{Time: record(3).Time, Verdict: decisions.Allow}),
		"ran":    j.Ran(t.Context(), ids[2], record(3).Time),
		"ended":  j.Ended(t.Context(), ids[2], decisions.Ending{Time: record(3).Time, As: "completed"}),
	} {
		if err == nil || errors.Is(err, journal.ErrNotFound) || !strings.Contains(err.Error(), "record 3") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rec, err := j.Get(t.Context(), ids[3]); err != nil || rec.Seq != 4 {
		t.Errorf("another one: %v, %v", rec, err)
	}
}

// TestTallyUnreadable: decisions whose content cannot be read count in a group without a name,
// and one that is stored whole counts where it belongs.
func TestTallyUnreadable(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	for n := range 6 {
		rec := record(n + 1)
		rec.Project, rec.Decision.Reason = "/home/x/p", fmt.Sprint("for itself: ", n)
		mustAppend(t, j, rec)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", o.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{
		"DELETE FROM bodies WHERE first = 2",
		"UPDATE bodies SET text = substr(text, 1, length(text) - 9) WHERE first = 3",
		"UPDATE decisions SET format = 7 WHERE seq = 4",
		`UPDATE decisions SET format = 1, shared = NULL, record = CAST('{"protocol":"acp","project":"/whole","latencyNs":1}' AS BLOB) WHERE seq = 5`,
	} {
		if _, err := db.Exec(change); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, o)
	got, err := j.Tally(t.Context(), decisions.RecordFilter{}, []tally.By{tally.Project}, nil)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]int64{}
	for _, g := range got.Groups {
		have[g.Name] = g.All()
	}
	if diff := cmp.Diff(map[string]int64{"": 3, "/home/x/p": 2, "/whole": 1}, have); diff != "" {
		t.Error(diff)
	}
}
