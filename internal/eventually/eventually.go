// Package eventually waits for conditions that another goroutine or process brings
// about, independently of the speed of the machine: the limit only determines how long a
// failing test takes. It is for tests only; TestSleeps in docs lets tests wait in no
// other way.
package eventually

import (
	"testing"
	"time"
)

// limit bounds the wait. What takes milliseconds on an idle machine can take seconds on
// a busy one.
const limit = time.Minute

// Pauses between two checks. They double, from the shortest to the longest.
const (
	shortestPause = 200 * time.Microsecond
	longestPause  = 20 * time.Millisecond
)

// True waits until a condition holds, and returns false if it does not within limit.
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
// The functions in states describe the actual state in the failure message.
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
