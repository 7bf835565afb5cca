//go:build cgo

package journal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/testload"
)

// TestDamagedPages overwrites one page of the database after the other. Either the file
// is set aside as it is, and a new one takes its place, or no record is lost or changed.
// Then the journal goes on.
func TestDamagedPages(t *testing.T) {
	records := 40
	if s := os.Getenv("PERMD_TEST_PAGES_RECORDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		records = n
	}
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	want := map[int64]string{}
	for n := range records {
		rec := record(n)
		rec.Session.ID = fmt.Sprintf("s%d", n%7)
		if n%3 == 0 { // a body of its own, over several pages
			rec.Decision.Reason = strings.Repeat(fmt.Sprintf("reason %d ", n), 100+n*1000/records)
		}
		mustAppend(t, j, rec)
		want[rec.Seq] = encoded(t, rec)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	aside, same, unreadable := 0, 0, 0
	pages := make([]int, len(whole)/page)
	for n := range pages {
		pages[n] = n
	}
	if testing.Short() { // long: every page
		pages = testload.Sample(t, 12, pages)
	}
	for _, n := range pages {
		for name, fill := range map[string]func(i int) byte{
			"noise": func(i int) byte { return byte(i*31 + 7) }, "zeros": func(int) byte { return 0 },
		} {
			damaged := bytes.Clone(whole)
			for i := range page {
				damaged[n*page+i] = fill(i)
			}
			o := journal.Options{Path: path(t)}
			if err := os.WriteFile(o.Path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			j, err := journal.Open(o)
			if err != nil {
				t.Fatalf("page %d, %s: %v", n+1, name, err)
			}
			at := fmt.Sprintf("page %d of %d, %s", n+1, len(whole)/page, name)
			first := int64(1)
			if kept := j.Status().Damaged; kept != "" {
				aside++
				if text, err := os.ReadFile(kept); err != nil || !bytes.Equal(text, damaged) {
					t.Errorf("%s: set aside as %q: %v", at, kept, err)
				}
			} else {
				same++
				first += int64(records)
				for seq := range first - 1 {
					recs, err := j.List(t.Context(), decisions.RecordFilter{After: seq, Before: seq + 2})
					if err != nil || len(recs) == 1 && recs[0].Unreadable != "" && recs[0].Seq == seq+1 {
						unreadable++
					} else if len(recs) != 1 || recs[0].Seq != seq+1 || encoded(t, recs[0]) != want[seq+1] {
						t.Errorf("%s: not set aside, and record %d is lost or has changed", at, seq+1)
					}
				}
			}
			next := record(records)
			mustAppend(t, j, next)
			got, err := j.List(t.Context(), decisions.RecordFilter{Limit: 1})
			if err != nil || len(got) != 1 || next.Seq != first || encoded(t, got[0]) != encoded(t, next) {
				t.Errorf("%s: appended afterwards: %v, %v", at, got, err)
			}
			if err := j.Close(); err != nil {
				t.Errorf("%s: closing: %v", at, err)
			}
		}
	}
	t.Logf("%d set aside, %d not, with %d records that cannot be read", aside, same, unreadable)
	if aside < len(pages) || unreadable > same {
		t.Error("that is too little set aside, or too much lost")
	}
}

func encoded(t *testing.T, rec *decisions.Record) string {
	t.Helper()
	text, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
