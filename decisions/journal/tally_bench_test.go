//go:build cgo

package journal_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/internal/eventually"
)

// BenchmarkTally measures counts of a large journal, and pages of lists for which records
// are read. Its size is PERMD_BENCH_JOURNAL_ROWS, and PERMD_BENCH_JOURNAL names the folder
// that keeps it for the next time. Each part of a count takes at most about 100 ms.
func BenchmarkTally(b *testing.B) {
	n := 20_000
	if s := os.Getenv("PERMD_BENCH_JOURNAL_ROWS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	o := journal.Options{Path: path(b)}
	if dir := os.Getenv("PERMD_BENCH_JOURNAL"); dir != "" {
		o.Path = dir + "/decisions.db"
	}
	at := func(i int) time.Time { return tallyRecord(i, n).Time }
	if _, err := os.Stat(o.Path); err != nil {
		j := open(b, o)
		const group = 512
		for first := 0; first < n; first += group {
			var recs []*decisions.Record
			for i := first; i < first+group; i++ {
				recs = append(recs, tallyRecord(i, n))
			}
			if err := j.Append(b.Context(), recs...); err != nil {
				b.Fatal(err)
			}
		}
		if err := j.Close(); err != nil { // what is in the spool moves
			b.Fatal(err)
		}
	}
	w := open(b, o) // which makes an index of names, or what is left of it
	start := time.Now()
	eventually.Holds(b, "the index of names is complete", func() bool { return w.Status().Unnamed == 0 })
	if took := time.Since(start); took > time.Second {
		b.Logf("the index of names was made in %v", took)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	j, err := journal.OpenReadOnly(o)
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	var starts []time.Time
	for day := at(0).Truncate(24 * time.Hour); ; day = day.Add(24 * time.Hour) {
		starts = append(starts, day)
		if day.After(at(n)) {
			break
		}
	}
	count := func(name string, f decisions.RecordFilter, by ...tally.By) {
		b.Run("by-"+string(by[0])+"/"+name, func(b *testing.B) {
			var worst time.Duration
			var parts, groups int
			for b.Loop() {
				parts, groups = 0, 0
				for at := f; ; {
					start := time.Now()
					got, err := j.Tally(b.Context(), at, by, starts)
					if err != nil {
						b.Fatal(err)
					}
					worst, parts, groups = max(worst, time.Since(start)), parts+1, groups+len(got.Groups)
					if at.Before = got.Next; got.Next == 0 {
						break
					}
				}
			}
			b.ReportMetric(float64(parts), "parts")
			b.ReportMetric(float64(groups), "groups")
			b.ReportMetric(float64(worst)/1e6, "worst-ms")
		})
	}
	week := decisions.RecordFilter{Since: at(n).Add(-7 * 24 * time.Hour)}
	for _, by := range []tally.By{tally.Agent, tally.Tool, tally.Verdict, tally.DecidedBy, tally.Day, tally.Answer} {
		count("all", decisions.RecordFilter{}, by)
		count("week", week, by)
	}
	count("agent", decisions.RecordFilter{Agent: "codex-acp"}, tally.Day)
	for _, by := range []tally.By{tally.Project, tally.Program} {
		count("all", decisions.RecordFilter{}, by)
		count("week", week, by)
		count("agent", decisions.RecordFilter{Agent: "codex-acp"}, by)
		count("rare", decisions.RecordFilter{Agent: "rare"}, by)
	}
	for name, f := range map[string]decisions.RecordFilter{
		"path nowhere": {Path: "nowhere/at/all"}, "host": {Host: "example.com"}, "project": {Project: "/home/x/p3"},
		"agent since": {Agent: "codex-acp", Since: week.Since}, "agent, rare": {Agent: "rare"}, "decider": {By: decisions.ByMemory},
	} {
		b.Run("list/"+name, func(b *testing.B) {
			var worst time.Duration
			var parts, rows int
			for b.Loop() {
				f.Limit, f.Before, parts, rows = 50, 0, 0, 0
				for {
					start := time.Now()
					got, err := j.Page(b.Context(), f)
					if err != nil {
						b.Fatal(err)
					}
					worst, parts, rows = max(worst, time.Since(start)), parts+1, rows+len(got.Records)
					if f.Before = got.Next; got.Next == 0 || rows >= 50 {
						break
					}
				}
			}
			b.ReportMetric(float64(parts), "parts")
			b.ReportMetric(float64(rows), "rows")
			b.ReportMetric(float64(worst)/1e6, "worst-ms")
		})
	}
}

// tallyRecord is decision i of n of 90 days: one in five is as another before it, and the
// others have words and paths of their own.
func tallyRecord(i, n int) *decisions.Record {
	rec := benchRecord(i, n)
	rec.Time = noon.Add(time.Duration(i) * (90 * 24 * time.Hour / time.Duration(n)))
	rec.Agent.Name = []string{"claude-agent-acp", "codex-acp", "gemini-cli"}[i/1000%3]
	if i%50_000 == 49_999 {
		rec.Agent.Name = "rare"
	}
	rec.Project = fmt.Sprint("/home/x/p", i/5000%20)
	rec.Decision.By = []decisions.DecidedBy{decisions.ByPolicy, decisions.ByMemory}[i/64%2]
	own := i - i%5
	rec.Details = []decisions.EffectDetail{
		{Words: []string{[]string{"git", "make", "rg", "cat"}[i/3%4], "show", fmt.Sprint(own)}},
		{Path: fmt.Sprint(rec.Project, "/src/file", own, ".go")},
	}
	if i%100_000 == 77 {
		rec.Details = append(rec.Details, decisions.EffectDetail{Host: "api.example.com"})
	}
	return rec
}
