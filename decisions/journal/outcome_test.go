//go:build cgo

package journal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
)

// TestListOutcomes finds records by the call's outcome, in the spool and in the
// database, and does not match a record whose text has the same words.
func TestListOutcomes(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	for n := 1; n <= 6; n++ {
		rec := record(n)
		switch n {
		case 2, 5:
			rec.Decision.Outcome = decisions.RanUnprompted
		case 3:
			rec.Decision.Outcome = decisions.RanDespiteDeny
		case 4:
			rec.Decision.Outcome = decisions.Passed
		case 6:
			rec.Decision.Reason = `"outcome":"unasked"`
		}
		mustAppend(t, j, rec)
	}
	check := func(where string, r *journal.Reader) {
		t.Helper()
		for _, tc := range []struct {
			filter decisions.RecordFilter
			want   []int64
		}{
			{decisions.RecordFilter{Unapproved: true}, []int64{2, 3, 5}},
			{decisions.RecordFilter{Unapproved: true, After: 2, Before: 5}, []int64{3}},
			{decisions.RecordFilter{Unapproved: true, Tool: "none"}, nil},
		} {
			recs, err := r.List(t.Context(), tc.filter)
			if err != nil {
				t.Fatal(err)
			}
			var have []int64
			for _, rec := range recs {
				have = append(have, rec.Seq)
			}
			if diff := cmp.Diff(tc.want, have); diff != "" {
				t.Errorf("%s, %v: %s", where, tc.filter, diff)
			}
			n, err := r.Count(t.Context(), tc.filter)
			if err != nil || int(n) != len(tc.want) {
				t.Errorf("%s, %v: counted %d, %v", where, tc.filter, n, err)
			}
		}
	}
	check("spool", j.Reader)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := journal.OpenReadOnly(o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	check("database", r)
}
