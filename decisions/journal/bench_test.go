//go:build cgo

package journal_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/decisions/journal"
)

// BenchmarkAppend measures one record for each call, from 1 and 64 goroutines.
// p50-ns is how long one caller waits.
func BenchmarkAppend(b *testing.B) {
	for _, d := range []journal.Durability{journal.Process, journal.Power} {
		for _, producers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/producers=%d", d, producers), func(b *testing.B) {
				j := open(b, journal.Options{Path: path(b), Durability: d})
				ctx := b.Context()
				var count, failed atomic.Int64
				waits := make([][]time.Duration, producers)
				var wg sync.WaitGroup
				b.ReportAllocs()
				b.ResetTimer()
				for p := range producers {
					wg.Go(func() {
						rec := record(0)
						for {
							n := count.Add(1)
							if n > int64(b.N) {
								return
							}
							rec.Decision.ID = fmt.Sprintf("d%019d", n)
							start := time.Now()
							if err := j.Append(ctx, rec); err != nil {
								failed.Add(1)
							}
							waits[p] = append(waits[p], time.Since(start))
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				if failed.Load() > 0 {
					b.Fatalf("%d appends failed", failed.Load())
				}
				all := slices.Concat(waits...)
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)/2]), "p50-ns")
				b.ReportMetric(float64(all[len(all)*99/100]), "p99-ns")
			})
		}
	}
}

// BenchmarkEncode measures the part that callers do in parallel.
func BenchmarkEncode(b *testing.B) {
	rec := record(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := journal.Encode(rec); err != nil {
			b.Fatal(err)
		}
	}
}
