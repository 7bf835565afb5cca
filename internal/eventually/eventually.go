// Package eventually waits for what another goroutine or process does, without
// depending on how fast the machine is: the end of the wait only decides how long a
// test that fails takes. It is imported by tests alone; TestSleeps of docs wants no
// test to sleep otherwise.
package eventually

import (
	"testing"
	"time"
)

// limit is how long a condition is waited for. What takes milliseconds on a quiet
// machine takes seconds on a loaded one.
const limit = time.Minute

// Pauses between two looks at a condition, which double from the shortest.
const (
	shortestPause = 200 * time.Microsecond
	longestPause  = 20 * time.Millisecond
)

// True looks at a condition until it holds, and reports false if it does not hold
// within limit.
func True(holds func() bool) bool {
	pause := shortestPause
	for end := time.Now().Add(limit); !holds(); pause = min(2*pause, longestPause) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// Holds waits until a condition holds, and ends the test if it does not within limit.
// The states, if any, say what there is instead.
func Holds(t testing.TB, what string, holds func() bool, states ...func() string) {
	t.Helper()
	if True(holds) {
		return
	}
	for _, state := range states {
		what += "\n" + state()
	}
	t.Fatalf("waited %v in vain for: %s", limit, what)
}
