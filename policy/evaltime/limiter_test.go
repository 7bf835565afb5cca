package evaltime

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLimiter: each evaluation gets its whole time however many there are, and the
// timer stops if there are none.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		for range 3 { // rested in between
			first := l.Start(t.Context())
			time.Sleep(Timeout / 2)
			second, quick := l.Start(t.Context()), l.Start(t.Context())
			l.Stop(quick)
			time.Sleep(Timeout / 2)
			if first.Cancel.Cancelled() || second.Cancel.Cancelled() {
				t.Error("cancelled early")
			}
			time.Sleep(Timeout/limitTicks + time.Millisecond)
			if !first.Cancel.Cancelled() || second.Cancel.Cancelled() {
				t.Errorf("first cancelled: %v, second: %v", first.Cancel.Cancelled(), second.Cancel.Cancelled())
			}
			time.Sleep(Timeout)
			if !second.Cancel.Cancelled() || quick.Cancel.Cancelled() {
				t.Errorf("second cancelled: %v, the one that ended: %v", second.Cancel.Cancelled(), quick.Cancel.Cancelled())
			}
			l.Stop(first)
			l.Stop(second)
			time.Sleep(Timeout)
			l.mu.Lock()
			if l.ticking || len(l.running) > 0 {
				t.Error("the timer runs while nothing is evaluated")
			}
			l.mu.Unlock()
		}
	})
}
