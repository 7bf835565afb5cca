package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/aap"
	"github.com/permd/permd/socket/client"
)

// aapEvents is a turn of events: "id name input" is a call, "id" a result.
func aapEvents(parts ...string) map[string]any {
	list := []any{map[string]any{"event": "turn_start"}}
	for _, p := range parts {
		id, rest, isCall := strings.Cut(p, " ")
		name, input, _ := strings.Cut(rest, " ")
		if isCall {
			list = append(list, map[string]any{"event": "tool_call", "toolCallId": id, "name": name, "input": raw(input)})
		} else {
			list = append(list, map[string]any{"event": "tool_result", "toolCallId": id, "content": "done"})
		}
	}
	return map[string]any{"events": append(list, map[string]any{"event": "turn_stop", "stopReason": "tool_use"})}
}

// TestAAPSameWord: the decision log has each call of a batch once, with the word that the
// client got, also of calls that the protocol forbids and of those that are decided in two
// orders.
func TestAAPSameWord(t *testing.T) {
	t.Parallel()
	d := aapDaemon(t)
	c := &aapClient{t: t, permd: d.dial(t), session: "s"}
	if _, err := client.DeclareSession(t.Context(), c.permd, &client.Session{ID: "s", Cwd: d.home}); err != nil {
		t.Fatal(err)
	}
	r := c.permissions(map[string]any{
		"sessionId": "s", "endpoint": "http://127.0.0.1:1/", "agent": map[string]any{"name": "helper", "tools": []aapTool{{Name: "deploy"}, {Name: "both"}}},
		"tools": []aapTool{{Name: "read_note"}, {Name: "write_note"}, {Name: "both"}},
		"turn": aapEvents(`a deploy `+staging, `b deploy `+production, `c both {}`, `d read_note {}`, `e write_note {}`, `f other {}`, `g deploy `+staging, `g deploy `+production,
			`h read_note {}`),
	})
	words := map[aap.Outcome]decisions.Verdict{aap.Granted: decisions.Allow, aap.Execute: decisions.Allow, aap.Ask: decisions.Ask, aap.Denied: decisions.Deny}
	var said, logged []string
	for _, call := range r.Calls {
		said = append(said, fmt.Sprint(call.Decision.ID, " ", call.ToolCallID, " ", words[call.Outcome]))
	}
	for _, rec := range d.records(t) {
		logged = append(logged, fmt.Sprint(rec.Decision.ID, " ", rec.Decision.CallID, " ", rec.Decision.Verdict))
	}
	slices.Sort(said)
	slices.Sort(logged)
	want(t, "the log", said, logged)
	var outcomes []string
	for _, call := range r.Calls {
		outcomes = append(outcomes, fmt.Sprint(call.ToolCallID, " ", call.Outcome))
	}
	want(t, "outcomes", []string{"a granted", "b denied", "c denied", "d execute", "e ask", "f ask", "g denied", "h execute"}, outcomes)
}

// TestAAPRan: what a server ran without asking is in the decision log, with what rules say
// of it, and permd status counts it.
func TestAAPRan(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "trust.rego"), `package permd.user
import rego.v2
deny contains "no trust for deploys" if { input.effect.kind == "use"; input.effect.tool == "deploy"; input.effect.trust }
allow contains "searching is free" if { input.effect.kind == "use"; input.effect.server == "helper"; input.effect.tool == "search" }
`)
	d.start(t)
	c := aapLaunch(t, d, newAAPServer(t, says("done")), "message")
	c.enabled = []aapTool{{Name: "search", Trust: true}, {Name: "deploy", Trust: true}}
	params := c.params("turn", aapEvents(`a search {"q":"x"}`, `a`, `b deploy `+staging, `b`, `c page {"who":"ana"}`))
	if err := c.permd.Call(t.Context(), "aap/ran", params, nil); err != nil {
		t.Fatal(err)
	}
	var logged []string
	for _, rec := range d.records(t) {
		logged = append(logged, fmt.Sprint(rec.Decision.CallID, " ", rec.Decision.Verdict, " ", rec.Decision.Outcome))
	}
	slices.Sort(logged)
	want(t, "the log", []string{"a allow unasked", "b deny unasked"}, logged)
	if out := d.permd(t, "log", "list", "--unasked", "--verdict", "deny"); !strings.Contains(out, "deploy") || strings.Contains(out, "search") {
		t.Errorf("permd log list --unasked --verdict deny says\n%s", out)
	}
	if out := d.permd(t, "status"); !strings.Contains(out, "unasked  helper") {
		t.Errorf("permd status says\n%s", out)
	}
	// Where a trusted call waits nevertheless, the rule decides it.
	r := c.permissions(c.params("turn", aapEvents(`d deploy `+staging)))
	want(t, "outcome", aap.Denied, r.Calls[0].Outcome)
}
