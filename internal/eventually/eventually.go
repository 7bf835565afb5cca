// Package eventually waits for conditions that another goroutine or process brings
// about, independently of the speed of the machine: the limit only determines how long a
// failing test takes. It is for tests only; TestSleeps in docs lets tests wait in no
// other way.
package eventually

import (
	"testing"
	"time"
)

// Limit bounds the wait, here and where a test gives a client, a connection or a process a
// time: only what hangs reaches it. What takes milliseconds on an idle machine can take a
// minute on a busy one with the race detector.
const Limit = 2 * time.Minute

// Pauses between two checks. They double, from the shortest to the longest.
const (
	shortestPause = 200 * time.Microsecond
	longestPause  = 20 * time.Millisecond
)

// True waits until a condition holds, and returns false if it does not within Limit.
func True(holds func() bool) bool {
	pause := shortestPause
	for end := time.Now().Add(Limit); !holds(); pause = min(2*pause, longestPause) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// Holds waits until a condition holds, and ends the test if it does not within Limit.
// The functions in states describe the actual state in the failure message.
func Holds(t testing.TB, what string, holds func() bool, states ...func() string) {
	t.Helper()
	if True(holds) {
		return
	}
	for _, state := range states {
		what += "\n" + state()
	}
	t.Fatalf("waited %v in vain for: %s", Limit, what)
}
