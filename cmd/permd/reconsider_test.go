package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
)

// reconsidered is a client of a daemon whose rules change.
type reconsidered struct {
	*late
	rules string
}

func newReconsidered(t *testing.T) *reconsidered {
	t.Helper()
	d := startDaemon(t)
	l := &reconsidered{&late{t, d, d.dial(t), projectOf(t)}, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml")}
	l.write("run.sh", "echo 1\n")
	l.write("other.sh", "echo 2\n")
	l.session(l.project, "default")
	return l
}

const (
	allowsIt  = `allow: {run: ["sh run.sh data"]}`
	deniesIt  = `deny: {run: ["sh run.sh data"]}`
	asksIt    = `ask: {run: ["sh run.sh data"]}`
	noRule    = `deny: {run: ["frob"]}`
	unrelated = `deny: {run: ["frob", "sh other.sh"]}`
)

// reload has rules in the place of those before.
func (l *reconsidered) reload(text string) {
	l.t.Helper()
	writeFile(l.t, l.rules, text)
	l.d.permd(l.t, "reload")
}

func (l *reconsidered) ask() string {
	l.t.Helper()
	return l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall))
}

// hears wants the answer to a wait, by whom, and that nothing is open any more.
func (l *reconsidered) hears(got <-chan waitedAnswer, answer, by string) {
	l.t.Helper()
	a := <-got
	if a.err != nil || a.Answer != answer || string(a.DecidedBy) != by {
		l.t.Fatalf("the client hears %+v, want %s by %q", a, answer, by)
	}
	if by == "" {
		return
	}
	if a.Decision == nil || string(a.Decision.Verdict) != answer || a.Decision.By != a.DecidedBy {
		l.t.Fatalf("the decision is %+v", a.Decision)
	}
	for _, r := range l.d.records(l.t) {
		if r.Decision.ID == a.Decision.ID && string(r.Decision.Verdict) == answer {
			return
		}
	}
	l.t.Errorf("the journal has no %s of %s", answer, a.Decision.ID)
}

// only wants one question to wait, and returns it.
func (l *reconsidered) only() (q admin.Question) {
	l.t.Helper()
	eventually.Holds(l.t, "one question waits", func() bool {
		list := l.open()
		if len(list) == 1 {
			q = list[0]
		}
		return len(list) == 1
	})
	return q
}

// TestReconsidered: a client waits, and what decides its call changes.
func TestReconsidered(t *testing.T) {
	t.Parallel()
	l := newReconsidered(t)
	gone := func() {
		t.Helper()
		if list := l.open(); len(list) > 0 {
			t.Errorf("still listed: %+v", list)
		}
	}

	// A rule allows it.
	got := l.waits(l.ask())
	l.reload(allowsIt)
	l.hears(got, "allow", "policy")
	gone()
	// A rule denies it.
	l.reload(noRule)
	got = l.waits(l.ask())
	l.reload(deniesIt)
	l.hears(got, "deny", "policy")
	gone()
	// Rules that do not concern it: the question stays what it is, and so does the answer.
	l.reload(noRule)
	id := l.ask()
	got = l.waits(id)
	l.reload(unrelated)
	if q := l.only(); q.DecisionID != id {
		t.Errorf("after rules about another call %s waits, want %s", q.DecisionID, id)
	}
	l.d.permd(t, "allow", id)
	l.hears(got, "allow", "")
	gone()
	// Another reason to ask: it is another question.
	l.reload(noRule)
	id = l.ask()
	got = l.waits(id)
	l.reload(asksIt)
	eventually.Holds(t, "another question waits", func() bool { return l.only().DecisionID != id })
	if out := l.d.permd(t, "log", "show", l.only().DecisionID); !regexp.MustCompile(`asked before +` + id).MatchString(out) {
		t.Errorf("the decision that it was before is not named: %s", out)
	}
	if out := l.d.permd(t, "log", "show", id); !regexp.MustCompile(`answer +none in permd\n +asked again +` + l.only().DecisionID).MatchString(out) {
		t.Errorf("the question in its place is not named: %s", out)
	}
	if out, err := l.d.command("allow", id).CombinedOutput(); err == nil {
		t.Errorf("a yes to what was asked before: %s", out)
	}
	l.d.permd(t, "allow", l.only().DecisionID)
	l.hears(got, "allow", "")
	gone()
}

