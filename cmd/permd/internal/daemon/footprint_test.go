package daemon

import (
	"testing"
	"time"
)

// TestRelease: memory is returned when no call is being decided, and then from time
// to time, but never while one is.
func TestRelease(t *testing.T) {
	var r release
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for n, step := range []struct {
		after   time.Duration
		decided uint64
		want    bool
	}{
		{0, 0, true}, // started, and nothing to do
		{releaseAfter, 1, false},
		{releaseAfter, 900, false},
		{releaseAfter, 900, true},
		{releaseAfter, 900, false},
		{releaseEvery - 2*releaseAfter, 900, false},
		{releaseAfter, 900, true},
		{releaseAfter, 901, false},
		{releaseAfter, 901, true},
	} {
		start = start.Add(step.after)
		if got := r.due(start, step.decided); got != step.want {
			t.Errorf("step %d: %v, want %v", n, got, step.want)
		}
	}
}
