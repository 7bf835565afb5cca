package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/rap"
)

// TestFailuresRAP is like TestFailures, for invocations: each row breaks one part,
// and the answer must not let the call run.
func TestFailuresRAP(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a whole table of failures; TestRAPShown is the quick one")
	}
	failures(t, []failure{
		{"invocation cannot be read in one way", rapUnreadable},
		{"schema cannot be checked", rapUnchecked},
		{"decision cannot be logged, disk full", rapUnlogged},
		{"choice cannot be stored, disk full", rapUnstored},
		{"rules change before the answer", rapLate},
		{"daemon gone between question and answer", rapGone},
		{"gateway is sent what is no invocation", rapGatewayUnreadable},
		{"gateway's tool fails", rapGatewayTool},
		{"gateway's callback refuses", rapGatewayCallback},
		{"gateway's callback is slow, breaks off or answers nonsense", rapGatewayCallbacks},
		{"gateway's question is refused", rapGatewayUnasked},
		{"gateway's tool is gone when the user says yes", rapGatewayUnreached},
		{"runtime does not read its answers", rapGatewayDeaf},
		{"gateway gets an invocation or an answer again", rapGatewayAgain},
		{"gateway's call is cancelled", rapGatewayCancelled},
		{"gateway is killed after it has sent a call", rapGatewayKilled},
		{"gateway's question is answered twice, or too late", rapGatewayElsewhere},
		{"gateway has more questions than may wait", rapGatewayManyAsk},
		{"daemon gone between the gateway's question and its answer", rapGatewayGone},
	})
}

func rapLine(t *testing.T, params any) string {
	t.Helper()
	b, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return `{"jsonrpc":"2.0","id":1,"method":"rap/invoke","params":` + string(b) + `}`
}

