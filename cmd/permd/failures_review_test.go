package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/client"
)

// TestFailuresReview is [TestFailures] for the page in a terminal.
func TestFailuresReview(t *testing.T) {
	failures(t, []failure{
		{"daemon killed while permd review is open", reviewedWhileKilled},
	})
}

// reviewedWhileKilled kills the daemon while the page shows a question of it: the page says so, answers
// nothing, and shows the questions of the next daemon.
func reviewedWhileKilled(t *testing.T) {
	d := startDaemon(t)
	l := &late{t, d, d.dial(t), projectOf(t)}
	l.write("run.sh", "echo 1\n")
	ask := func(command string) <-chan waitedAnswer {
		t.Helper()
		l.session(l.project, "default")
		return l.waits(l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", command, 1))))
	}
	got := ask("sh run.sh before")
	page := terminalOf(t, d, 80, 24, nil, "review")
	page.shows("> ", "run sh run.sh before", "a allow once")
	d.kill()
	if a := <-got; a.err == nil {
		t.Errorf("the client hears %+v of a daemon that was killed", a)
	}
	page.shows("The daemon is not reachable", "[1 questions 0]")
	page.keys("a")
	page.shows("nothing was answered")
	d.start(t)
	eventually.Holds(t, "the page has seen that the daemon is back", func() bool { return !strings.Contains(page.screen(), "is not reachable; trying") }, page.screen)
	var err error
	if l.c, err = client.Dial(t.Context(), d.socket(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.c.Close() })
	got = ask("sh run.sh after")
	page.shows("> ", "run sh run.sh after", "a allow once")
	page.keys("a")
	if a := <-got; a.err != nil || a.Answer != "allow" {
		t.Errorf("the client hears %+v", a)
	}
}
