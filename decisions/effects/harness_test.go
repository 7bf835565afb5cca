package effects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHarness: a server that is called like an agent does not say how the tools
// of the client are read, and its own are never anybody's built-in ones.
func TestHarness(t *testing.T) {
	const read, run = `{"file_path":"src/vat.ts"}`, `{"command":"ls"}`
	for name, c := range map[string]struct {
		agent, client string
		tool          Tool
		input         string
		want          Kind
		use           bool
	}{
		"a client's tool":             {"helper", "playground", Tool{Name: "Read"}, read, KindRead, true},
		"of a client that is known":   {"helper", "claude-agent-acp", Tool{Name: "Read"}, read, KindRead, false},
		"and its shell":               {"helper", "claude-agent-acp", Tool{Name: "Bash"}, run, KindRun, false},
		"of a server that is known":   {"claude-agent-acp", "playground", Tool{Name: "Bash"}, run, KindRun, true},
		"a server's tool":             {"helper", "playground", Tool{Name: "Bash", Server: "helper"}, run, KindRun, true},
		"a server's, a known client":  {"helper", "claude-agent-acp", Tool{Name: "Bash", Server: "helper"}, run, KindRun, true},
		"a server's, a known server":  {"claude-agent-acp", "claude-agent-acp", Tool{Name: "Bash", Server: "claude-agent-acp"}, run, KindRun, true},
		"a client's tool of a server": {"helper", "claude-agent-acp", Tool{Name: "mcp__helper__Read"}, read, KindRead, true},
	} {
		t.Run(name, func(t *testing.T) {
			call := agentCall(c.agent, c.tool.Name, c.input)
			call.Protocol, call.Tool, call.Client = ProtocolAAP, c.tool, Party{Name: c.client}
			r := toolWorld(t).Of(call)
			use, found := false, false
			for _, e := range r.Effects {
				use, found = use || e.Kind == KindUse, found || e.Kind == c.want
			}
			if use != c.use || !found && !use {
				t.Errorf("use %v, %s %v: %v", use, c.want, found, lines(r))
			}
		})
	}
	acp := agentCall("claude-agent-acp", "Bash", run)
	acp.Client = Party{Name: "zed"}
	if d := cmp.Diff(Party{Name: "claude-agent-acp"}, acp.Harness()); d != "" {
		t.Errorf("another protocol (-want +got):\n%s", d)
	}
}
