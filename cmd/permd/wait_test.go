package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// waitedAnswer is what a wait has returned.
type waitedAnswer struct {
	*client.WaitResult
	err error
}

// waits waits for the answer to a question, from the time at which permd allow lists it.
func (l *late) waits(id string) <-chan waitedAnswer {
	l.t.Helper()
	got := make(chan waitedAnswer, 1)
	go func() {
		r, err := client.Wait(l.t.Context(), l.c, id, 5*time.Minute)
		got <- waitedAnswer{r, err}
	}()
	eventually.Holds(l.t, "the question waits", func() bool {
		return slices.ContainsFunc(l.open(), func(q admin.Question) bool { return q.DecisionID == id && !q.Until.IsZero() }) || len(got) > 0
	})
	return got
}

// open returns the questions that wait.
func (l *late) open() []admin.Question {
	l.t.Helper()
	var list admin.Questions
	if err := l.d.manage(l.t, admin.MethodQuestionsList, struct{}{}, &list); err != nil {
		l.t.Fatal(err)
	}
	return list.Questions
}

// waited is chosen by a person at a terminal, while the client waits.
func (l *late) waited(method, params string, args ...any) func() bool {
	l.t.Helper()
	id := l.question(l.say(method, params, args...))
	got := l.waits(id)
	return func() bool {
		out, err := l.d.command("allow", id).CombinedOutput()
		a := <-got
		if yes := a.err == nil && a.Answer == "allow"; yes != (err == nil) {
			l.t.Errorf("permd allow says %v %s; the client hears %+v", err, out, a)
		}
		return err == nil
	}
}

// TestWait: a client without a person waits, and a person answers in a terminal.
func TestWait(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	l := &late{t, d, d.dial(t), projectOf(t)}
	l.write("run.sh", "echo 1\n")
	l.session(l.project, "default")
	ask := func() string {
		t.Helper()
		return l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", "sh run.sh", 1)))
	}
	allow := func(args ...string) string {
		t.Helper()
		out, err := d.command(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("permd %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	hears := func(got <-chan waitedAnswer, want string) *client.WaitResult {
		t.Helper()
		a := <-got
		if a.err != nil || a.Answer != want {
			t.Fatalf("the client hears %+v, want %s", a, want)
		}
		return a.WaitResult
	}

	id := ask()
	if _, err := d.command("allow", id).CombinedOutput(); err == nil {
		t.Error("a question that nobody waits for is allowed elsewhere")
	}
	got := l.waits(id)
	if list := allow("allow"); !strings.Contains(list, id) || !strings.Contains(list, "waits until") || !strings.Contains(list, "claude-agent-acp") || !strings.Contains(list, "--width") {
		t.Errorf("permd allow lists\n%s", list)
	}
	if out := allow("allow", id); !strings.Contains(out, "allowed: this call only, so that the next one asks again; the answer was handed to the client that waited\n") {
		t.Errorf("permd allow says %s", out)
	}
	hears(got, "allow")
	if len(l.open()) != 0 {
		t.Error("the question waits on")
	}
	if _, err := l.say("permd/choose", `{"decisionId":%q,"verdict":"allow"}`, id); err == nil {
		t.Error("it was answered twice")
	}

	id = ask()
	got = l.waits(id)
	if out := allow("deny", id); !strings.Contains(out, "denied") {
		t.Errorf("permd deny says %s", out)
	}
	hears(got, "deny")

	// The client's own person answers: the wait ends without another answer.
	id = ask()
	got = l.waits(id)
	if _, err := l.say("permd/choose", `{"decisionId":%q,"verdict":"deny"}`, id); err != nil {
		t.Fatal(err)
	}
	hears(got, "none")

	// Nobody answers: the question is open still.
	id = ask()
	if r, err := client.Wait(t.Context(), l.c, id, time.Second); err != nil || r.Answer != "none" {
		t.Fatalf("%+v, %v", r, err)
	}
	got = l.waits(id)
	if _, err := l.say("permd/wait", `{"decisionId":%q,"seconds":5}`, id); err == nil {
		t.Error("two requests wait for one answer")
	}
	// The session ends, and with it the question.
	if _, err := l.say("permd/close", `{"sessionId":"s1"}`); err != nil {
		t.Fatal(err)
	}
	hears(got, "none")

	// An answer that is remembered.
	l.session(l.project, "default")
	id = ask()
	got = l.waits(id)
	if out := allow("allow", id, "--width", "w1"); !strings.Contains(out, "remembered:") || !strings.Contains(out, "was handed") {
		t.Errorf("permd allow says %s", out)
	}
	if r := hears(got, "allow"); len(r.Stored) != 1 {
		t.Errorf("the client hears of %+v", r.Stored)
	}
	got2, err := l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", "sh run.sh", 1))
	if err != nil || !strings.Contains(got2, `"verdict":"allow"`) {
		t.Errorf("the next call: %s, %v", got2, err)
	}

	// The client is gone, and so is the question.
	l.c = d.dial(t)
	l.session(l.project, "default")
	id = l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall))
	l.waits(id)
	if err := l.c.Close(); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the question of a client that is gone is not listed", func() bool { return len(l.open()) == 0 })

	// The daemon ends at once.
	l.c = d.dial(t)
	l.session(l.project, "default")
	id = l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall))
	got = l.waits(id)
	if err := d.stop(t); err != nil {
		t.Error(err)
	}
	if a := <-got; a.err == nil && a.Answer != "none" {
		t.Errorf("the daemon ended, and the client hears %+v", a)
	}
}

