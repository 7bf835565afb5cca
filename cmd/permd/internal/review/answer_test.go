package review

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// says fails unless the screen has the texts.
func (d *driver) says(t *testing.T, texts ...string) {
	t.Helper()
	screen := strings.Join(strings.Fields(d.screen()), " ")
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			t.Fatalf("the page does not say %q:\n%s", text, d.screen())
		}
	}
}

// did fails unless exactly these methods were called that change something.
func (d *driver) did(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(d.f.calls, "\n"); got != strings.Join(want, "\n") {
		t.Fatalf("the page called\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestEndsUnderForm: what a form was about is answered only while it waits as it was shown.
func TestEndsUnderForm(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *fake){
		"gone":         func(f *fake) { f.questions = f.questions[1:] },
		"another call": func(f *fake) { f.questions[0].Effects = []string{"rm -rf ~"} },
		"daemon gone":  func(f *fake) { f.off = true },
	} {
		for _, key := range []string{"A", "D"} {
			d := newDriver(filledDaemon())
			d.keys(key)
			change(d.f)
			d.refresh()
			d.says(t, "nothing was answered")
			d.keys("enter", "esc")
			if d.did(t); strings.Contains(d.screen(), "always allow") {
				t.Errorf("%s: the form of %s is still there", name, key)
			}
		}
	}
}

// TestSecondAnswer: somebody else has answered, and the page does not know yet.
func TestSecondAnswer(t *testing.T) {
	t.Parallel()
	d := newDriver(filledDaemon())
	d.f.questions = d.f.questions[1:]
	d.keys("a")
	d.says(t, "was decided meanwhile", "your answer does not count")
	// It stays until the next key, which is for it and not for what takes its place.
	d.keys("a")
	d.says(t, "nothing was answered", "[1 questions 2]")
	d.did(t, `questions.allow {"decisionId":"id-frob","via":"review"}`)
}

// TestTwice: a key that is typed twice answers once, and one that is held down answers nothing.
func TestTwice(t *testing.T) {
	t.Parallel()
	d := newDriver(filledDaemon())
	d.update(tea.KeyPressMsg{Code: 'a', Text: "a", IsRepeat: true})
	d.settle()
	d.did(t)
	d.update(keyOf("a"))
	d.update(keyOf("a"))
	d.settle()
	d.did(t, `questions.allow {"decisionId":"id-frob","via":"review"}`)
	// In a terminal that does not tell them apart, a held key comes 30 times a second.
	for range 200 {
		d.f.now = d.f.now.Add(33 * time.Millisecond)
		d.update(keyOf("a"))
		d.settle()
	}
	d.did(t, `questions.allow {"decisionId":"id-frob","via":"review"}`)
	d.keys("a") // half a second later
	d.did(t, `questions.allow {"decisionId":"id-frob","via":"review"}`, `questions.allow {"decisionId":"id-make test","via":"review"}`)
}

// TestUnseen: a yes to a call of which a part has not been on the screen needs another key.
func TestUnseen(t *testing.T) {
	t.Parallel()
	f := filledDaemon()
	for range 50 {
		f.questions[0].Effects = append(f.questions[0].Effects, "read ./file")
	}
	for _, key := range []string{"a", "A"} {
		f.calls = nil
		d := newDriver(f)
		d.keys(key)
		d.says(t, "lines not seen")
		d.keys("n")
		d.did(t)
		for d.m.below > 0 {
			d.keys("space")
		}
		if d.keys(key); key == "a" {
			d.did(t, `questions.allow {"decisionId":"id-frob","via":"review"}`)
		} else {
			d.says(t, "always allow")
		}
		f.questions = append([]admin.Question{filledDaemon().questions[0]}, f.questions...)
		for range 50 {
			f.questions[0].Effects = append(f.questions[0].Effects, "read ./file")
		}
	}
}

// TestRefused: what the daemon refuses leaves the question open, and is said.
func TestRefused(t *testing.T) {
	t.Parallel()
	d := newDriver(filledDaemon())
	d.f.refuse = map[string]error{admin.MethodQuestionsAllow: &client.Error{Code: -32602, Message: "invalid params: it must not be remembered"}}
	d.keys("A", "enter")
	d.says(t, "the answer was not taken: it must not be remembered", "[1 questions 3]")
	d.f.refuse = map[string]error{admin.MethodQuestionsDeny: &client.Error{Code: -32602, Message: "invalid params: too many choices"}}
	d.keys("D", "enter")
	d.says(t, "the answer was not taken: too many choices", "[1 questions 3]")
}

// TestAnsweredBefore: who comes second hears who answered, by what and when.
func TestAnsweredBefore(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", "d"} {
		d := newDriver(filledDaemon())
		id := d.f.questions[0].DecisionID
		d.f.refuse = map[string]error{
			admin.MethodQuestionsAllow: &client.Error{Code: admin.CodeNoDecision, Message: "no question of that id waits"},
			admin.MethodQuestionsDeny:  &client.Error{Code: admin.CodeNoDecision, Message: "no question of that id waits"},
		}
		d.keys(key)
		d.says(t, "the question was decided meanwhile, or its client has gone: your answer does not count")

		d = newDriver(d.f)
		rec := &decisions.Record{Decision: decisions.Decision{ID: id, Verdict: decisions.Ask}}
		rec.Answer = &decisions.HumanAnswer{Time: start, Verdict: decisions.Deny, Author: &author.Identity{Via: author.Command, UID: 4294967294, PID: 7}}
		d.f.records = append(d.f.records, rec)
		d.keys(key)
		d.says(t, "the question was denied at "+start.Local().Format("15:04:05")+" by uid 4294967294, by permd deny: your answer does not count")
	}
}

// TestNever: a no that is remembered is sent as one answer, with the width, scope and limit of
// the form, and is taken back with what it has stored.
func TestNever(t *testing.T) {
	t.Parallel()
	d := newDriver(filledDaemon())
	d.says(t, "never r1: run frob + read ./frob (in this project)", "never r2: run frob *")
	d.keys("D")
	d.says(t, "always deny", "is denied, and from now on every call with run frob read ./frob")
	d.keys("right", "down", "left", "down", "right", "right")
	d.says(t, "every call with run frob *", "where: everywhere", "ends: 8 hours")
	d.keys("enter")
	d.did(t, `questions.deny {"decisionId":"id-frob","width":"r2","scope":"user","expiresIn":28800,"via":"review"}`)
	d.says(t, "denied; remembered: deny run frob * (user); u takes it back")
}

// TestLost: a daemon that is gone is said, and looked for; what was not answered is not known as answered.
func TestLost(t *testing.T) {
	t.Parallel()
	d := newDriver(filledDaemon())
	d.f.off = true
	d.keys("a")
	d.says(t, "The daemon is not reachable", "did not say whether the answer counts")
	d.did(t)
	d.refresh()
	d.keys("a", "3", "e", "2", "4", "1")
	d.says(t, "The daemon is not reachable", "no question waits")
	d.f.off = false
	d.refresh()
	d.says(t, "[1 questions 3]")
	if strings.Contains(d.screen(), "not reachable") {
		t.Error("the daemon is back, and the page does not say so")
	}
	d.did(t)
}

// TestMany: the page reads parts of long lists, and more as the cursor comes to their ends.
func TestMany(t *testing.T) {
	t.Parallel()
	f := filledDaemon()
	for i := range 3000 {
		f.records = append(f.records, recordOf(int64(i)+200, "allow", "git status"))
		f.choices = append(f.choices, choiceOf("n"+string(rune('a'+i%26))+strings.Repeat("x", i/26), "make "+strings.Repeat("y", i%5)))
	}
	d := newDriver(f)
	d.keys("2")
	if n := len(d.m.decisions.all); n != recordsPage {
		t.Errorf("%d decisions are read at first", n)
	}
	for range 40 {
		d.keys("G")
	}
	if n := len(d.m.decisions.all); n != 3150 {
		t.Errorf("%d decisions are read", n)
	}
	d.keys("3")
	if n := len(d.m.choices.all); n != firstChoices {
		t.Errorf("%d choices are read at first", n)
	}
	d.keys("/", "n", "p", "m", "enter") // all are read to find them
	if len(d.m.choices.all) != 3003 || d.m.choices.length() != 1 {
		t.Errorf("%d choices are read, %d found", len(d.m.choices.all), d.m.choices.length())
	}
}

// TestLive: new decisions are shown to who looks at the newest ones, and move nothing under the cursor of
// others.
func TestLive(t *testing.T) {
	t.Parallel()
	d := newDriver(filledDaemon())
	add := func(seq int64) {
		d.f.records = append(d.f.records, recordOf(seq, "allow", "new"))
		d.refresh()
		d.update(newestMsg{})
		d.settle()
	}
	d.keys("2")
	add(151)
	d.says(t, "> 12:02:31")
	d.keys("j")
	at := d.m.decisions.at
	add(152)
	if d.m.decisions.at != at {
		t.Error("the cursor has moved")
	}
	d.says(t, "there are newer decisions", "> 12:02:30")
	d.keys("g")
	d.says(t, "> 12:02:32")
	d.keys("space")
	add(153)
	d.says(t, "paused", "> 12:02:32")
	d.keys("space")
	d.update(newestMsg{})
	d.settle()
	d.says(t, "> 12:02:33")
}

// TestStaleList: a list that was made before an answer does not bring its question back.
func TestStaleList(t *testing.T) {
	t.Parallel()
	d := newDriver(filledDaemon())
	d.update(tickMsg{})
	if len(d.queue) != 1 {
		t.Fatalf("%d commands", len(d.queue))
	}
	list := d.queue[0]()
	d.queue = nil
	d.keys("a")
	d.update(list)
	d.says(t, "[1 questions 2]", "> - run frob")
	d.keys("a") // is for what was answered
	d.did(t, `questions.allow {"decisionId":"id-frob","via":"review"}`)
}
