//go:build cgo

package journal_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
)

// BenchmarkList measures every kind of list in a large journal. Its size is
// PERMD_BENCH_JOURNAL_ROWS: with 1200000 it takes minutes to be made, and no list may
// take more than 100 ms.
func BenchmarkList(b *testing.B) {
	n := 20_000
	if s := os.Getenv("PERMD_BENCH_JOURNAL_ROWS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	o := journal.Options{Path: path(b)}
	j := open(b, o)
	// With PERMD_BENCH_JOURNAL_SESSIONS=all, each decision has a session of its own.
	alone := os.Getenv("PERMD_BENCH_JOURNAL_SESSIONS") == "all"
	const group = 512
	for first := 0; first < n; first += group {
		var recs []*decisions.Record
		for i := first; i < first+group; i++ {
			rec := benchRecord(i, n)
			if alone {
				rec.Session.ID = fmt.Sprintf("session-%05d", i)
			}
			recs = append(recs, rec)
		}
		if err := j.Append(b.Context(), recs...); err != nil {
			b.Fatal(err)
		}
	}
	if err := j.Close(); err != nil { // what is in the spool moves
		b.Fatal(err)
	}
	info, err := os.Stat(o.Path)
	if err != nil {
		b.Fatal(err)
	}
	j = open(b, o)
	b.Logf("%d decisions, %d MiB, %d bytes each", n, info.Size()>>20, info.Size()/int64(n))
	middle := int64(n / 2)
	at := func(i int) time.Time { return benchRecord(i, n).Time }
	for _, tc := range []struct {
		name   string
		filter decisions.RecordFilter
	}{
		{"newest", decisions.RecordFilter{}},
		{"before", decisions.RecordFilter{Before: middle}},
		{"unasked", decisions.RecordFilter{Unapproved: true}},
		{"unasked denied before", decisions.RecordFilter{Unapproved: true, Verdict: decisions.Deny, Before: middle}},
		{"verdict", decisions.RecordFilter{Verdict: decisions.Deny}},
		{"rare verdict of a tool", decisions.RecordFilter{Verdict: decisions.Deny, Tool: "Rare"}},
		{"none", decisions.RecordFilter{Verdict: decisions.Deny, Tool: "Rare", Session: "session-00001"}},
		{"session", decisions.RecordFilter{Session: "session-00001"}},
		{"one session of all", decisions.RecordFilter{Session: "loop", Verdict: decisions.Ask}},
		{"unknown session", decisions.RecordFilter{Session: "nobody"}},
		{"tool", decisions.RecordFilter{Tool: "Read", Before: middle}},
		{"since", decisions.RecordFilter{Since: at(n - 3)}},
		{"since long ago", decisions.RecordFilter{Since: at(n / 3)}},
		{"since, of a tool", decisions.RecordFilter{Since: at(n - 5000), Tool: "Rare"}},
		{"between", decisions.RecordFilter{Since: at(n / 3), Until: at(n/3 + 10)}},
		{"verdict between", decisions.RecordFilter{Since: at(n / 3), Until: at(n/3 + 1000), Verdict: decisions.Deny}},
		{"after", decisions.RecordFilter{After: middle, Verdict: decisions.Deny}},
		{"all mixed", decisions.RecordFilter{After: 5, Before: middle, Since: at(9), Verdict: decisions.Ask, Tool: "Edit", Unapproved: true}},
	} {
		for _, limit := range []int{50, 1000} {
			tc.filter.Limit = limit
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(tc.name, " ", "-"), limit), func(b *testing.B) {
				var worst time.Duration
				rows := 0
				for b.Loop() {
					start := time.Now()
					recs, err := j.List(b.Context(), tc.filter)
					if err != nil {
						b.Fatal(err)
					}
					worst, rows = max(worst, time.Since(start)), len(recs)
				}
				b.ReportMetric(float64(rows), "rows")
				b.ReportMetric(float64(worst)/1e6, "worst-ms")
			})
		}
	}
	b.Run("show", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := j.Get(b.Context(), benchRecord(i*7919%n, n).Decision.ID); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("show-unknown", func(b *testing.B) {
		for b.Loop() {
			if _, err := j.Get(b.Context(), "019e8f4c-6a55-7b7e-8f1e-2f9d3c1a0b42"); err == nil {
				b.Fatal("found")
			}
		}
	})
}

// benchRecord is decision i of n: an agent in a loop makes half of them in one
// session, the others are those of 2,000 sessions.
func benchRecord(i, n int) *decisions.Record {
	rec := record(1)
	rec.Time = noon.Add(time.Duration(i) * 20 * time.Millisecond)
	rec.Decision.ID = fmt.Sprintf("%08x-%04x-7%03x-8f1e-2f9d3c1a0b42", i, i%65536, i%4096)
	rec.Decision.CallID = fmt.Sprint("toolu_", i)
	rec.Session.ID, rec.Tool = "loop", "Bash"
	if i%2 == 0 {
		rec.Session.ID = fmt.Sprintf("session-%05d", i/2*2000/n)
		rec.Tool = []string{"Bash", "Read", "Edit", "Write", "Grep"}[i/2%5]
		rec.Decision.Effects[0].Text = fmt.Sprintf("git show %d", i/10)
	}
	switch {
	case i%1000 == 999:
		rec.Decision.Verdict = decisions.Deny
	case i%7 == 0 && rec.Session.ID != "loop":
		rec.Decision.Verdict = decisions.Ask
	}
	if i < n/100 && i%1000 == 500 {
		rec.Decision.Outcome, rec.Tool = decisions.RanUnprompted, "Rare"
	}
	return rec
}
