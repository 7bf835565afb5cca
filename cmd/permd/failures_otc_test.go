package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/socket/otc"
)

// TestFailuresOTC is like TestFailures, for tool calls of Open Tool Calling: each
// row breaks one part, and the answer must not let the call run.
func TestFailuresOTC(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a whole table of failures; TestOTCServer is the quick one")
	}
	failures(t, []failure{
		{"call cannot be read in one way", otcUnreadable},
		{"schema cannot be checked", otcUnchecked},
		{"decision cannot be logged, disk full", otcUnlogged},
		{"choice cannot be stored, disk full", otcUnstored},
		{"rules change before the answer", otcLate},
		{"daemon gone between question and answer", otcGone},
	})
}

// raw asks about params as they are.
func (r *otcRuntime) raw(t *testing.T, params string) (a otc.Answer) {
	t.Helper()
	if err := r.permd.Call(t.Context(), otc.MethodCall, json.RawMessage(params), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// otcUnreadable has credentials everywhere, which must not go further.
func otcUnreadable(t *testing.T) {
	d := otcDaemon(t)
	w := d.wire(t)
	const good = `{"jsonrpc":"2.0","id":1,"method":"otc/call","params":{"endpoint":"http://u:` + otcSecret + `@127.0.0.1:7420/?k=` + otcToken + `",` +
		`"request":{"tool_id":"Clock.Now@1.0.0","call_id":"c","trace_id":"tr-1","input":{"zone":"UTC"},"context":{` +
		`"authorization":[{"id":"idp","token":"` + otcToken + `","x":{"token":"` + otcToken + `"}}],"secrets":[{"id":"KEY","value":"` + otcSecret + `"}],"x":"` + otcSecret + `"}}}}`
	said := func(line string) string {
		t.Helper()
		if _, err := fmt.Fprintln(w, line); err != nil {
			t.Fatal(err)
		}
		got, err := w.lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got, otcSecret) || strings.Contains(got, otcToken) {
			t.Errorf("the answer repeats a credential: %s", got)
		}
		return got
	}
	if got := said(good); !strings.Contains(got, `"outcome":"run"`) {
		t.Fatalf("control: %s", got)
	}
	many := strings.Repeat(`{"id":"a","value":"`+otcSecret+`"},`, 10_000)
	for what, swap := range map[string][2]string{
		"cut":                       {`}}}}`, `}}}`},
		"two tools":                 {`"tool_id":`, `"tool_id":"Ledger.Post","tool_id":`},
		"a tool by the way":         {`"tool_id":`, `"Tool_id":"Ledger.Post","tool_id":`},
		"a tool beside it":          {`"request":`, `"tool_id":"Clock.Now@1.0.0","request":`},
		"two inputs":                {`"input":`, `"input":{},"input":`},
		"an input of another name":  {`"input":`, `"inputs":{"zone":"` + otcSecret + `"},"input":`},
		"an input in other letters": {`"input":`, `"INPUT":{},"input":`},
		"no UTF-8":                  {`"UTC"`, "\"\xff\""},
		"an id of another type":     {`"call_id":"c"`, `"call_id":{"t":"` + otcToken + `"}`},
		"a version that is none":    {`@1.0.0`, `@` + otcSecret},
		"secrets as an object":      {`"secrets":[`, `"secrets":{"KEY":"` + otcSecret + `"},"y":[`},
		"a secret as a text":        {`"secrets":[`, `"secrets":["` + otcSecret + `",`},
		"a secret without an id":    {`"secrets":[`, `"secrets":[{"value":"` + otcSecret + `"},`},
		"secrets without end":       {`"secrets":[`, `"secrets":[` + many},
		"a session that is unknown": {`"endpoint":`, `"sessionId":"` + otcSecret + `","endpoint":`},
		"an endpoint that is none":  {`http://u`, `ftp://u`},
		"a definition of another":   {`"endpoint":`, `"tool":{"id":"Ledger.Post"},"endpoint":`},
		"an approval that is none":  {`"endpoint":`, `"approval":{"url":"` + otcSecret + `"},"endpoint":`},
	} {
		if !strings.Contains(good, swap[0]) {
			t.Fatalf("%s: the test breaks nothing", what)
		}
		if got := said(strings.Replace(good, swap[0], swap[1], 1)); !strings.Contains(got, `"error"`) || strings.Contains(got, `"run"`) {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := said(good); !strings.Contains(got, `"outcome":"run"`) {
		t.Errorf("control, after it: %s", got)
	}
	d.wantNowhere(t, otcSecret)
	d.wantNowhere(t, otcToken)
}

// otcUnchecked: a schema that cannot be checked in time, or at all, asks.
func otcUnchecked(t *testing.T) {
	d := otcDaemon(t)
	r := otcLaunch(t, d, newOTCServer(t))
	var steps []string
	for i := range 60 {
		next := fmt.Sprintf(`{"$ref":"#/$defs/s%d"}`, i+1)
		steps = append(steps, fmt.Sprintf(`"s%d":{"anyOf":[%s,%s]}`, i, next, next))
	}
	for _, tt := range []struct {
		schema string
		want   otc.Outcome
	}{
		{`{"type":"object"}`, otc.Run},
		{`{"parameters":{"type":"object"}}`, otc.Run},
		{`{"$ref":"https://schemas.example/x?t=` + otcSecret + `"}`, otc.Ask},
		{`{"parameters":{"$ref":"file:///etc/passwd"}}`, otc.Ask},
		{`{"properties":{"zone":{"pattern":"^(?!` + otcSecret + `)"}}}`, otc.Ask},
		{`{"$ref":"#/$defs/s0","$defs":{` + strings.Join(steps, ",") + `,"s60":{"type":"string"}}}`, otc.Ask},
		{strings.Repeat(`{"not":`, 100) + `{}` + strings.Repeat(`}`, 100), otc.Ask},
		{`{"$ref":"#"}`, otc.Ask},
		{`"` + otcSecret + `"`, otc.Ask},
	} {
		a := r.raw(t, `{"endpoint":"http://127.0.0.1:7420","tool_id":"Clock.Now","input":{"zone":"UTC"},"tool":{"id":"Clock.Now","input_schema":`+tt.schema+`}}`)
		if a.Outcome != tt.want {
			t.Errorf("%.80s: %s", tt.schema, a.Outcome)
		}
	}
	d.wantNowhere(t, otcSecret)
}

const (
	otcClock  = `{"endpoint":"http://127.0.0.1:7420","tool_id":"Clock.Now"}`
	otcLedger = `{"sessionId":"s1","endpoint":"http://127.0.0.1:7420","tool_id":"Ledger.Post@2.0.0","call_id":"c"}`
)

func otcUnlogged(t *testing.T) {
	d := otcDaemon(t)
	r := otcLaunch(t, d, newOTCServer(t))
	const called = `{"endpoint":"http://127.0.0.1:7420","tool_id":"Clock.Now","call_id":"again"}`
	want(t, "control", otc.Run, r.raw(t, otcClock).Outcome)
	lift := limitFiles(t, d.cmd.Process.Pid, 4096)
	want(t, "full", otc.Ask, r.raw(t, otcClock).Outcome)
	want(t, "full, with an id", otc.Ask, r.raw(t, called).Outcome)
	want(t, "full, again", otc.Ask, r.raw(t, called).Outcome)
	lift()
	want(t, "with space again", otc.Run, r.raw(t, otcClock).Outcome)
	want(t, "with an id", otc.Run, r.raw(t, called).Outcome)
}

// otcUnstored: an approval that cannot be stored does not count, and can be
// repeated.
func otcUnstored(t *testing.T) {
	d := otcDaemon(t)
	r := otcLaunch(t, d, newOTCServer(t))
	a := r.raw(t, otcLedger)
	yes := remembered(0)(&a)
	yes["decisionId"] = a.Decision.ID
	lift := limitFiles(t, d.cmd.Process.Pid, 4096)
	if err := r.permd.Call(t.Context(), "permd/choose", yes, nil); err == nil {
		t.Error("stored on a full disk")
	}
	lift()
	want(t, "still the same question", a, r.raw(t, otcLedger))
	if err := r.permd.Call(t.Context(), "permd/choose", yes, nil); err != nil {
		t.Error(err)
	}
	want(t, "remembered", otc.Run, r.raw(t, otcLedger).Outcome)
}

// otcLate: what the person approves is denied by now.
func otcLate(t *testing.T) {
	for _, answer := range []func(*otc.Answer) map[string]any{once, remembered(0)} {
		d := otcDaemon(t)
		r := otcLaunch(t, d, newOTCServer(t))
		a := r.raw(t, otcLedger)
		d.policy(t, "late.rego", `deny contains "the books are closed" if { input.effect.kind == "use"; input.effect.server == "Ledger" }`)
		d.reload(t)
		yes := answer(&a)
		yes["decisionId"] = a.Decision.ID
		if err := r.permd.Call(t.Context(), "permd/choose", yes, nil); err == nil || !strings.Contains(err.Error(), "by now, rules or a remembered choice deny the call") {
			t.Errorf("%v", err)
		}
		want(t, "by now", otc.Denied, r.raw(t, otcLedger).Outcome)
	}
}

// otcGone: a question ends with the daemon, and so does what it knew of a call.
func otcGone(t *testing.T) {
	d := otcDaemon(t)
	s := newOTCServer(t)
	r := otcLaunch(t, d, s)
	a := r.raw(t, otcLedger)
	yes := map[string]any{"decisionId": a.Decision.ID, "verdict": "allow"}
	d.kill()
	if err := r.permd.Call(t.Context(), "permd/choose", yes, nil); err == nil {
		t.Error("answered without a daemon")
	}
	want(t, "without a daemon", "not run: permd cannot be asked", r.call("Clock.Now", "a", nil))
	d.start(t)
	r = otcLaunch(t, d, s)
	if err := r.permd.Call(t.Context(), "permd/choose", yes, nil); err == nil {
		t.Error("another daemon took the answer")
	}
	again := r.raw(t, otcLedger)
	if again.Outcome != otc.Ask || again.Decision.ID == a.Decision.ID {
		t.Errorf("another daemon: %+v", again)
	}
	want(t, "ran", []string(nil), s.ran)
}
