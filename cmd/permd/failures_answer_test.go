package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestProxyLateDeny changes the rules while the person reads a request: the new
// rules decide whether the approval counts.
func TestProxyLateDeny(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for new rules; TestProxyChain is the quick one")
	}
	t.Parallel()
	const frozen = `deny contains "frozen" if input.effect.program == "frob"
deny contains "no modes" if input.effect.kind == "mode"
ask contains "is quux safe?" if input.effect.program == "quux"`
	d := newTestDaemon(t)
	d.start(t)
	m := d.mirror(t, d.project(t, nil), "claude-agent-acp", 1)
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: the agent got %q, want %q: %s", what, got, want, m.stderr.String())
		}
	}

	m.shows(mirrorAsks(1, "frob a"))
	m.shows(mirrorAsks(2, "frob b"))
	m.shows(mirrorAsks(3, "quux b"))
	m.shows(mirrorAsks(4, "frob c"))
	m.shows(mirrorAsks(9, "xyzzy b"))
	m.shows(fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"m","kind":"switch_mode","title":"Go on without asking"},%s}}`, mirrorOptions))
	m.shows(`{"jsonrpc":"2.0","id":6,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"o","name":"Bash","kind":"execute","rawInput":{"command":"frob d"}},"options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"no","name":"No","kind":"reject_once"}]}}`)
	d.policy(t, "late.rego", frozen)
	d.reload(t)
	want("once", m.picks(1, "yes"), "no")
	want("always", m.picks(2, "permd-width-w1"), "no")
	m.shows(`{"jsonrpc":"2.0","id":3,"result":{"outcome":{"outcome":"selected","optionId":"permd-width-w1"}}}`) // once more
	want("asked for another reason", m.picks(3, "yes"), "yes")
	want("another program", m.picks(9, "yes"), "yes")
	want("no", m.picks(4, "no"), "no")
	want("another mode", m.picks(5, "yes"), "no")
	want("the agent's always", m.picks(6, "always"), "no")
	if out := d.permd(t, "remember", "list", "--json"); strings.TrimSpace(out) != "" {
		t.Errorf("remembered: %s", out)
	}
	for _, says := range []string{"yes was not passed on: frozen", "you are asked again"} {
		if !strings.Contains(m.stderr.String(), says) {
			t.Errorf("permd did not say %q: %s", says, m.stderr.String())
		}
	}

	// A daemon that was restarted has other rules as well.
	d.policy(t, "late.rego", "")
	d.reload(t)
	m.shows(mirrorAsks(7, "frob a"))
	d.policy(t, "late.rego", frozen)
	d.kill()
	d.start(t)
	m.waitSays("permd is there again")
	want("after a restart", m.picks(7, "yes"), "no")
	d.policy(t, "late.rego", "")
	d.reload(t)
	m.shows(mirrorAsks(8, "frob a"))
	d.kill()
	want("without a daemon", m.picks(8, "yes"), "yes")
}
