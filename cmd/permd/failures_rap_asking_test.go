package main

import (
	"fmt"
	"net/http"
	"testing"
)

// rapGatewayManyAsk: questions that wait take all places for questions, and none of those that
// other calls need. A thread has its share of them. What is one too many has a result, and has not
// run.
func rapGatewayManyAsk(t *testing.T) {
	g := newRAPGateway(t)
	n := 0
	ask := func(thread string) string {
		t.Helper()
		n++
		if status, answer := g.send(http.MethodPost, "/invoke", g.invocation(fmt.Sprint(n), thread, "move_bin", moveIt)); status != http.StatusOK {
			t.Fatalf("%s: status %d, %s", thread, status, answer)
		}
		m := g.next()
		if m["type"] == "user_choice" {
			return "a question"
		}
		text, _ := m["text"].(string)
		return text
	}
	closeThread := func(thread string, waiting int) {
		t.Helper()
		if status, answer := g.send(http.MethodPost, "/close_thread", fmt.Sprintf(`{"thread_id":%q}`, thread)); status != http.StatusOK {
			t.Fatalf("status %d, %s", status, answer)
		}
		for range waiting {
			want(t, "a question of a thread that is closed", "Error: the call was cancelled", g.next()["text"].(string))
		}
	}
	const share, threads, tooMany = 64, 3, "Error: too many calls wait for the user, so this one was not asked about and has not run"
	for i := range threads {
		thread := fmt.Sprint("t", i)
		for range share {
			if got := ask(thread); got != "a question" {
				t.Fatalf("%s: %s", thread, got)
			}
		}
		want(t, "more of the thread", tooMany, ask(thread))
		want(t, "an allowed call of the thread", "done", g.call("ok "+thread, thread, "list_bins", `{}`))
	}
	want(t, "another thread", tooMany, ask("other"))
	want(t, "an allowed call of another thread", "done", g.call("ok other", "other", "list_bins", `{}`))
	closeThread("t0", share)
	want(t, "another thread, when there are places again", "a question", ask("other"))
	closeThread("other", 1)
	closeThread("t1", share)
	closeThread("t2", share)
	g.waiting(t, 0)
	for _, ran := range g.tool.ran() {
		want(t, "has run", "POST /list {}", ran)
	}
}
