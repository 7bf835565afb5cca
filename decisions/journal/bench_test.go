//go:build cgo

package journal_test

import (
	"testing"

	"github.com/permd/permd/decisions/journal"
)

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
