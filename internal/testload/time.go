package testload

import (
	"testing"
	"time"
)

var start = time.Now()

// Time skips a test that takes at most so long, also on a slow machine, if less is left until
// go test ends the package for its time limit: without -timeout that is ten minutes, whatever the
// machine, and all results of the package would be lost with it. .ci/run gives more. What is run
// with a short limit from the start is not skipped.
func Time(t *testing.T, most time.Duration) {
	t.Helper()
	if deadline, ok := t.Deadline(); ok && late(time.Until(deadline), time.Since(start), most) {
		t.Skipf("the time limit of go test is almost reached, and this needs up to %v: -timeout=40m runs it, too", most)
	}
}

// late reports whether less than most is left, after the tests have run for as long.
func late(left, passed, most time.Duration) bool { return left < most && passed >= most }
