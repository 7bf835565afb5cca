package main

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// TestOTCGatewayWaiters: callers of one call wait for the person together, each its own time.
// The call runs once, and all of them get its result.
func TestOTCGatewayWaiters(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for seconds; TestOTCGateway is the quick one")
	}
	t.Parallel()
	g := startOTCGate(t)
	const send = `{"tool_id":"Sms.Send","call_id":"w1","input":{"to":"+1202"}}`
	callers := func(seconds string) (wait func() []string) {
		var all sync.WaitGroup
		answers := make([]string, 4)
		for i := range answers {
			all.Go(func() { _, answers[i] = g.request(t, "POST", "/tools/call", send, "Prefer", "wait="+seconds) })
		}
		return func() []string {
			all.Wait()
			return answers
		}
	}
	begun := time.Now()
	wait := callers("5")
	_, now := g.request(t, "POST", "/tools/call", send)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("a caller that does not wait was answered after %s", took)
	}
	for _, a := range wait() {
		if decisionOf(t, a) != decisionOf(t, now) {
			t.Errorf("answers %s and %s", a, now)
		}
	}
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("four callers that wait for 5 s were answered after %s", took)
	}
	wait = callers("60")
	g.person(t, "allow", decisionOf(t, now))
	for _, a := range wait() {
		if !strings.Contains(a, `"success":true`) {
			t.Errorf("after the answer: %s", a)
		}
	}
	if ran := g.upstream.runs(); ran != "Sms.Send@1.10.0 w1" {
		t.Errorf("%q has run", ran)
	}
}
