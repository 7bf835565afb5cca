package daemon

import (
	"testing"
	"time"

	"github.com/permd/permd/policy/settings"
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

// TestMemoryLimit tests that the memory limit grows with the allowed connections, and stays
// below the MemoryMax of the systemd unit, 1 GiB.
func TestMemoryLimit(t *testing.T) {
	const message = 4 << 20
	for connections, want := range map[int]int64{1: 160 << 20, 256: 160 << 20, 1064: 362 << 20, 65536: 608 << 20} {
		if got := memoryLimit(settings.Limits{Connections: connections, MessageBytes: message}); got != want {
			t.Errorf("%d connections: %d MiB, want %d", connections, got>>20, want>>20)
		}
	}
}
