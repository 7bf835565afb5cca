package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
)

// TestReconsideredOTCOnce: a call of OTC that is repeated while another question has taken the place of
// the first one is one call: it runs once, whoever answers, and not after a no.
func TestReconsideredOTCOnce(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"allow", "deny"} {
		t.Run(first, func(t *testing.T) {
			l := newReconsidered(t)
			l.reload(noRule)
			ask := func() (string, error) {
				return l.say("otc/call", `{"sessionId":"s1","endpoint":"https://t.example/v1","tool_id":"Sms.Send","call_id":"k1","input":{"text":"hi"}}`)
			}
			id := l.question(ask())
			waited := make(chan string, 1)
			go func() {
				text, _ := l.say("permd/wait", `{"decisionId":%q,"seconds":20}`, id)
				waited <- text
			}()
			eventually.Holds(t, "it waits", func() bool { return len(l.open()) > 0 })
			l.reload(`ask: {use: ["Sms:Send"]}`)
			eventually.Holds(t, "another question waits", func() bool { return len(l.open()) == 1 && l.only().DecisionID != id })
			again := l.question(ask()) // the answer was lost: the same call
			said, err := l.say("permd/choose", `{"decisionId":%q,"verdict":%q}`, again, first)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range l.open() {
				_ = l.d.manage(t, admin.MethodQuestionsAllow, admin.Approval{DecisionID: q.DecisionID}, nil)
			}
			if heard := <-waited; strings.Contains(heard, `"outcome":"run"`) {
				t.Errorf("the call was answered %s, and once more %s", said, heard)
			}
		})
	}
}
