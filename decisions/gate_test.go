package decisions

import (
	"errors"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestGate checks the answer to a gate question for each verdict and each kind of
// asker.
func TestGate(t *testing.T) {
	yes, no := func(*Decision) bool { return true }, func(*Decision) bool { return false }
	firm := finding(Org, SetAsk)
	cases := []struct {
		name    string
		fired   []Finding
		policy  error
		journal error
		alone   bool
		gate    Gate
		verdict Verdict
		outcome Outcome
	}{
		{name: "allowed", fired: []Finding{finding(User, SetAllow)}, verdict: Allow},
		{name: "denied", fired: []Finding{finding(User, SetDeny)}, gate: Gate{Approved: yes}, verdict: Deny},
		{name: "the default asks", verdict: Ask, outcome: Passed},
		{name: "base asks", fired: []Finding{finding(Base, SetAsk)}, verdict: Ask, outcome: Passed},
		{name: "the default asks, approved", gate: Gate{Approved: yes}, verdict: Ask, outcome: Approved},
		{name: "a rule asks", fired: []Finding{finding(User, SetAsk)}, gate: Gate{Approved: no}, verdict: Ask},
		{name: "org asks", fired: []Finding{firm}, verdict: Ask},
		{name: "a rule asks, approved", fired: []Finding{finding(User, SetAsk)}, gate: Gate{Approved: yes}, verdict: Ask, outcome: Approved},
		{name: "all are asked", gate: Gate{Asks: true}, verdict: Ask},
		{name: "all are asked, approved", gate: Gate{Asks: true, Approved: yes}, verdict: Ask, outcome: Approved},
		{name: "their own, a rule asks", fired: []Finding{finding(User, SetAsk)}, gate: Gate{Own: true, Asks: true}, verdict: Ask, outcome: Passed},
		{name: "their own, denied", fired: []Finding{finding(User, SetDeny)}, gate: Gate{Own: true}, verdict: Deny},
		{name: "their own, rules broke", policy: errors.New("broken"), gate: Gate{Own: true}, verdict: Ask},
		{name: "their own, nobody there", alone: true, gate: Gate{Own: true}, verdict: Ask, outcome: Passed},
		{name: "rules broke", policy: errors.New("broken"), gate: Gate{Approved: yes}, verdict: Ask},
		{name: "nobody there", alone: true, verdict: Deny},
		{name: "nobody there, approved", alone: true, gate: Gate{Approved: yes}, verdict: Ask, outcome: Approved},
		{name: "nobody there, rules broke", alone: true, policy: errors.New("broken"), verdict: Deny},
		{name: "allowed, not logged", fired: []Finding{finding(User, SetAllow)}, journal: errors.New("full"), verdict: Ask},
		{name: "passed, not logged", journal: errors.New("full"), verdict: Ask},
		{name: "approved, not logged", journal: errors.New("full"), gate: Gate{Approved: yes}, verdict: Ask},
		{name: "allowed, not logged, nobody there", fired: []Finding{finding(User, SetAllow)}, alone: true, journal: errors.New("full"), verdict: Deny},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, _, j, e := newFakes(t)
			p.fired, p.err, j.err = c.fired, c.policy, c.journal
			e.unattended = func() bool { return c.alone }
			r := bash(t, "frobnicate x")
			c.gate.Agent = effects.Party{Name: "agent"}
			r.Gate, r.Call.Agent = &c.gate, effects.Party{}
			d := e.Decide(t.Context(), r)[0]
			if d.Verdict != c.verdict || d.Outcome != c.outcome {
				t.Errorf("%s, %q: %s; want %s, %q", d.Verdict, d.Outcome, d.Reason, c.verdict, c.outcome)
			}
			if d.Outcome != "" && (d.Widths != nil || d.Offer != nil) {
				t.Error("there is no question, but an answer to be remembered")
			}
			if rec := j.recs[0]; rec.Agent.Name != "agent" || rec.Tool != "Bash" {
				t.Errorf("recorded as %q of %q", rec.Tool, rec.Agent.Name)
			}
		})
	}
}

// TestRan: a call that has already run is decided for the record only. It does not
// use up an approval that waits for the same call.
func TestRan(t *testing.T) {
	for _, alone := range []bool{false, true} {
		p, _, j, e := newFakes(t)
		p.fired = nil
		e.unattended = func() bool { return alone }
		e.takeApproval = func(*Request, *Decision) bool { t.Error("a yes was looked for"); return true }
		r := bash(t, "frobnicate x")
		r.Ran = RanUnprompted
		want := map[bool]Verdict{false: Ask, true: Deny}[alone]
		if d := e.Decide(t.Context(), r)[0]; d.Verdict != want || d.Outcome != RanUnprompted || d.Offer != nil {
			t.Errorf("%+v", d)
		}
		if got := j.recs[0].Decision.Outcome; got != RanUnprompted {
			t.Errorf("recorded as %q", got)
		}
	}
}

// TestFingerprints: two effects have the same fingerprint if and only if they do the
// same, wherever they were read.
func TestFingerprints(t *testing.T) {
	_, _, _, e := newFakes(t)
	dir := bash(t, "true").Call.Cwd
	of := func(input string, agent effects.Party, tool, kind string) []Fingerprint {
		r := &Request{Call: effects.Call{
			Protocol: "acp", Tool: effects.Tool{Name: tool}, Agent: agent, Cwd: dir,
			Claims: effects.Claims{Kind: kind}, Input: []byte(input), User: effects.User{Home: "/home/canary"},
		}}
		return e.Decide(t.Context(), r)[0].Fingerprints
	}
	claude := effects.Party{Name: "claude-agent-acp", Version: "0.100.0"}
	sh := func(text string) []Fingerprint {
		return of(`{"command":`+quote(text)+`}`, effects.Party{}, "", "execute")
	}
	same := func(a, b []Fingerprint) bool {
		if len(a) == 0 || len(a) != len(b) {
			return false
		}
		for i := range a {
			if a[i] != b[i] {
				return false
			}
		}
		return true
	}
	for _, c := range []struct {
		name string
		a, b []Fingerprint
		want bool
	}{
		{"the agent's own words", of(`{"command":"make  test","description":"x"}`, claude, "Bash", "execute"), sh("make test"), true},
		{"words and a list of words", sh("make 'a b'"), of(`{"command":["make","a b"]}`, effects.Party{Name: "codex"}, "shell", "execute"), true},
		{"a file by two tools", of(`{"file_path":"`+dir+`/a","content":"x"}`, claude, "Write", "edit")[:1], of(`{"path":"`+dir+`/./a"}`, effects.Party{}, "", "edit")[:1], true},
		{"another word", sh("make test"), sh("make tests"), false},
		{"another split of words", sh("make 'a b'"), sh("make a b"), false},
		{"another folder", sh("make test"), of(`{"command":"make test","cwd":"/"}`, effects.Party{}, "", "execute"), false},
		{"unknown, in the same text", sh("echo a | sh"), sh("echo a | sh"), true},
		{"unknown, in another text", sh("echo a | sh")[1:], sh("echo b | sh")[1:], false},
		{"a secret that is masked", sh("API=ghp_0123456789012345678901234567890123ab x")[:1], sh("API=ghp_0123456789012345678901234567890123cd x")[:1], false},
	} {
		if got := same(c.a, c.b); got != c.want {
			t.Errorf("%s: the same is %v, want %v", c.name, got, c.want)
		}
	}
}
