package main

import (
	"fmt"
	"strings"
	"testing"
)

// otcGateManyAsk: of more questions than permd lists at a time each waits, and is listed once
// others are answered.
func otcGateManyAsk(t *testing.T) {
	g := startOTCGate(t)
	const all = 30
	send := func(i int) string {
		return fmt.Sprintf(`{"tool_id":"Sms.Send","call_id":"s%d","input":{"to":"%d"}}`, i, i)
	}
	var ids []string
	for i := range all {
		ids = append(ids, decisionOf(t, g.wantCall(t, "asked", send(i), 400, "A person must approve", "")))
	}
	g.d.waiting(t, 12)
	for _, id := range ids {
		if status, answer := g.request(t, "GET", "/approvals/"+id, ""); status != 200 || !strings.Contains(answer, `"pending"`) {
			t.Fatalf("a question that waits: %d %s", status, answer)
		}
	}
	for range all {
		g.d.allow(t, g.d.waiting(t, -1)[0])
	}
	g.d.waiting(t, 0)
	for i := range all {
		if status, answer := g.request(t, "POST", "/tools/call", send(i)); status != 200 {
			t.Errorf("allowed: %d %s", status, answer)
		}
	}
}
