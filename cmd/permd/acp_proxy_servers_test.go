package main

import (
	"fmt"
	"testing"
)

// TestProxyServers: the servers that a session is given reach the agent byte for byte, and
// their environment and headers, which hold secrets, are kept nowhere.
func TestProxyServers(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	d.start(t)
	r := d.relay(t)
	const secret = "a-token-of-a-server"
	project := d.project(t, nil)
	k := talkers{r.toAgent, r.fromAgent, r.agent, r.agentIn}
	greet(t, k, "claude-agent-acp", "0.100.0", "1", "s1", project)
	servers := fmt.Sprintf(`[{"name":"github","command":"/bin/mcp","args":["--key=%[1]s"],"env":[{"name":"TOKEN","value":%[1]q}]},`+
		`{"type":"http","name":"jira","url":"https://jira.example/?t=%[1]s","headers":[{"name":"Authorization","value":"Bearer %[1]s"}]}]`, secret)
	for i, line := range []string{
		`{"jsonrpc":"2.0","id":"m","method":"session/new","params":{"cwd":%q,"mcpServers":%s}}`,
		`{"jsonrpc":"2.0","id":"l","method":"session/load","params":{"sessionId":"s3","cwd":%q,"mcpServers":%s}}`,
	} {
		passes(t, k.client, k.agentHears, fmt.Sprintf(line, project, servers))
		passes(t, k.agent, k.clientHears, fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"sessionId":"s%d"}}`, "ml"[i:i+1], i+2))
		say(t, k.agent, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s%d","toolCall":{"toolCallId":"c%d",`+
			`"title":"ls","kind":"execute","rawInput":{"command":"ls"},"_meta":{"claudeCode":{"toolName":"Bash"}}},"options":[`+
			`{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]}}`, i, i+2, i))
		if got := hear(t, k.agentHears); got == "" {
			t.Error("no answer")
		}
	}
	if got := len(d.records(t)); got != 2 {
		t.Errorf("%d calls were decided", got)
	}
	d.wantNowhere(t, secret)
	r.end(t)
}
