package main

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// deniedClaims: only the agent's description of its call names the path that is
// denied.
func deniedClaims(t *testing.T) {
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"),
		"deny: {write: [\"./migrations/**\"]}\nallow: {write: [\"./**\"], use: [\"fs:put\"]}\n")
	d.start(t)
	project := d.project(t, nil)
	file := func(name string) string { return filepath.Join(project, name) }
	ask := func(agent string, call map[string]any) answer {
		w := d.wire(t)
		defer w.Close()
		w.ask(t, request("permd/session", map[string]any{"sessionId": "s1", "cwd": project, "agent": map[string]string{"name": agent}}))
		call["toolCallId"] = "t1"
		return w.ask(t, request("session/request_permission", map[string]any{"sessionId": "s1", "options": acpOptions, "toolCall": call}))
	}
	diff := func(name string) []any {
		return []any{map[string]any{"type": "diff", "path": file(name), "oldText": "a", "newText": "b"}}
	}
	at := func(name string) []any { return []any{map[string]any{"path": file(name)}} }
	type object = map[string]any

	// What is understood stays allowed, with the claims of an honest agent.
	for name, got := range map[string]answer{
		"edit": ask("claude-agent-acp", object{
			"kind": "edit", "rawInput": object{"file_path": file("src/a"), "content": "b"}, "content": diff("src/a"), "locations": at("src/a"),
			"_meta": object{"claudeCode": object{"toolName": "Write"}},
		}),
		"read of what may not be written": ask("claude-agent-acp", object{
			"kind": "read", "rawInput": object{"file_path": file("migrations/1.sql")}, "locations": at("migrations/1.sql"),
			"_meta": object{"claudeCode": object{"toolName": "Read"}},
		}),
		"command that reads it": ask("claude-agent-acp", object{
			"kind": "execute", "rawInput": object{"command": "cat migrations/1.sql"}, "locations": at("migrations/1.sql"),
			"_meta": object{"claudeCode": object{"toolName": "Bash"}},
		}),
		"tool of a server": ask("claude-agent-acp", object{"kind": "other", "title": "mcp__fs__put", "rawInput": object{"n": 1}, "locations": at("src/a"),
			"_meta": object{"claudeCode": object{"toolName": "mcp__fs__put"}}}),
	} {
		if got.Verdict != "allow" {
			t.Errorf("%s: %+v, want allow", name, got)
		}
	}
	for name, call := range map[string]object{
		"diff":                   {"kind": "edit", "title": "Edit", "content": diff("migrations/1.sql")},
		"location":               {"kind": "edit", "title": "Edit", "locations": at("migrations/1.sql")},
		"diff, and another path": {"kind": "edit", "rawInput": object{"path": file("src/a")}, "content": diff("migrations/1.sql")},
		"location of no kind":    {"title": "Fix it", "locations": at("migrations/1.sql")},
	} {
		for _, agent := range []string{"an agent that nobody knows", "claude-agent-acp", "codex-acp", "gemini-cli", "opencode"} {
			if got := ask(agent, call); got.Verdict != "deny" || got.By != "policy" || !strings.Contains(got.Reason, "migrations") {
				t.Errorf("%s of %s: %+v, want deny", name, agent, got)
			}
		}
	}
	if got := ask("claude-agent-acp", object{"kind": "other", "title": "mcp__fs__put", "rawInput": object{"n": 1}, "locations": at("migrations/1.sql"),
		"_meta": object{"claudeCode": object{"toolName": "mcp__fs__put"}}}); got.Verdict != "deny" {
		t.Errorf("tool of a server that is allowed: %+v, want deny", got)
	}
	// The person's rule speaks of what an agent without a profile says it does, and no rule of
	// what lies outside of the project.
	if got := ask("an agent that nobody knows", object{"kind": "edit", "title": "Edit", "content": diff("src/a")}); got.Verdict != "allow" || got.By != "policy" {
		t.Errorf("claims alone that a person's rule covers: %+v, want allow", got)
	}
	if got := ask("an agent that nobody knows", object{"kind": "edit", "title": "Edit", "content": diff("../a")}); got.Verdict != "ask" {
		t.Errorf("claims alone: %+v, want ask", got)
	}
}

// changedTools: a call is announced as one tool and then said to be of another. What would be
// allowed of the latter asks, and what is denied of either is denied.
func changedTools(t *testing.T) {
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"),
		"deny: {use: [\"github:merge\"]}\nallow: {read: [\"./**\"], write: [\"./**\"], use: [\"fs:put\"]}\n")
	d.start(t)
	project := d.project(t, nil)
	type object = map[string]any
	of := func(tool string) object { return object{"claudeCode": object{"toolName": tool}} }
	read := object{"kind": "read", "rawInput": object{"file_path": filepath.Join(project, "a")}, "_meta": of("Read")}
	for _, tt := range []struct {
		name         string
		first, then  object
		want, reason string
	}{
		{"the same tool", object{"title": "Read", "kind": "read", "_meta": of("Read")}, read, "allow", ""},
		{"a denied tool", object{"title": "merge", "kind": "other", "_meta": of("mcp__github__merge")}, read, "deny", "github:merge"},
		{"an allowed tool", object{"title": "put", "kind": "other", "_meta": of("mcp__fs__put")}, read, "ask", "tool"},
		{"a write", object{"title": "Write", "kind": "edit", "_meta": of("Write")}, read, "ask", ""},
		{"a denied tool of late", object{"title": "Read", "kind": "read", "_meta": of("Read")}, object{"rawInput": object{"n": 1}, "_meta": of("mcp__github__merge")}, "deny", "github:merge"},
	} {
		for _, by := range []string{"session/request_permission", "session/update"} {
			w := d.wire(t)
			w.ask(t, request("permd/session", object{"sessionId": "s1", "cwd": project, "agent": object{"name": "claude-agent-acp"}}))
			update := func(kind string, call object) {
				u := object{"sessionUpdate": kind, "toolCallId": "t1"}
				maps.Copy(u, call)
				if _, err := w.Write([]byte(strings.Replace(request("session/update", object{"sessionId": "s1", "update": u}), `"id":1,`, "", 1) + "\n")); err != nil {
					t.Fatal(err)
				}
			}
			update("tool_call", tt.first)
			call := object{"toolCallId": "t1"}
			if by == "session/update" {
				update("tool_call_update", tt.then)
			} else {
				maps.Copy(call, tt.then)
			}
			got := w.ask(t, request("session/request_permission", object{"sessionId": "s1", "options": acpOptions, "toolCall": call}))
			if got.Verdict != tt.want || !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("announced as %s, by %s: %+v, want %s (%s)", tt.name, by, got, tt.want, tt.reason)
			}
			w.Close()
		}
	}
}
