package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// reconsiderFails: rules that change while a client waits are broken, never end, or come with the end
// of the client or the daemon: the question waits on, or its client hears of no yes.
func reconsiderFails(t *testing.T) {
	l := newReconsidered(t)
	l.reload(noRule)
	id := l.ask()
	got := l.waits(id)
	stays := func(what string) {
		t.Helper()
		begin := time.Now()
		eventually.Holds(t, "longer than deciding again takes", func() bool { return time.Since(begin) > time.Second })
		if q := l.only(); q.DecisionID != id || len(got) > 0 {
			t.Errorf("%s: %s waits, and %d clients have heard; want %s", what, q.DecisionID, len(got), id)
		}
	}
	// Rules that do not compile: the earlier ones stay, and the question with them.
	writeFile(t, strings.TrimSuffix(l.rules, "rules.yaml")+"broken.rego", "package permd.user\nimport rego.v1\nallow contains \"yes\" if {\n")
	_ = l.d.command("reload").Run() // it fails
	stays("rules that do not compile")
	writeFile(t, strings.TrimSuffix(l.rules, "rules.yaml")+"broken.rego", "package permd.user\nimport rego.v1\n")
	l.d.reload(t)
	// A rule that never ends: nobody knows what it would say.
	l.d.policy(t, "endless.rego", longRule)
	l.d.reload(t)
	stays("a rule that never ends")
	begin := time.Now()
	other := &late{t, l.d, l.d.dial(t), l.project}
	other.session(l.project, "default")
	if _, err := other.say("permd/decide", `{"sessionId":"s1","calls":[{"callId":"c","tool":{"name":"Read"},"input":{"file_path":%q}}]}`, l.project+"/run.sh"); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("another client has waited for %v", took)
	}
	l.d.policy(t, "endless.rego", "")
	l.d.reload(t)
	l.reload(allowsIt)
	l.hears(got, "allow", "policy")

	// The client goes while it is decided again.
	l.reload(noRule)
	gone := &late{t, l.d, l.d.dial(t), l.project}
	gone.session(l.project, "default")
	ended := gone.waits(gone.question(gone.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall)))
	writeFile(t, l.rules, allowsIt)
	gone.c.Close()
	l.d.reload(t)
	if a := <-ended; a.err == nil && a.Answer == "allow" && a.Decision == nil {
		t.Errorf("a client that has gone hears %+v", a)
	}
	eventually.Holds(t, "its question ends", func() bool { return len(l.open()) == 0 })

	// The daemon stops: an allow is heard only if the journal has it.
	l.reload(noRule)
	got = l.waits(l.ask())
	writeFile(t, l.rules, allowsIt)
	_ = l.d.command("reload").Start()
	if err := l.d.stop(t); err != nil {
		t.Error(err)
	}
	a := <-got
	l.d.start(t)
	if a.err == nil && a.Answer == "allow" {
		found := false
		for _, r := range l.d.records(t) {
			found = found || r.Decision.ID == a.Decision.ID && r.Decision.Verdict == "allow"
		}
		if !found {
			t.Errorf("the client has heard of %+v, which the journal does not have", a.Decision)
		}
	}
}

// reconsiderStorm: many clients wait while rules change all the time. Each of them is told, none is
// told something else, and what others ask is answered meanwhile.
func reconsiderStorm(t *testing.T) {
	l := newReconsidered(t)
	const clients, each = 15, 16
	var waits []<-chan waitedAnswer
	for i := range clients {
		c := &late{t, l.d, l.d.dial(t), l.project}
		c.session(l.project, "default")
		for range each {
			id := c.question(c.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", fmt.Sprintf("sh run.sh data%d", i), 1)))
			waits = append(waits, c.waits(id))
		}
		// Those that nobody waits for are not decided again.
		for range 50 {
			c.question(c.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall))
		}
	}
	const changes = 20
	answered := 0
	for i := range changes {
		writeFile(t, l.rules, fmt.Sprintf(`deny: {run: ["frob%d"]}`, i))
		l.d.reload(t)
		for begin := time.Now(); time.Since(begin) < 100*time.Millisecond; answered++ {
			if _, err := l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall); err != nil {
				t.Fatal(err)
			}
		}
	}
	if answered < 2*changes {
		t.Errorf("%d calls of another client were decided during %d changes", answered, changes)
	}
	if open := l.open(); len(open) != clients*each {
		t.Errorf("%d questions wait, want %d", len(open), clients*each)
	}
	writeFile(t, l.rules, `allow: {run: ["sh run.sh data0", "sh run.sh data14"]}
deny: {run: ["sh run.sh data7"]}`)
	l.d.reload(t)
	for i, got := range waits {
		want := map[int]string{0: "allow", 14: "allow", 7: "deny"}[i/each]
		if want == "" {
			continue
		}
		if a := <-got; a.err != nil || a.Answer != want || a.DecidedBy != "policy" {
			t.Errorf("client %d hears %+v, want %s", i/each, a, want)
		}
	}
	if open := l.open(); len(open) != (clients-3)*each {
		t.Errorf("%d questions wait, want %d", len(open), (clients-3)*each)
	}
}