// rapUnreadable has secrets everywhere, which must not go further.
func rapUnreadable(t *testing.T) {
	d, project := rapDaemon(t)
	w := d.session(t, project)
	params := rapCall("call_1", "root/pick", "list_bins", `{"aisle":"C"}`)
	for _, name := range []string{"callback_url", "response_url", "auth_url"} {
		params[name] = "https://u:" + rapSecret + "@agents.example.org/cb?t=" + rapSecret
	}
	params["callback_url"] = "https://agents.example.org/cb?t=" + rapSecret // one with a user is refused
	params["user_id"] = "u-7"
	line := rapLine(t, params)
	said := func(line string) string {
		t.Helper()
		if _, err := fmt.Fprintln(w, line); err != nil {
			t.Fatal(err)
		}
		got, err := w.lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got, rapSecret) {
			t.Errorf("the answer repeats a secret: %s", got)
		}
		return got
	}
	if got := said(line); !strings.Contains(got, `"outcome":"run"`) {
		t.Fatalf("control: %s", got)
	}
	many := `["` + strings.Repeat(`t","`, 10_000) + `t"]`
	for what, broken := range map[string]string{
		"cut":                       line[:len(line)-1],
		"two operations":            strings.Replace(line, `"operation":"list_bins"`, `"operation":"list_bins","operation":"purge_bin"`, 1),
		"an operation by the way":   strings.Replace(line, `"operation":"list_bins"`, `"operation":"list_bins","Operation":"purge_bin"`, 1),
		"two arguments":             strings.Replace(line, `"aisle":"C"`, `"aisle":"C","aisle":"D"`, 1),
		"two addresses":             strings.Replace(line, `"callback_url":`, `"callback_url":"`+rapSecret+`","callback_url":`, 1),
		"no UTF-8":                  strings.Replace(line, `agents.example`, "agents\xff", 1),
		"an id of another type":     strings.Replace(line, `"id":"call_1"`, `"id":{"t":"`+rapSecret+`"}`, 1),
		"a thread of another type":  strings.Replace(line, `"group_id":"pick"`, `"group_id":["`+rapSecret+`"]`, 1),
		"an ancestor that is it":    strings.Replace(line, `["root"]`, `["root","pick"]`, 1),
		"a circle":                  strings.Replace(line, `["root"]`, `["root","a","root"]`, 1),
		"ancestors without end":     strings.Replace(line, `["root"]`, many, 1),
		"an ancestor that is none":  strings.Replace(line, `["root"]`, `[{"`+rapSecret+`":1}]`, 1),
		"a session that is unknown": strings.Replace(line, `"sessionId":"s1"`, `"sessionId":"`+rapSecret+`"`, 1),
		"an endpoint that is none":  strings.Replace(line, `http://127.0.0.1:7410/invoke`, `ftp://`+rapSecret, 1),
		"two tools of one name":     strings.Replace(line, `{"name":"move_bin"`, `{"name":"list_bins"`, 1),
		"annotations that are none": strings.Replace(line, `"readOnly":true`, `"readOnly":"`+rapSecret+`"`, 1),
	} {
		if broken == line {
			t.Fatalf("%s: the test breaks nothing", what)
		}
		if got := said(broken); !strings.Contains(got, `"error"`) || strings.Contains(got, `"run"`) {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := said(line); !strings.Contains(got, `"outcome":"run"`) {
		t.Errorf("control, after it: %s", got)
	}
	d.wantNowhere(t, rapSecret)
}

// rapUnchecked: a schema that cannot be checked in time, or at all, asks; with a schema
// that can be checked, the call runs.
func rapUnchecked(t *testing.T) {
	d, project := rapDaemon(t)
	c := rapConnection(t, d, project)
	twice := func(i int) string { return fmt.Sprintf(`{"$ref":"#/$defs/s%d"}`, i+1) }
	var steps []string
	for i := range 60 {
		steps = append(steps, fmt.Sprintf(`"s%d":{"anyOf":[%s,%s]}`, i, twice(i), twice(i)))
	}
	for i, tt := range []struct{ schema, outcome string }{
		{`{"type":"object"}`, "run"},
		{`{"$ref":"https://schemas.example/x?t=` + rapSecret + `"}`, "ask"},
		{`{"$ref":"file:///etc/passwd"}`, "ask"},
		{`{"properties":{"aisle":{"pattern":"^(?!` + rapSecret + `)"}}}`, "ask"},
		{`{"$ref":"#/$defs/s0","$defs":{` + strings.Join(steps, ",") + `,"s60":{"type":"string"}}}`, "ask"},
		{`{"anyOf":[` + strings.Repeat(`{"type":"object"},`, 10_000) + `{}]}`, "ask"},
		{`{"$ref":"#"}`, "ask"},
		{`[]`, "ask"},
	} {
		params := rapCall(fmt.Sprint(i), "root", "list_bins", `{"aisle":"C"}`)
		params["toolset"] = map[string]any{"name": "warehouse", "endpoint": "http://127.0.0.1:7410", "tools": raw(`[{"name":"list_bins","inputSchema":` + tt.schema + `}]`)}
		var r rapAnswer
		if err := c.Call(t.Context(), rap.MethodInvoke, params, &r); err != nil || string(r.Outcome) != tt.outcome {
			t.Errorf("%.80s: %s, %v", tt.schema, r.Outcome, err)
		}
	}
	d.wantNowhere(t, rapSecret)
}

func rapUnlogged(t *testing.T) {
	d, project := rapDaemon(t)
	c := rapConnection(t, d, project)
	outcome := func(id string) rap.Outcome {
		t.Helper()
		var r rapAnswer
		if err := c.Call(t.Context(), rap.MethodInvoke, rapCall(id, "root", "list_bins", `{}`), &r); err != nil {
			t.Fatal(err)
		}
		return r.Outcome
	}
	want(t, "control", rap.Run, outcome("1"))
	lift := limitFiles(t, d.cmd.Process.Pid, 4096)
	want(t, "full", rap.Ask, outcome("2"))
	lift()
	want(t, "with space again", rap.Run, outcome("3"))
}

// rapUnstored: an approval that cannot be stored does not count, and can be
// repeated.
func rapUnstored(t *testing.T) {
	d, project := rapDaemon(t)
	c := rapConnection(t, d, project)
	var r rapAnswer
	if err := c.Call(t.Context(), rap.MethodInvoke, rapCall("1", "root/pick", "move_bin", move), &r); err != nil || r.Outcome != rap.Ask {
		t.Fatalf("%+v, %v", r, err)
	}
	yes := map[string]any{"decisionId": r.Decision.DecisionID, "selected": 0}
	lift := limitFiles(t, d.cmd.Process.Pid, 4096)
	var a rapAnswer
	if err := c.Call(t.Context(), rap.MethodChoice, yes, &a); err == nil {
		t.Errorf("full: %+v", a)
	}
	lift()
	if err := c.Call(t.Context(), rap.MethodChoice, yes, &a); err != nil || a.Outcome != rap.Run {
		t.Errorf("with space again: %+v, %v", a, err)
	}
}

// rapLate: what the person approves is denied by now.
func rapLate(t *testing.T) {
	for _, selected := range []int{0, 2} {
		d, project := rapDaemon(t)
		c := rapConnection(t, d, project)
		var r, a rapAnswer
		if err := c.Call(t.Context(), rap.MethodInvoke, rapCall("1", "root/pick", "move_bin", move), &r); err != nil || r.Outcome != rap.Ask {
			t.Fatalf("%+v, %v", r, err)
		}
		d.policy(t, "late.rego", `deny contains "nothing moves" if { input.effect.kind == "use"; input.effect.tool == "move_bin" }`)
		d.reload(t)
		if err := c.Call(t.Context(), rap.MethodChoice, map[string]any{"decisionId": r.Decision.DecisionID, "selected": selected}, &a); err == nil || !strings.Contains(err.Error(), "by now, rules or a remembered choice deny the call") {
			t.Errorf("%d: %+v, %v", selected, a, err)
		}
		if err := c.Call(t.Context(), rap.MethodInvoke, rapCall("2", "root/pick", "move_bin", move), &r); err != nil || r.Outcome != rap.Denied {
			t.Errorf("%d: %+v, %v", selected, r, err)
		}
	}
}

// rapGone: a question ends with the daemon, and so does an approval for a thread.
func rapGone(t *testing.T) {
	d, project := rapDaemon(t)
	c := rapConnection(t, d, project)
	var r, a rapAnswer
	if err := c.Call(t.Context(), rap.MethodInvoke, rapCall("1", "root/pick", "move_bin", move), &r); err != nil {
		t.Fatal(err)
	}
	kept := r.Decision.DecisionID
	if err := c.Call(t.Context(), rap.MethodChoice, map[string]any{"decisionId": kept, "selected": 0}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), rap.MethodInvoke, rapCall("2", "root/pick", "move_bin", `{"bin":"A-2"}`), &r); err != nil || r.Outcome != rap.Ask {
		t.Fatalf("%+v, %v", r, err)
	}
	d.kill()
	yes := map[string]any{"decisionId": r.Decision.DecisionID, "selected": 0}
	if err := c.Call(t.Context(), rap.MethodChoice, yes, &a); err == nil {
		t.Errorf("without a daemon: %+v", a)
	}
	if err := os.Remove(d.socket()); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	d.start(t)
	c = rapConnection(t, d, project)
	if err := c.Call(t.Context(), rap.MethodChoice, yes, &a); err == nil {
		t.Errorf("another daemon: %+v", a)
	}
	if err := c.Call(t.Context(), native.MethodChoose, map[string]any{"decisionId": kept, "verdict": "allow"}, nil); err == nil {
		t.Error("another daemon took an answer")
	}
	if err := c.Call(t.Context(), rap.MethodInvoke, rapCall("1", "root/pick", "move_bin", move), &r); err != nil || r.Outcome != rap.Ask {
		t.Errorf("another daemon: %+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(d.home, ".local", "share", "permd", "remember.db")); err != nil {
		t.Error(err)
	}
}
