package daemon

import (
	"runtime"
	"runtime/debug"
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

// TestAdjustedLimit tests that the limit follows what is loaded, in steps, back down too,
// and stays below the MemoryMax of the unit.
func TestAdjustedLimit(t *testing.T) {
	l := settings.Limits{Connections: 256, MessageBytes: 4 << 20}
	for inUse, want := range map[int64]int64{0: 160, 20: 160, 32: 160, 64: 160 + 48, 232: 160 + 300, 500: 768, 4000: 768} {
		if got := adjustedLimit(l, inUse<<20); got != want<<20 {
			t.Errorf("%d MiB in use: %d MiB, want %d", inUse, got>>20, want)
		}
	}
	many := settings.Limits{Connections: 65536, MessageBytes: 64 << 20}
	if got := adjustedLimit(many, 4000<<20); got < memoryLimit(many) {
		t.Errorf("less than without rules: %d MiB", got>>20)
	}
}

// TestAdjustedPercent tests that a small heap may grow by leastGarbage, and a large one by
// gcPercent.
func TestAdjustedPercent(t *testing.T) {
	for inUse, want := range map[int64]int{0: maxGCPercent, 6 << 20: 400, 8 << 20: 300, 24 << 20: 100, 48 << 20: gcPercent, 600 << 20: gcPercent} {
		if got := adjustedPercent(inUse); got != want {
			t.Errorf("%d MiB in use: %d %%, want %d", inUse>>20, got, want)
		}
	}
}

// TestPercentFollowsWhatIsInUse checks that debug.SetGCPercent is called as the live heap changes.
func TestPercentFollowsWhatIsInUse(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	h := &heapLimit{limits: settings.Limits{Connections: 256, MessageBytes: 4 << 20}, reserved: func() int { return 0 }}
	check := func() int {
		runtime.GC()
		h.check()
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return percent
	}
	if got := check(); got <= gcPercent {
		t.Errorf("with little in use: %d %%", got)
	}
	debug.SetGCPercent(77) // as while rules are compiled
	if got := check(); got != 77 {
		t.Errorf("while somebody else has set it: %d %%", got)
	}
	if got := check(); got == 77 || got <= gcPercent {
		t.Errorf("later: %d %%", got)
	}
	for range 100 {
		loaded = append(loaded, make([]byte, 1<<20))
	}
	if got := check(); got != gcPercent {
		t.Errorf("with 100 MiB in use: %d %%", got)
	}
	loaded = nil
	if got := check(); got <= gcPercent {
		t.Errorf("with little in use again: %d %%", got)
	}
}

// loaded is what the rules and choices of TestLimitFollowsWhatIsLoaded would be.
var loaded [][]byte

// TestLimitFollowsWhatIsLoaded loads and drops 200 MiB. What clients have reserved does not
// count, nor what is in use for a moment.
func TestLimitFollowsWhatIsLoaded(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	l := settings.Limits{Connections: 256, MessageBytes: 4 << 20}
	reserved := 0
	h := &heapLimit{limits: l, reserved: func() int { return reserved }}
	check := func(times int) int64 {
		for range times {
			runtime.GC()
			h.check()
		}
		return debug.SetMemoryLimit(-1)
	}
	before := check(len(h.recent))
	for range 200 {
		loaded = append(loaded, make([]byte, 1<<20))
	}
	if got := check(1); got != before {
		t.Errorf("after one check: %d MiB, %d before", got>>20, before>>20)
	}
	if got := check(len(h.recent)); got < before+200<<20 || got > maxMemory {
		t.Errorf("with 200 MiB more: %d MiB, %d before", got>>20, before>>20)
	}
	reserved = 200 << 20
	if got := check(1); got != before {
		t.Errorf("with 200 MiB that are reserved: %d MiB, %d before", got>>20, before>>20)
	}
	reserved, loaded = 0, nil
	if got := check(len(h.recent)); got != before {
		t.Errorf("at the end: %d MiB, %d before", got>>20, before>>20)
	}
}
