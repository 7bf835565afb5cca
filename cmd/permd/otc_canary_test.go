package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/internal/mutate"
	"github.com/permd/permd/socket/otc"
)

// TestOTCCanaries sends messages with credentials in all possible places, and
// mutants of each. The credentials must not be in an answer or any file.
func TestOTCCanaries(t *testing.T) {
	if testing.Short() {
		t.Skip("long: messages with a credential in each place")
	}
	t.Parallel()
	d := otcDaemon(t)
	c := d.dial(t)
	var whole any
	body := `{"endpoint":"http://u:` + otcSecret + `@127.0.0.1:7420/v1?k=` + otcToken + `","$schema":"urn:oxp:1.0",
		"tool":` + string(otcFind(otcToolsOf(t, otcTools), "Sms.Send@1.2.0").raw) + `,
		"request":{"tool_id":"Sms.Send@1.2.0","call_id":"c","trace_id":"tr-1","input":{"to":"+1202","text":"hello"},
		"context":{"authorization":[{"id":"sms-idp","token":"` + otcToken + `","more":{"token":"` + otcToken + `"}}],
		"secrets":[{"id":"TWILIO_API_KEY","value":"` + otcSecret + `","more":["` + otcSecret + `"]}],"user_id":"ana","more":"` + otcSecret + `"}}}`
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		t.Fatal(err)
	}
	outcomes := map[otc.Outcome]int{}
	for _, m := range append(mutate.Of(mutate.DeepCopy(whole), []string{"", "ana", "Clock.Now"}), mutate.Mutant{What: "whole", Doc: whole}) {
		var a json.RawMessage
		err := c.Call(t.Context(), otc.MethodCall, m.Doc, &a)
		if said := fmt.Sprint(string(a), err); strings.Contains(said, otcToken) || strings.Contains(said, otcSecret) {
			t.Errorf("%s: %s", m.What, said)
		}
		var got otc.Answer
		if err == nil {
			err = json.Unmarshal(a, &got)
		}
		if err != nil {
			got.Outcome = "refused"
		}
		outcomes[got.Outcome]++
		if got.Outcome == otc.Ask && got.Decision.Widths != nil && outcomes[otc.Ask]%10 == 0 {
			// And what is remembered of it.
			answer := remembered(0)(&got)
			answer["decisionId"] = got.Decision.ID
			if err := c.Call(t.Context(), "permd/choose", answer, nil); err != nil {
				t.Errorf("%s: %v", m.What, err)
			}
		}
	}
	if outcomes["refused"] < 50 || outcomes[otc.Ask] < 20 || outcomes[otc.Denied] < 20 {
		t.Errorf("it tests too little: %v", outcomes)
	}
	for _, line := range []string{"log list --json", "remember list --json", "status --json", "remember export"} {
		out, err := d.command(strings.Fields(line)...).CombinedOutput()
		if err != nil || strings.Contains(string(out), otcToken) || strings.Contains(string(out), otcSecret) {
			t.Errorf("permd %s: %v, or it shows a credential", line, err)
		}
	}
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.wantNowhere(t, otcToken)
	d.wantNowhere(t, otcSecret)
}
