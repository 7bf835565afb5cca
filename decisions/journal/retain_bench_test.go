//go:build cgo

package journal

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// BenchmarkRetention measures what one caller waits while old decisions are removed
// as fast as new ones come, compared with a journal without limits. Each decision
// has some 1.5 KB that it shares with none; -benchtime 50000x makes 75 MB of them.
func BenchmarkRetention(b *testing.B) {
	padding := strings.Repeat("x", 1000)
	for _, limit := range []int64{0, 8 << 20} {
		for _, clients := range []int{1, 64} {
			b.Run(fmt.Sprintf("limit=%dMiB/clients=%d", limit>>20, clients), func(b *testing.B) {
				j, err := Open(Options{Path: filepath.Join(b.TempDir(), "private", "decisions.db"), MaxBytes: limit})
				if err != nil {
					b.Fatal(err)
				}
				benchStore(b, clients, func(rec *decisions.Record) error {
					own := *rec
					own.Decision.Reason = rec.Decision.ID + padding
					return j.Append(b.Context(), &own)
				})
				b.ReportMetric(float64(j.Status().Retention.Removed), "removed")
				b.ReportMetric(float64(j.Status().Retention.Bytes)/(1<<20), "MiB")
				if err := j.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
