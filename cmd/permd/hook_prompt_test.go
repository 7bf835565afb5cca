package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// TestHookPrompt is a conversation with Claude Code's permission-prompt tool, as
// a process.
func TestHookPrompt(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a program or a daemon of its own; TestHook is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	project := d.project(t, nil)
	cmd := d.command("hook", "claude", "--permission-prompt-tool")
	cmd.Dir = project
	call := func(command string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"approve","arguments":{"tool_name":"Bash","input":{"command":"` + command + `"},"tool_use_id":"t"}}}` + "\n"
	}
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}` + "\n\n" +
		call("welcome") + call("forbidden") + call("questioned"))
	out := runHook(t, cmd)
	lines := strings.Split(strings.TrimSpace(string(out.Stdout)), "\n")
	if out.Code != 0 || out.Stderr != "" || len(lines) != 4 {
		t.Fatalf("%+v", out)
	}
	for i, want := range []string{"serverInfo", `{\"behavior\":\"allow\",\"updatedInput\":{\"command\":\"welcome\"}}`, `{\"behavior\":\"deny\",\"message\":\"permd denies: forbidden\"}`, "permd allow "} {
		if !strings.Contains(lines[i], want) || strictjson.Check([]byte(lines[i])) != nil {
			t.Errorf("line %d is %s, want %s", i, lines[i], want)
		}
	}
	d.kill()
	cmd = d.command("hook", "claude", "--permission-prompt-tool")
	cmd.Stdin = strings.NewReader(call("welcome"))
	if out := runHook(t, cmd); !strings.Contains(string(out.Stdout), `{\"behavior\":\"deny\"`) {
		t.Errorf("without a daemon: %+v", out)
	}
}
