package main

import (
	"strings"
	"syscall"
	"testing"
)

// TestProxyHeld cancels requests while permd is being asked about them: the agent
// gets its answer at once, and the client, which never saw them, gets no message.
func TestProxyHeld(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a program or a daemon of its own; TestProxyProcess is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	r := d.relay(t)
	r.begin(t, "claude-agent-acp", "0.100.0", "1", "s1", d.project(t, nil))
	request := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/request_permission","params":{"sessionId":"s1",` +
			`"toolCall":{"toolCallId":"c` + id + `","kind":"execute","title":"git status","rawInput":{"command":"git status"},"_meta":{"claudeCode":{"toolName":"Bash"}}},` +
			`"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}`
	}
	answers := func(id, with string) {
		t.Helper()
		if got := hear(t, r.agentIn); string(parsePair(got).ID) != id || !strings.Contains(got, with) {
			t.Errorf("the agent received %q, want the answer to %s with %s", got, id, with)
		}
	}
	say(t, r.agent, request("1"))
	answers("1", `"optionId":"yes"`)

	daemon := d.cmd.Process.Pid
	_ = syscall.Kill(daemon, syscall.SIGSTOP) // what it is asked waits in its socket
	var state syscall.WaitStatus
	if _, err := syscall.Wait4(daemon, &state, syscall.WUNTRACED, nil); err != nil || !state.Stopped() {
		t.Fatalf("the daemon was not stopped: %v, %v", state, err)
	}
	defer func() { _ = syscall.Kill(daemon, syscall.SIGCONT) }()
	say(t, r.agent, request("2"))
	say(t, r.agent, request("3"))
	say(t, r.agent, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`)
	answers("2", `"code":-32800`)
	// So permd has read the third one as well.
	passes(t, r.toAgent, r.agentIn, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	answers("3", `"outcome":"cancelled"`)
	passes(t, r.agent, r.fromAgent, `{"jsonrpc":"2.0","method":"_test/mark"}`) // nothing else came before
	_ = syscall.Kill(daemon, syscall.SIGCONT)
	r.end(t)
}