// TestReconsideredChoices: one client waits, and the same call is answered in another session.
func TestReconsideredChoices(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it answers in every protocol; TestReconsidered is the quick one")
	}
	t.Parallel()
	l := newReconsidered(t)
	other := &late{t, l.d, l.d.dial(t), l.project}
	other.session(l.project, "default")
	for _, f := range reconsideredForms {
		for _, verb := range []string{"allow", "deny"} {
			id := l.question(l.say(f.method, "%s", f.params))
			got := l.waits(id)
			at := other.question(other.say(f.method, "%s", f.params))
			answered := other.waits(at)
			width, option := "w1", "--always"
			for _, q := range l.open() {
				if q.DecisionID == at && verb == "deny" {
					width, option = q.RejectWidths[0].ID, "--width"
				}
			}
			l.d.permd(t, verb, at, option, width, "--scope", "project")
			if a := <-answered; a.err != nil || a.Answer != verb || a.DecidedBy != "" {
				t.Errorf("%s: the client of the answer hears %+v", f.method, a)
			}
			l.hears(got, verb, "memory")
			if list := l.open(); len(list) > 0 {
				t.Errorf("%s: still listed: %+v", f.method, list)
			}
			l.d.permd(t, "remember", "undo")
		}
	}
	if out, _ := l.d.command("remember", "list").Output(); strings.Contains(string(out), "run.sh") {
		t.Errorf("remembered: %s", out)
	}
}

// TestReconsideredHTTP: of two requests that are held, one is answered for always.
func TestReconsideredHTTP(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it holds requests in a daemon of its own; TestReconsidered is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.listensHTTP(t, "127.0.0.1:0")
	d.start(t)
	c := d.http(t)
	for verb, want := range map[string]string{"allow": `"outcome":"run"`, "deny": `"outcome":"denied"`} {
		for path, body := range map[string]string{"/v1/otc/call": waitOTC, "/v1/rap/invoke": waitRAP} {
			one, other := c.hold(t, "wait=60", path, body), c.hold(t, "wait=60", path, body)
			id := d.waiting(t, 2)[0]
			width := map[string]string{"allow": "w1", "deny": "r1"}[verb]
			d.permd(t, verb, id, "--width", width, "--scope", "user")
			for _, h := range []*heldRequest{one, other} {
				if got := <-h.answer; got.Status != 200 || !strings.Contains(got.Body, want) {
					t.Errorf("%s: %s: %+v, want %s", verb, path, got, want)
				}
			}
			d.waiting(t, 0)
			d.permd(t, "remember", "undo")
		}
	}
}

// reconsideredForms are the questions of all protocols, with what their clients hear.
var reconsideredForms = []struct {
	method, params, allows, denies string
	renewed                        bool // one that is asked otherwise is asked on
}{
	{"permd/decide", fmt.Sprintf(`{"sessionId":"s1","calls":[%s]}`, lateCall), `"answer":"allow"`, `"answer":"deny"`, true},
	{"session/request_permission", latePermit, `"optionId":"yes"`, `"optionId":"no"`, true},
	{"otc/call", lateOTC, `"result":{"outcome":"run"}`, `"result":{"outcome":"denied","response":`, true},
	{"rap/invoke", lateInvoke, `"result":{"outcome":"run"}`, `"result":{"outcome":"denied","result":`, false},
	{"aap/permissions", lateStopped, `"outcome":"execute"`, `"outcome":"denied"`, false},
}

