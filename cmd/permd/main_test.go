package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// TestCollectLater: the first collection is put off, and later ones are as usual; the daemon
// and permd acp are left alone.
func TestCollectLater(t *testing.T) {
	const usual = 90
	defer debug.SetGCPercent(debug.SetGCPercent(usual))
	percent := func() int {
		p := debug.SetGCPercent(usual)
		debug.SetGCPercent(p)
		return p
	}
	t.Setenv("GOGC", "")
	for _, args := range [][]string{nil, {"serve"}, {"acp", "--", "agent"}} {
		if collectLater(args); percent() != usual {
			t.Errorf("%q: the target is %d", args, percent())
		}
	}
	t.Setenv("GOGC", "50")
	if collectLater([]string{"decide"}); percent() != usual {
		t.Errorf("with GOGC: the target is %d", percent())
	}
	t.Setenv("GOGC", "")
	if collectLater([]string{"decide"}); percent() != firstGCPercent {
		t.Errorf("decide: the target is %d", percent())
	}
	runtime.GC()
	eventually.Holds(t, "the target is the usual one", func() bool { return percent() == usual })
}
