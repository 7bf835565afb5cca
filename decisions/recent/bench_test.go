package recent

import (
	"testing"
	"time"
)

// BenchmarkAdd is what each decision pays for being counted.
func BenchmarkAdd(b *testing.B) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := New(now, 0)
	for b.Loop() {
		r.Add(1000, "ana@example.org", now)
	}
}
