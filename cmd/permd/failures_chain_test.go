package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// session opens a session on a conductor's pipe and returns how the agent asks
// in it for what is allowed, in a call that it has announced.
func (c *chained) session() (ask func(id string) string) {
	c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session/resume","params":{"sessionId":"s1","cwd":%q}}`, c.t.TempDir()))
	return func(id string) string {
		c.say(`{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"` + id +
			`","title":"git status","kind":"execute","rawInput":{"command":"git status"}}}}}`)
		return c.say(`{"jsonrpc":"2.0","id":"` + id + `","method":"_proxy/successor","params":{"method":"session/request_permission","params":{"sessionId":"s1","toolCall":` +
			`{"toolCallId":"` + id + `"},"options":[{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]}}}`)
	}
}

// allowsClaims starts the daemon with a rule that allows the call: the agent has no profile,
// so the command is its claim.
func (d *testDaemon) allowsClaims(t *testing.T) {
	t.Helper()
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), "allow:\n  run: [\"git status\"]\n")
	d.start(t)
}

// chainAllows is in the answer to it.
const chainAllows = `"optionId":"y"},`

// TestProxyRestart restarts a required daemon: what needs it fails meanwhile,
// everything else continues, and then it decides again.
func TestProxyRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for daemons that end and start")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.allowsClaims(t)
	c := d.chained(t, "--require")
	ask := c.session()
	if got := ask("a"); !strings.Contains(got, chainAllows) {
		t.Errorf("with the daemon: %s", got)
	}
	d.kill()
	if got := ask("b"); !strings.Contains(got, `"id":"b","error":{"code":-32603`) {
		t.Errorf("without the daemon: %s", got)
	}
	both := `{"jsonrpc":"2.0","method":"_x","params":{}}`
	c.want(`{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"_x","params":{}}}`, both)
	d.start(t)
	eventually.Holds(t, "permd acp finds the daemon again", func() bool { return strings.Contains(c.stderr.String(), "permd is there again") })
	if got := ask("c"); !strings.Contains(got, chainAllows) {
		t.Errorf("with the daemon again: %s", got)
	}
	c.in.Close()
	ended(t, c.cmd, &c.stderr, 0)
	if text := "fails until permd is there, and the agent ends without it in 30s"; !strings.Contains(c.stderr.String(), text) {
		t.Errorf("the person was not shown %q: %s", text, c.stderr.String())
	}
}

// TestProxyEnvelopes: an envelope that cannot be read is not passed on, and calls
// that it may have been about are left to the person.
func TestProxyEnvelopes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it needs a daemon and an agent; TestProxyChain is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.allowsClaims(t)
	for name, envelope := range map[string]string{
		"two methods":        `{"jsonrpc":"2.0","id":2,"method":"_proxy/successor","params":{"method":"session/update","Method":"session/update","params":{}}}`,
		"two messages":       `{"jsonrpc":"2.0","id":2,"method":"_proxy/successor","params":{"method":"session/update","params":{},"message":{}}}`,
		"another's envelope": `{"jsonrpc":"2.0","id":2,"method":"_proxy/successor","params":{"method":"_proxy/successor","params":{"method":"session/cancel","params":{"sessionId":"s1"}}}}`,
		"a batch":            `[{"jsonrpc":"2.0","id":2,"method":"_proxy/successor","params":{"method":"session/update","params":{}}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			c := d.chained(t)
			ask := c.session()
			if got := ask("a"); !strings.Contains(got, chainAllows) {
				t.Errorf("before: %s", got)
			}
			if got := c.say(envelope); !strings.Contains(got, `"error":{"code":-32600`) {
				t.Errorf("the conductor was sent %s", got)
			}
			// A call that it may have named is left to the person.
			again := `{"jsonrpc":"2.0","id":"b","method":"_proxy/successor","params":{"method":"session/request_permission","params":{"sessionId":"s1","toolCall":` +
				`{"toolCallId":"a"},"options":[{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]}}}`
			if got := c.say(again); !strings.Contains(got, `"method":"session/request_permission"`) {
				t.Errorf("a call that something was lost of: %s", got)
			}
			c.in.Close()
			ended(t, c.cmd, &c.stderr, 0)
		})
	}
}