// TestManyWaits: requests that wait for a person delay no others, of their connection or of
// another one, and a client that goes away waits no longer.
func TestManyWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for many waits; TestWait is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := projectOf(t)
	const each = 16 // maxConnWaits of socket/native
	var all []*late
	for range 4 {
		l := &late{t, d, d.dial(t), project}
		l.session(project, "default")
		for i := range each {
			id := l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "data", fmt.Sprint("data", i), 1)))
			go func() { _, _ = client.Wait(t.Context(), l.c, id, time.Minute) }() // the connection is closed
		}
		all = append(all, l)
	}
	eventually.Holds(t, "all wait", func() bool { return len(all[0].open()) == each*len(all) })
	for _, l := range append(all, &late{t, d, d.dial(t), project}) {
		got, err := l.say("permd/decide", `{"calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", "echo a", 1))
		if err != nil || !strings.Contains(got, `"verdict":"allow"`) {
			t.Fatalf("another request: %s, %v", got, err)
		}
	}
	id := all[0].question(all[0].say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall))
	if got, err := all[0].say("permd/wait", `{"decisionId":%q,"seconds":60}`, id); err == nil || !strings.Contains(err.Error(), "at most 16") {
		t.Errorf("one more waits: %s, %v", got, err)
	}
	for _, l := range all {
		if err := l.c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	eventually.Holds(t, "nothing waits", func() bool { return len(all[0].open()) == 0 })
}

// TestWaitRefused: what cannot be waited for is refused at once.
func TestWaitRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon; TestWait is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	l := &late{t, d, d.dial(t), projectOf(t)}
	l.session(l.project, "default")
	id := l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall))
	for name, params := range map[string]string{
		"no id":      `{"seconds":5}`,
		"no limit":   `{"decisionId":"` + id + `"}`,
		"no time":    `{"decisionId":"` + id + `","seconds":0}`,
		"too long":   `{"decisionId":"` + id + `","seconds":3601}`,
		"a fraction": `{"decisionId":"` + id + `","seconds":1.5}`,
		"not asked":  `{"decisionId":"x","seconds":5}`,
	} {
		if got, err := l.say("permd/wait", "%s", params); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
	// On another connection nothing of it is known.
	other := &late{t, d, d.dial(t), l.project}
	if got, err := other.say("permd/wait", `{"decisionId":%q,"seconds":5}`, id); err == nil {
		t.Errorf("another connection waits: %s", got)
	}
}
