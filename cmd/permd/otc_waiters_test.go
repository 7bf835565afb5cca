package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
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
	wait := callers("10")
	_, now := g.request(t, "POST", "/tools/call", send)
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("a caller that does not wait was answered after %s", took)
	}
	for _, a := range wait() {
		if decisionOf(t, a) != decisionOf(t, now) {
			t.Errorf("answers %s and %s", a, now)
		}
	}
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("four callers that wait for 10 s were answered after %s", took)
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

// TestOTCGatewayWaitersPipelined: a caller that sends more while it waits is taken for gone, since
// its end could not be seen any more. Its call does not run after a yes, but when it is repeated.
func TestOTCGatewayWaitersPipelined(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts daemon and gateway once more; TestOTCGateway is the quick one")
	}
	t.Parallel()
	g := startOTCGate(t)
	const send = `{"tool_id":"Sms.Send","call_id":"w1","input":{"to":"+1202"}}`
	conn, err := net.Dial("tcp", g.at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(eventually.Limit))
	fmt.Fprintf(conn, "POST /tools/call HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nPrefer: wait=600\r\nContent-Length: %d\r\n\r\n%s",
		g.at, g.token, len(send), send)
	id := g.d.waiting(t, 1)[0]
	fmt.Fprint(conn, "G")
	answer, err := io.ReadAll(conn) // until the gateway has closed the connection
	if err != nil || strings.Contains(string(answer), `"success":true`) {
		t.Errorf("a caller that sends more: %s, %v", answer, err)
	}
	g.person(t, "allow", id)
	if ran := g.upstream.runs(); ran != "" {
		t.Errorf("%q has run for a caller that is gone", ran)
	}
	if _, a := g.request(t, "POST", "/tools/call", send); !strings.Contains(a, `"success":true`) {
		t.Errorf("the call, repeated: %s", a)
	}
}
