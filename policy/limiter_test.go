package policy

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLimiter: each evaluation gets its whole time however many there are, and the
// timer stops if there are none.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		for range 3 { // rested in between
			first := l.start(t.Context())
			time.Sleep(evalTimeout / 2)
			second, quick := l.start(t.Context()), l.start(t.Context())
			l.stop(quick)
			time.Sleep(evalTimeout / 2)
			if first.cancel.Cancelled() || second.cancel.Cancelled() {
				t.Error("cancelled early")
			}
			time.Sleep(evalTimeout/limitTicks + time.Millisecond)
			if !first.cancel.Cancelled() || second.cancel.Cancelled() {
				t.Errorf("first cancelled: %v, second: %v", first.cancel.Cancelled(), second.cancel.Cancelled())
			}
			time.Sleep(evalTimeout)
			if !second.cancel.Cancelled() || quick.cancel.Cancelled() {
				t.Errorf("second cancelled: %v, the one that ended: %v", second.cancel.Cancelled(), quick.cancel.Cancelled())
			}
			l.stop(first)
			l.stop(second)
			time.Sleep(evalTimeout)
			l.mu.Lock()
			if l.ticking || len(l.running) > 0 {
				t.Error("the timer runs while nothing is evaluated")
			}
			l.mu.Unlock()
		}
	})
}
