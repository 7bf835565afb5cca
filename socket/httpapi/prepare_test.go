package httpapi

import (
	"fmt"
	"testing"
	"time"
)

// TestPrepared: a prepared folder counts for a limited time and only for its
// person, and the number of folders is bounded.
func TestPrepared(t *testing.T) {
	now := time.Unix(1000, 0)
	p := &prepareCache{now: func() time.Time { return now }}
	key := keyOf(1, []byte(`{"sessionId":"s","cwd":"/a"}`))
	if key != keyOf(1, []byte(`{"sessionId":"t","cwd":"/a"}`)) {
		t.Error("another session in the folder has rules of its own")
	}
	if p.fresh(key) {
		t.Error("fresh before it was prepared")
	}
	p.note(key)
	for _, other := range []preparedKey{keyOf(2, []byte(`{"sessionId":"s","cwd":"/a"}`)), keyOf(1, []byte(`{"sessionId":"s","cwd":"/b"}`))} {
		if p.fresh(other) {
			t.Error("another's is fresh")
		}
	}
	for age, want := range map[time.Duration]bool{0: true, prepareEvery - 1: true, prepareEvery: false, -1: false} {
		if now = time.Unix(1000, 0).Add(age); p.fresh(key) != want {
			t.Errorf("after %s: fresh %v", age, !want)
		}
	}
	for i := range 3 * maxPrepared {
		p.note(keyOf(1, fmt.Appendf(nil, `{"cwd":"/%d"}`, i)))
		if len(p.at) > maxPrepared {
			t.Fatalf("%d are kept", len(p.at))
		}
	}
}
