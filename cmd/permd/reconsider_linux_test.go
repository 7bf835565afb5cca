package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// TestReconsideredEnds: a lock begins, and a choice expires, while a client waits: it is another question.
func TestReconsideredEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for the end of a choice; TestReconsidered is the quick one")
	}
	t.Parallel()
	l := newReconsidered(t)
	id := l.ask()
	got := l.waits(id)
	l.d.permd(t, "lock")
	eventually.Holds(t, "another question waits", func() bool { return l.only().DecisionID != id })
	if out, err := l.d.command("allow", id).CombinedOutput(); err == nil {
		t.Errorf("a yes to what was asked before the lock: %s", out)
	}
	l.d.permd(t, "allow", l.only().DecisionID)
	l.hears(got, "allow", "")
	if out, err := atTerminal(t, l.d.command("unlock")); err != nil {
		t.Fatalf("permd unlock: %v\n%s", err, out)
	}

	ask := func(command string) string {
		return l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", command, 1)))
	}
	id = ask("sh other.sh")
	got = l.waits(id)
	l.d.permd(t, "allow", id, "--always", "w1", "--scope", "project", "--for", "4s")
	l.hears(got, "allow", "")
	id = ask("sh other.sh; sh run.sh data")
	got = l.waits(id)
	eventually.Holds(t, "another question waits", func() bool { return l.only().DecisionID != id })
	l.d.permd(t, "deny", l.only().DecisionID)
	l.hears(got, "deny", "")
}
