//go:build cgo

package journal_test

import (
	"testing"

	"github.com/permd/permd/decisions/journal"
)

// BenchmarkEncode measures the part that the callers do at the same time.
func BenchmarkEncode(b *testing.B) {
	rec := record(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := journal.Encode(rec); err != nil {
			b.Fatal(err)
		}
	}
}
