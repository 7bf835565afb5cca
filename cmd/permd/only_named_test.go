package main

import (
	"io"
	"maps"
	"strings"
	"testing"
)

// TestOnlyNamed: a rule of org or user that covers "incomplete" allows an ACP request with
// nothing but an id, a title and a kind, for the agent and the kind that the rule names;
// whatever else such a request has makes it ask.
func TestOnlyNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for names alone; TestStandardNames is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "named.rego", `
allow contains {"reason": "it only looks", "covers": ["incomplete"]} if {
	input.effect.kind == "unknown"
	input.session.agent.name == "some-agent"
	input.call.kind in {"read", "edit", "execute", "other"}
}

deny contains "not the vault" if contains(input.call.title, "vault")`)
	d.start(t)
	project := d.project(t, nil)
	const incomplete = "the call is not fully known: neither the tool nor its input was sent"
	id := 0
	ask := func(w *wire, toolCall, more map[string]any) answer {
		id++
		toolCall["toolCallId"] = strings.Repeat("c", id)
		params := map[string]any{"sessionId": "s1", "toolCall": toolCall, "options": acpOptions}
		maps.Copy(params, more)
		return w.ask(t, request("session/request_permission", params))
	}
	named := func() map[string]any { return map[string]any{"title": "Reading the configuration", "kind": "read"} }
	declare := func(agent string) *wire {
		w := d.wire(t)
		w.ask(t, request("permd/session", map[string]any{"sessionId": "s1", "cwd": project, "agent": map[string]string{"name": agent, "version": "1.0.0"}}))
		return w
	}
	w := declare("some-agent")
	if got := ask(w, named(), nil); !got.allowed() || got.Picked != "allow-once" || got.Reason != "it only looks" {
		t.Fatalf("the protocol's example: %+v", got)
	}
	for name, change := range map[string]func(c map[string]any){
		"no title":        func(c map[string]any) { delete(c, "title") },
		"blank title":     func(c map[string]any) { c["title"] = " " },
		"no kind":         func(c map[string]any) { delete(c, "kind") },
		"search":          func(c map[string]any) { c["kind"] = "search" }, // no rule names it
		"edit":            func(c map[string]any) { c["kind"] = "edit" },
		"execute":         func(c map[string]any) { c["kind"] = "execute" },
		"other":           func(c map[string]any) { c["kind"] = "other" },
		"new kind":        func(c map[string]any) { c["kind"] = "inspect" },
		"kind of letters": func(c map[string]any) { c["kind"] = "READ" },
		"empty input":     func(c map[string]any) { c["rawInput"] = map[string]any{} },
		"input":           func(c map[string]any) { c["rawInput"] = map[string]any{"x": "y"} },
		"text input":      func(c map[string]any) { c["rawInput"] = "cat .env" },
		"location":        func(c map[string]any) { c["locations"] = []any{map[string]any{"path": "/etc/passwd"}} },
		"diff": func(c map[string]any) {
			c["content"] = []any{map[string]any{"type": "diff", "path": project + "/a", "newText": "x"}}
		},
		"text": func(c map[string]any) {
			c["content"] = []any{map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": "rm -rf ."}}}
		},
		"what was not read": func(c map[string]any) { c["content"] = 7 },
		"meta":              func(c map[string]any) { c["_meta"] = map[string]any{"command": "rm -rf ."} },
		"output":            func(c map[string]any) { c["rawOutput"] = map[string]any{"command": "rm -rf ."} },
		"near miss":         func(c map[string]any) { c["RawInput"] = map[string]any{"command": "rm -rf ."} },
		"member":            func(c map[string]any) { c["command"] = "rm -rf ." },
		"server's tool":     func(c map[string]any) { c["title"] = "mcp__files__delete" },
	} {
		c := named()
		change(c)
		if got := ask(w, c, nil); got.allowed() {
			t.Errorf("%s: allowed", name)
		}
	}
	for name, more := range map[string]map[string]any{
		"meta":                 {"_meta": map[string]any{"permission": map[string]any{"command": "rm -rf ."}}},
		"no option":            {"options": acpOptions[:1]},
		"what is not known":    {"Options": acpOptions},
		"a command of its own": {"_meta": map[string]any{"codex": map[string]any{"command": []string{"rm"}}}},
	} {
		if got := ask(w, named(), more); got.allowed() {
			t.Errorf("request with %s: allowed", name)
		}
	}
	// What was said of the same call before counts, however long ago.
	update := func(kind string, members map[string]any, more map[string]any) string {
		u := map[string]any{"sessionUpdate": kind, "toolCallId": "same"}
		maps.Copy(u, members)
		params := map[string]any{"sessionId": "s1", "update": u}
		maps.Copy(params, more)
		line := request("session/update", params)
		return strings.Replace(line, `"id":1,`, "", 1)
	}
	input := map[string]any{"rawInput": map[string]any{"command": "rm -rf ."}}
	for name, before := range map[string][]string{
		"ended":           {update("tool_call", map[string]any{"rawInput": 7, "title": "x", "status": "completed"}, nil)},
		"announced again": {update("tool_call", input, nil), update("tool_call", named(), nil)},
		"another title":   {update("tool_call", map[string]any{"title": "Reading the vault", "kind": "read"}, nil)},
		"another kind":    {update("tool_call", map[string]any{"title": "rm -rf .", "kind": "execute"}, nil), update("tool_call", named(), nil)},
		"under way":       {update("tool_call", map[string]any{"title": "Reading the configuration", "kind": "read", "status": "in_progress"}, nil)},
		"params":          {update("tool_call", named(), map[string]any{"_meta": map[string]any{"command": "rm"}})},
		"update's member": {update("tool_call", named(), map[string]any{"command": "rm"})},
		"content":         {update("tool_call_update", map[string]any{"content": []any{}}, nil)},
		"asked before": {request("session/request_permission", map[string]any{
			"sessionId": "s1", "toolCall": map[string]any{"toolCallId": "same", "rawInput": map[string]any{"command": "rm -rf /"}}, "options": acpOptions,
		})},
		"reported": {request("permd/ran", map[string]any{"sessionId": "s1", "toolCall": map[string]any{"toolCallId": "same", "rawInput": map[string]any{"command": "rm"}}})},
		"closed":   {update("tool_call", input, nil), request("permd/close", map[string]any{"sessionId": "s1"})},
	} {
		w := declare("some-agent")
		same := named()
		same["toolCallId"] = "same"
		line := request("session/request_permission", map[string]any{"sessionId": "s1", "toolCall": same, "options": acpOptions})
		if got := w.ask(t, line); !got.allowed() {
			t.Fatalf("%s: not allowed at first: %+v", name, got)
		}
		for _, m := range before {
			if strings.Contains(m, `"id"`) {
				w.ask(t, m)
			} else {
				if _, err := io.WriteString(w, m+"\n"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if name == "closed" {
			w.ask(t, request("permd/session", map[string]any{"sessionId": "s1", "cwd": project, "agent": map[string]string{"name": "some-agent", "version": "1.0.0"}}))
		}
		if got := w.ask(t, line); got.allowed() {
			t.Errorf("%s: allowed", name)
		}
	}
	c := named()
	c["title"] = "Reading the vault"
	wantAnswer(t, "a denied title", ask(w, c, nil), "deny", "policy", "not the vault")
	other := declare("other-agent")
	wantAnswer(t, "another agent", ask(other, named(), nil), "ask", "policy", incomplete)
}
