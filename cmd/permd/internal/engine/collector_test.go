package engine

import (
	"runtime/debug"
	"testing"
)

// The collector's target is restored after rules were compiled, and is not changed
// if it is higher than permd's own, or off.
func TestCollectLess(t *testing.T) {
	begin := debug.SetGCPercent(100)
	defer debug.SetGCPercent(begin)
	now := func() int {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return percent
	}
	for _, tt := range []struct{ chosen, during int }{{100, busyGCPercent}, {50, busyGCPercent}, {400, 400}, {-1, -1}} {
		debug.SetGCPercent(tt.chosen)
		done := reduceGC()
		if got := now(); got != tt.during {
			t.Errorf("with %d it is %d meanwhile, want %d", tt.chosen, got, tt.during)
		}
		done()
		if got := now(); got != tt.chosen {
			t.Errorf("with %d it is %d afterwards", tt.chosen, got)
		}
	}
}
