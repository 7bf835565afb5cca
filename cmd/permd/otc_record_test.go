package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/otc"
)

// TestOTCRecords: the decision log says what the caller was told, and what it claimed.
func TestOTCRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts the gateway once more; TestOTCGateway is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "trace.rego", `deny contains "traced by nobody" if { input.effect.kind == "use"; input.call.claimed_trace == "tr-2" }`)
	d.start(t)
	c := d.dial(t)
	ask := func(params string) (a otc.Answer) {
		t.Helper()
		if err := c.Call(t.Context(), otc.MethodCall, strictjson.Value(params), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	const tool = `"tool":{"id":"Sms.Send","requirements":{"authorization":[{"id":"idp"}]}}`
	unmet := ask(`{"tool_id":"Sms.Send","trace_id":"tr-1","context":{"authorization":[{"id":"idp"}],"user_id":"ana"},` + tool + `}`)
	if unmet.Outcome != "unmet" || unmet.Decision.Outcome != decisions.Unmet || unmet.Decision.Verdict == decisions.Allow || unmet.Decision.Widths != nil {
		t.Errorf("without a token: %+v", unmet.Decision)
	}
	if a := ask(`{"tool_id":"Sms.Send","trace_id":"tr-2","context":{"authorization":[{"id":"idp","token":"` + otcToken + `"}]},` + tool + `}`); a.Outcome != otc.Denied || a.Decision.Outcome != "" {
		t.Errorf("denied by its trace: %+v", a)
	}
	asked := ask(`{"tool_id":"Sms.Send","call_id":"c"}`)
	if err := c.Call(t.Context(), "permd/choose", map[string]any{"decisionId": asked.Decision.ID, "verdict": "allow"}, nil); err != nil {
		t.Fatal(err)
	}
	if a := ask(`{"tool_id":"Sms.Send","call_id":"c"}`); a.Outcome != otc.Denied || a.Decision.Outcome != decisions.Refused {
		t.Errorf("a second time: %+v", a)
	}
	var got []string
	for _, r := range d.records(t) {
		got = append(got, strings.Join([]string{string(r.Decision.Verdict), string(r.Decision.Outcome), r.ClaimedUser, r.ClaimedTrace}, " "))
	}
	want(t, "records", "ask unmet ana tr-1; deny   tr-2; ask   ; ask denied  ", strings.Join(got, "; "))
	out, err := d.command("log", "show", unmet.Decision.ID).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	wantHas(t, "permd log show", string(out), "claimed user", "ana", "claimed trace", "tr-1", "it lacks what its tool requires")
}
