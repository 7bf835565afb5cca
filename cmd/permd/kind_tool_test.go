package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// TestKindTool: an ACP request with input that names no tool is the use of a tool that only
// its kind names, as kind/search. Lines and rules of a person that spell this out decide it;
// nothing else allows it, and no answer about it is remembered.
func TestKindTool(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for kinds alone; TestStandardNames is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	rules := func(yaml, rego string) {
		t.Helper()
		writeFile(t, d.home+"/.config/permd/policy.d/rules.yaml", yaml)
		d.policy(t, "kinds.rego", rego)
	}
	// Lines that do not say that they mean calls without a name.
	rules("allow: {use: ['*search', 'k*', 'search', '*:search', '*:kind/search', 'kind:search']}", `allow contains "-" if input.effect.tool == "search"`)
	d.start(t)
	project := d.project(t, map[string]string{"a.txt": "x", "LICENSE": "x"})
	w := d.wire(t)
	w.ask(t, request("permd/session", map[string]any{"sessionId": "s1", "cwd": project, "agent": map[string]string{"name": "some-agent", "version": "1.0.0"}}))
	id := 0
	ask := func(kind string, input any, more map[string]any) answer {
		t.Helper()
		id++
		call := map[string]any{"toolCallId": strings.Repeat("c", id), "title": "Ask the index", "rawInput": input}
		if kind != "" {
			call["kind"] = kind
		}
		maps.Copy(call, more)
		return w.ask(t, request("session/request_permission", map[string]any{"sessionId": "s1", "options": acpOptions, "toolCall": call}))
	}
	input := map[string]any{"query": "totals", "index": "wiki"}
	for _, kind := range []string{"search", "think", "other", "", "of-my-own"} {
		wantAnswer(t, "no rule, kind "+kind, ask(kind, input, nil), "ask", "policy", "calls a tool that permd cannot look into")
	}

	rules("allow: {use: ['kind/search', 'kind/o*']}\ndeny: {use: ['*:drop']}", `
allow contains "a thought" if {
	input.effect.kind == "use"
	input.effect.claimed
	input.effect.tool == "kind/think"
	input.session.agent.name == "some-agent"
}
deny contains "not that index" if {
	input.call.kind == "search"
	input.call.raw.index == "secrets"
}`)
	d.reload(t)
	for _, kind := range []string{"search", "think", "other", "", "of-my-own"} {
		if got := ask(kind, input, nil); !got.allowed() || got.Picked != "allow-once" {
			t.Errorf("named kind %q: %+v", kind, got)
		}
	}
	wantAnswer(t, "a denied input", ask("search", map[string]any{"query": "x", "index": "secrets"}, nil), "deny", "policy", "not that index")
	wantAnswer(t, "a denied tool behind it", ask("other", map[string]any{"tool": "drop", "arguments": map[string]any{}}, nil), "deny", "policy", "*:drop")
	for name, got := range map[string]answer{
		"read":                   ask("read", input, nil),
		"edit":                   ask("edit", input, nil),
		"execute":                ask("execute", input, nil),
		"fetch":                  ask("fetch", input, nil),
		"no input":               ask("other", map[string]any{}, nil),
		"text":                   ask("other", "rm -rf .", nil),
		"a command":              ask("other", map[string]any{"command": "touch x"}, nil),
		"a path":                 ask("other", map[string]any{"path": "/etc/hosts", "x": 1}, nil),
		"a host":                 ask("other", map[string]any{"url": "https://a.example/", "x": 1}, nil),
		"wider permissions":      ask("other", map[string]any{"sandbox_permissions": "all", "x": 1}, nil),
		"another tool behind it": ask("other", map[string]any{"tool": "merge", "arguments": map[string]any{}}, nil),
		"a path in a text":       ask("other", map[string]any{"query": "./private/k"}, nil),
		"a host in a text":       ask("other", map[string]any{"query": "evil.example"}, nil),
		"a file in a text":       ask("other", map[string]any{"query": "see LICENSE"}, nil),
		"a script":               ask("other", map[string]any{"script": "frob"}, nil),
		"a statement":            ask("other", map[string]any{"query": "drop table items"}, nil),
		"a diff":                 ask("other", input, map[string]any{"content": []any{map[string]any{"type": "diff", "path": project + "/a.txt", "newText": "y"}}}),
		"a secret beside it":     ask("other", input, map[string]any{"locations": []any{map[string]any{"path": d.home + "/.ssh/id_rsa"}}}),
		"what was left out":      ask("other", input, map[string]any{"locations": []any{7}}),
		"a kind that is no text": ask("", input, map[string]any{"kind": 7}),
		"a name":                 ask("other", input, map[string]any{"name": "drop_index"}),
		"a server's name":        ask("other", input, map[string]any{"title": "mcp__index__drop"}),
	} {
		if got.allowed() {
			t.Errorf("%s: allowed: %+v", name, got)
		}
	}

	// A diff that the request takes back was still announced.
	for i, content := range []any{[]any{}, []any{map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": "x"}}}} {
		call := map[string]any{"toolCallId": fmt.Sprint("announced", i), "title": "x", "kind": "search", "rawInput": input}
		update := maps.Clone(call)
		update["sessionUpdate"] = "tool_call"
		update["content"] = []any{map[string]any{"type": "diff", "path": project + "/a.txt", "newText": "y"}}
		note := strings.Replace(request("session/update", map[string]any{"sessionId": "s1", "update": update}), `"id":1,`, "", 1)
		if _, err := io.WriteString(w, note+"\n"); err != nil {
			t.Fatal(err)
		}
		call["content"] = content
		if got := w.ask(t, request("session/request_permission", map[string]any{"sessionId": "s1", "options": acpOptions, "toolCall": call})); got.allowed() {
			t.Errorf("a diff that was taken back: %+v", got)
		}
	}

	for _, line := range []string{"*:search", "KIND/search", "kind/*"} {
		rules("allow: {use: ['kind/search']}\ndeny: {use: ['"+line+"']}", "allow contains \"-\" if false")
		d.reload(t)
		wantAnswer(t, "a deny of "+line, ask("search", input, nil), "deny", "policy", line)
	}

	// The shipped rules, and what a person answered before, allow nothing.
	rules("allow: {}", "allow contains \"-\" if false")
	d.reload(t)
	p := d.dial(t)
	declare := map[string]any{"sessionId": "s2", "cwd": project, "agent": map[string]string{"name": "some-agent", "version": "1.0.0"}}
	if err := p.Call(t.Context(), "permd/session", declare, nil); err != nil {
		t.Fatal(err)
	}
	err := p.Call(t.Context(), acp.MethodRequestPermission, map[string]any{
		"sessionId": "s2", "toolCall": map[string]any{"toolCallId": "1", "title": "x", "kind": "search", "rawInput": input},
		"options": []map[string]string{{"optionId": "always", "name": "Always Allow", "kind": "allow_always"}, {"optionId": "once", "name": "Allow", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}},
	}, nil)
	var q decisions.Decision
	if e, ok := errors.AsType[*client.Error](err); !ok || json.Unmarshal(e.Data, &q) != nil || len(q.Effects) != 1 || !q.Effects[0].Claimed || q.Effects[0].Kind != "use" {
		t.Fatalf("a question: %v, %+v", err, q)
	}
	var got struct {
		NotStored string `json:"notStored"`
	}
	if err := p.Call(t.Context(), native.MethodChoose, map[string]string{"decisionId": q.ID, "optionId": "always"}, &got); err != nil || !strings.Contains(got.NotStored, "names no tool") {
		t.Errorf("an always: %+v, %v", got, err)
	}
	var list admin.Choices
	if err := d.manage(t, admin.MethodChoicesList, struct{}{}, &list); err != nil || len(list.Choices) != 0 {
		t.Errorf("remembered: %+v, %v", list, err)
	}
}
