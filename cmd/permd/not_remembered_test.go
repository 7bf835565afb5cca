package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// TestNotRemembered: where nothing can be remembered, the question says why, and an always
// that stores nothing says so, in the answer and when it is read back.
func TestNotRemembered(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestNotRememberedWhy is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"x": "", "Makefile": "X = $(shell cat x)\nlint:\n\ttrue\n"})
	p := d.asks(t, project)
	for command, says := range map[string]string{
		"python3 -c 'print(1)'": "a person answers this each time", "sudo go build ./a": "it runs other programs", "go build $(cat x)": "a person answers this each time",
		"permd status": "commands of permd", "npm test": "could not be told from the project's files",
		"make lint": "it has a function that may read more", "npx nx build": "what nx runs is decided by files", "mvn test": "build files that permd does not read",
	} {
		q := p.bash(command)
		if q.Verdict != decisions.Ask || q.Widths != nil || !strings.Contains(q.NotRemembered, says) {
			t.Errorf("%s: %s, %+v, %q, want %q", command, q.Verdict, q.Widths, q.NotRemembered, says)
		}
		for _, args := range [][]string{{"log", "show", q.ID}, {"explain", q.ID}} {
			if out := d.permd(t, args...); !strings.Contains(out, says) {
				t.Errorf("%s: permd %v does not say why:\n%s", command, args, out)
			}
		}
	}
	if q := p.bash("go build ./a"); q.Widths == nil || q.NotRemembered != "" {
		t.Errorf("what can be remembered: %+v, %q", q.Widths, q.NotRemembered)
	}

	// An agent's always.
	ask := func(command string) *decisions.Decision {
		t.Helper()
		err := p.Call(t.Context(), "session/request_permission", map[string]any{
			"sessionId": "s",
			"toolCall": map[string]any{
				"toolCallId": "1", "title": command, "kind": "execute", "rawInput": map[string]string{"command": command},
				"_meta": map[string]any{"claudeCode": map[string]string{"toolName": "Bash"}},
			},
			"options": []map[string]string{
				{"optionId": "always", "name": "Always Allow", "kind": "allow_always"}, {"optionId": "once", "name": "Allow", "kind": "allow_once"},
				{"optionId": "n", "name": "Reject", "kind": "reject_once"},
			},
		}, nil)
		var q decisions.Decision
		e, ok := errors.AsType[*client.Error](err)
		if !ok || json.Unmarshal(e.Data, &q) != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return &q
	}
	type chosen struct {
		Stored    []decisions.StoredChoice `json:"stored"`
		NotStored string                   `json:"notStored"`
	}
	choose := func(q *decisions.Decision, option string) (got chosen) {
		t.Helper()
		if err := p.Call(t.Context(), native.MethodChoose, map[string]string{"decisionId": q.ID, "optionId": option}, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	list := func() (got admin.Choices) {
		t.Helper()
		if err := d.manage(t, admin.MethodChoicesList, struct{}{}, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	q := ask("python3 -c 'print(2)'")
	if got := choose(q, "always"); len(got.Stored) != 0 || got.NotStored != q.NotRemembered || got.NotStored == "" || len(list().Choices) != 0 {
		t.Errorf("an always that stores nothing: %+v for %q, remembered: %+v", got, q.NotRemembered, list())
	}
	if got := choose(ask("go build ./c"), "once"); len(got.Stored) != 0 || got.NotStored != "" || len(list().Choices) != 0 {
		t.Errorf("once: %+v, remembered: %+v", got, list())
	}
	if got := choose(ask("go build ./b"), "always"); len(got.Stored) != 1 || got.NotStored != "" || len(list().Choices) != 1 || list().Choices[0].ID != got.Stored[0].ID {
		t.Errorf("an always that is stored: %+v, remembered: %+v", got, list())
	}

	// What waits for permd allow.
	d.hook(t, "claude", `{"session_id": "h", "cwd": "`+project+`", "permission_mode": "bypassPermissions", "hook_event_name": "PreToolUse",
		"tool_name": "Bash", "tool_input": {"command": "python3 -c 'print(3)'"}, "tool_use_id": "t"}`)
	if out := d.permd(t, "allow"); !strings.Contains(out, "only once, not remembered: a person answers this each time") {
		t.Errorf("permd allow:\n%s", out)
	}
}
