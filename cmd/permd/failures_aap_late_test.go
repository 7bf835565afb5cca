package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
)

// lateAAP is a session whose model makes the same call again and again, and whose person answers
// after the denial.
type lateAAP struct {
	*plainAAP

	d       *testDaemon
	s       *faultyAAP
	ids     int
	decided []string // the questions, the oldest first
}

// again makes the calls once more, with new ids, and returns their results.
func (c *lateAAP) again(who ...string) (told []string) {
	c.t.Helper()
	var parts []string
	for _, w := range who {
		c.ids++
		parts = append(parts, strings.Repeat("c", c.ids)+` page {"who":"`+w+`"}`)
	}
	before := len(c.s.told(c.session))
	for len(c.s.script) < c.s.sessions[c.session].step {
		c.s.script = append(c.s.script, says("")) // another session was at these
	}
	c.s.script = append(c.s.script[:c.s.sessions[c.session].step], calls(parts...), says("done"))
	c.say("go")
	for _, line := range c.s.told(c.session)[before:] {
		_, text, _ := strings.Cut(line, " ")
		switch {
		case strings.Contains(text, "nobody did in time"):
			text = "late"
			c.waitForNew()
		case strings.Contains(text, "Tool call denied"):
			text = "denied"
		default:
			text = "ran"
		}
		told = append(told, text)
	}
	return told
}

// waitForNew waits until permd allow lists a question that it has not listed before.
func (c *lateAAP) waitForNew() {
	c.t.Helper()
	eventually.Holds(c.t, "a new question", func() bool {
		var list admin.Questions
		if err := c.d.manage(c.t, admin.MethodQuestionsList, struct{}{}, &list); err != nil {
			c.t.Fatal(err)
		}
		before := len(c.decided)
		for _, q := range list.Questions {
			if !slices.Contains(c.decided, q.DecisionID) {
				c.decided = append(c.decided, q.DecisionID)
			}
		}
		return len(c.decided) > before
	})
}

// newest returns the question that was asked last.
func (c *lateAAP) newest() string {
	c.t.Helper()
	if len(c.decided) == 0 {
		c.t.Fatal("permd allow lists no question of a denied call")
	}
	return c.decided[len(c.decided)-1]
}

// aapLate: a person answers after the denial. Their yes counts once, for the same call, which the
// model makes with another id, in that session, by the same rules.
func aapLate(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t)
	gateway, key := d.startGateway(t, s.front.URL, "--wait", "1s", "--no-client-answers")
	c := &lateAAP{plainAAP: newPlainAAP(t, gateway, key, "message"), d: d, s: s}
	want(t, "nobody answers", []string{"late"}, c.again("ana"))
	d.permd(t, "allow", c.newest())
	want(t, "another call after a yes", []string{"late"}, c.again("bo"))
	want(t, "the call twice after a yes", []string{"ran", "late"}, c.again("ana", "ana"))
	d.permd(t, "deny", c.newest())
	want(t, "the call after a no", []string{"denied"}, c.again("ana"))
	want(t, "the call once more", []string{"late"}, c.again("ana"))
	earlier := c.newest()
	want(t, "the call before an answer", []string{"late"}, c.again("ana"))
	if out, err := d.command("allow", earlier).CombinedOutput(); err == nil {
		t.Errorf("permd allow for a question in whose place there is another one: %s", out)
	}
	d.permd(t, "allow", c.newest())
	other := &lateAAP{plainAAP: newPlainAAP(t, gateway, key, "message"), d: d, s: s, decided: c.decided}
	want(t, "the call in another session", []string{"late"}, other.again("ana"))
	want(t, "the server ran", []string{`page {"who":"ana"}`}, s.executed)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "more.rego"), "package permd.user\nimport rego.v2\ndeny contains \"no\" if input.effect.tool == \"none\"\n")
	d.permd(t, "reload")
	want(t, "the call by other rules", []string{"late"}, c.again("ana"))
	d.permd(t, "allow", c.newest())
	want(t, "the call by the same rules", []string{"ran"}, c.again("ana"))
	want(t, "the call after it", []string{"late"}, c.again("ana"))
	d.permd(t, "allow", c.newest())
	d.kill()
	d.start(t)
	want(t, "the call after a restart", []string{"late"}, c.again("ana"))
	want(t, "the server ran", []string{`page {"who":"ana"}`, `page {"who":"ana"}`}, s.executed)
	answers := map[string]int{}
	for _, r := range d.records(t) {
		if r.Answer != nil {
			answers[string(r.Answer.Verdict)]++
		}
	}
	// Five answers of the person; each decision of a call that they counted for has one too, of
	// which the call that came with another one has two.
	want(t, "the answers in the log", map[string]int{"allow": 7, "deny": 2}, answers)
}