// TestReconsideredProtocols: in every protocol the client that waits hears what rules decide by now, in
// the words of the protocol; an answer counts after rules that do not concern the call, and not after
// others.
func TestReconsideredProtocols(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits in every protocol; TestReconsidered is the quick one")
	}
	t.Parallel()
	l := newReconsidered(t)
	l.write("data", "1\n")
	const decides = `%s contains "by now" if { input.effect.kind in {"run", "use"} }`
	n := 0
	rules := func(text string) {
		t.Helper()
		n++
		l.d.policy(t, "now.rego", text+fmt.Sprintf("\ndeny contains \"%d\" if { input.effect.host == \"host%[1]d.example\" }\n", n))
		l.d.reload(t)
	}
	rules("")
	for _, f := range reconsideredForms {
		for _, change := range []string{"allow", "deny", "unrelated", "ask"} {
			t.Run(f.method+", "+change, func(t *testing.T) {
				l := &reconsidered{&late{t, l.d, l.d.dial(t), l.project}, ""}
				l.session(l.project, "default")
				said, err := l.say(f.method, "%s", f.params)
				id := l.question(said, err)
				type heard struct {
					text string
					err  error
				}
				waited := make(chan heard, 1)
				go func() {
					text, err := l.say("permd/wait", `{"decisionId":%q,"seconds":20}`, id)
					waited <- heard{text, err}
				}()
				eventually.Holds(t, "it waits", func() bool { return len(l.open()) > 0 })
				rule, want := "", map[string]string{"allow": f.allows, "unrelated": f.allows, "deny": f.denies, "ask": f.allows}[change]
				if change != "unrelated" {
					rule = fmt.Sprintf(decides, change)
				}
				rules(rule)
				defer rules("")
				switch change {
				case "unrelated":
					l.d.allow(t, id)
				case "ask":
					if !f.renewed {
						if got := <-waited; got.err == nil || !strings.Contains(got.err.Error(), "ask again") {
							t.Errorf("the client hears %s, %v", got.text, got.err)
						}
						if _, err := l.say("permd/choose", `{"decisionId":%q,"verdict":"allow"}`, id); err == nil {
							t.Error("a yes to what was asked before is taken")
						}
						return
					}
					eventually.Holds(t, "another question waits", func() bool { return l.only().DecisionID != id })
					l.d.allow(t, l.only().DecisionID)
				}
				got := <-waited
				if _, batch, ok := strings.Cut(said, `"batchId":"`); ok && got.err == nil {
					batch, _, _ = strings.Cut(batch, `"`)
					got.text, got.err = l.say("aap/answer", `{"sessionId":"s1","batchId":%q}`, batch)
				}
				if got.err != nil || !strings.Contains(got.text, want) {
					t.Errorf("the client hears %s, %v, want %s", got.text, got.err, want)
				}
				if by := strings.Contains(got.text, `"decidedBy":"policy","decision":`); f.method != "aap/permissions" && by != (change == "allow" || change == "deny") {
					t.Errorf("the client hears %s", got.text)
				}
			})
		}
	}
}

// TestReconsideredHook: what a harness asked about ends when rules decide it, and the yes for once that
// waits for the call again is for the same question only.
func TestReconsideredHook(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs a process for each answer; TestReconsidered is the quick one")
	}
	t.Parallel()
	l := newReconsidered(t)
	asks := func() string {
		return string(l.d.hook(t, "cursor", hookInput(hookShell[8].in, l.project, "sh run.sh data")).Stdout)
	}
	question := func() string {
		t.Helper()
		m := allowedBy.FindStringSubmatch(asks())
		if m == nil {
			t.Fatal("no way to allow it is named")
		}
		return m[1]
	}
	runs := func() bool { return strings.Contains(asks(), `"allow"`) }
	l.reload(noRule)
	for _, rules := range []string{allowsIt, deniesIt} {
		question()
		l.reload(rules)
		l.d.waiting(t, 0)
		if runs() != (rules == allowsIt) {
			t.Errorf("after %s it runs: %v", rules, runs())
		}
		l.reload(noRule)
	}
	for _, tt := range []struct {
		rules string
		runs  bool
	}{{unrelated, true}, {asksIt, false}, {deniesIt, false}} {
		l.d.permd(t, "allow", question())
		l.reload(tt.rules)
		if got := runs(); got != tt.runs {
			t.Errorf("a yes for once, then %s: it runs %v", tt.rules, got)
		}
		l.reload(noRule)
		runs() // uses up a yes that is left
		eventually.Holds(t, "no question waits", func() bool {
			for _, q := range l.open() {
				_ = l.d.command("deny", q.DecisionID).Run() // it may have become another one
			}
			return len(l.open()) == 0
		})
	}
	// Asked otherwise, it is another question.
	id := question()
	l.reload(asksIt)
	eventually.Holds(t, "another question waits", func() bool { return l.d.waiting(t, 1)[0] != id })
	if out, err := l.d.command("allow", id).CombinedOutput(); err == nil {
		t.Errorf("a yes to what was asked before: %s", out)
	}
	l.d.permd(t, "allow", l.d.waiting(t, 1)[0])
	if !runs() {
		t.Error("the yes to what is asked now does not count")
	}
}
