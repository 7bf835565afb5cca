//go:build cgo

package journal_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/verify"
	"github.com/permd/permd/internal/eventually"
)

// BenchmarkVerify verifies a journal of PERMD_BENCH_JOURNAL_ROWS decisions. With 1000000,
// which takes a minute or two to be made, it should take no more than 5 s on a quiet machine.
func BenchmarkVerify(b *testing.B) {
	n := 20_000
	if s := os.Getenv("PERMD_BENCH_JOURNAL_ROWS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name string
		make func(i int) *decisions.Record
	}{
		{"repeated", func(i int) *decisions.Record { return benchRecord(i, n) }},
		{"different", record},
	} {
		b.Run(tc.name, func(b *testing.B) {
			o := journal.Options{Path: path(b)}
			j, err := journal.Open(o)
			if err != nil {
				b.Fatal(err)
			}
			const group = 512
			for first := 0; first < n; first += group {
				var recs []*decisions.Record
				for i := first; i < min(first+group, n); i++ {
					recs = append(recs, tc.make(i))
				}
				if err := j.Append(b.Context(), recs...); err != nil {
					b.Fatal(err)
				}
			}
			eventually.Holds(b, "the index of names is complete", func() bool { return j.Named(b) == (n+1)/1024 })
			if err := j.Close(); err != nil {
				b.Fatal(err)
			}
			r, err := journal.OpenReadOnly(o)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			before := cpuTime(b)
			for b.Loop() {
				v, err := r.Verify(b.Context(), verify.Options{})
				if err != nil || v.Decisions != int64(n) || len(v.Faults) > 0 {
					b.Fatalf("%+v, %v", v, err)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N)/float64(n), "cpu-µs/decision")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/decision")
		})
	}
}

// cpuTime is the time that processors have worked for this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
