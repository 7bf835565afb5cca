package tools

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
)

// TestHarness: a server with the name of an agent does not choose the profile for
// the client's tools, and its own tools are never built-in ones.
func TestHarness(t *testing.T) {
	const read, run = `{"file_path":"src/vat.ts"}`, `{"command":"ls"}`
	for name, c := range map[string]struct {
		agent, client string
		tool          effects.Tool
		input         string
		want          effects.Kind
		use           bool
	}{
		"a client's tool":             {"helper", "playground", effects.Tool{Name: "Read"}, read, effects.KindRead, true},
		"of a client that is known":   {"helper", "claude-agent-acp", effects.Tool{Name: "Read"}, read, effects.KindRead, false},
		"and its shell":               {"helper", "claude-agent-acp", effects.Tool{Name: "Bash"}, run, effects.KindRun, false},
		"of a server that is known":   {"claude-agent-acp", "playground", effects.Tool{Name: "Bash"}, run, effects.KindRun, true},
		"a server's tool":             {"helper", "playground", effects.Tool{Name: "Bash", Server: "helper"}, run, effects.KindRun, true},
		"a server's, a known client":  {"helper", "claude-agent-acp", effects.Tool{Name: "Bash", Server: "helper"}, run, effects.KindRun, true},
		"a server's, a known server":  {"claude-agent-acp", "claude-agent-acp", effects.Tool{Name: "Bash", Server: "claude-agent-acp"}, run, effects.KindRun, true},
		"a client's tool of a server": {"helper", "claude-agent-acp", effects.Tool{Name: "mcp__helper__Read"}, read, effects.KindRead, true},
	} {
		t.Run(name, func(t *testing.T) {
			call := agentCall(c.agent, c.tool.Name, c.input)
			call.Protocol, call.Tool, call.Client = effects.ProtocolAAP, c.tool, effects.Party{Name: c.client}
			r := toolWorld(t).Effects(call)
			use, found := false, false
			for _, e := range r.Effects {
				use, found = use || e.Kind == effects.KindUse, found || e.Kind == c.want
			}
			if use != c.use || !found && !use {
				t.Errorf("use %v, %s %v: %v", use, c.want, found, lines(r))
			}
		})
	}
	acp := agentCall("claude-agent-acp", "Bash", run)
	acp.Client = effects.Party{Name: "zed"}
	if d := cmp.Diff(effects.Party{Name: "claude-agent-acp"}, acp.Harness()); d != "" {
		t.Errorf("another protocol (-want +got):\n%s", d)
	}
}
