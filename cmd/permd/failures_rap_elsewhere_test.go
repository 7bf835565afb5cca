package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
)

// waiting returns the ids of the questions that wait for the person, once there are so many, or
// any for -1.
func (d *testDaemon) waiting(t *testing.T, n int) (ids []string) {
	t.Helper()
	eventually.Holds(t, fmt.Sprint("questions that wait: ", n), func() bool {
		var list admin.Questions
		if err := d.manage(t, admin.MethodQuestionsList, struct{}{}, &list); err != nil {
			t.Fatalf("listing the questions: %v", err)
		}
		ids = nil
		for _, q := range list.Questions {
			ids = append(ids, q.DecisionID)
		}
		return len(ids) == n || n < 0 && ids != nil
	})
	return ids
}

// allow answers a question as permd allow does. Many of its processes would take long.
func (d *testDaemon) allow(t *testing.T, id string) {
	t.Helper()
	if err := d.manage(t, admin.MethodQuestionsAllow, admin.Approval{DecisionID: id}, nil); err != nil {
		t.Fatalf("allowing %s: %v", id, err)
	}
}

// rapGatewayElsewhere: the first answer to a question counts, of permd allow or of the
// runtime. A question whose call was cancelled takes no answer.
func rapGatewayElsewhere(t *testing.T) {
	g := newRAPGateway(t)
	invoke := func(id string) map[string]any {
		t.Helper()
		if status, answer := g.send(http.MethodPost, "/invoke", g.invocation(id, "root", "move_bin", moveIt)); status != http.StatusOK {
			t.Fatalf("%s: status %d, %s", id, status, answer)
		}
		return g.next()
	}
	refuses := func(what, verb, id string) {
		t.Helper()
		if out, err := g.command(verb, id).CombinedOutput(); err == nil {
			t.Errorf("%s: permd %s says %s", what, verb, out)
		}
	}
	moved, no := []string{"POST /move " + moveIt}, "Error: permission denied: denied by the user"

	m := invoke("1")
	id := g.waiting(t, 1)[0]
	want(t, "before the answer", []string(nil), g.tool.ran())
	g.permd(t, "allow", id)
	want(t, "allowed", "done", g.result("1"))
	want(t, "has run", moved, g.tool.ran())
	want(t, "the runtime's answer then", http.StatusNotFound, g.answer(m, "No"))
	refuses("answered already", "allow", id)

	m = invoke("2")
	id = g.waiting(t, 1)[0]
	g.permd(t, "deny", id)
	want(t, "denied", no, g.result("2"))
	want(t, "the runtime's answer then", http.StatusNotFound, g.answer(m, "Yes once"))

	m = invoke("3")
	id = g.waiting(t, 1)[0]
	want(t, "the runtime's answer", http.StatusOK, g.answer(m, "No"))
	want(t, "rejected", no, g.result("3"))
	refuses("answered by the runtime", "allow", id)
	g.waiting(t, 0)

	invoke("4")
	id = g.waiting(t, 1)[0]
	if status, _ := g.send(http.MethodPost, "/cancel_tool_call", `{"thread_id":"root","tool_call_id":"4"}`); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	want(t, "cancelled", "Error: the call was cancelled", g.result("4"))
	refuses("cancelled", "allow", id)
	g.waiting(t, 0)
	want(t, "has run", []string(nil), g.tool.ran())

	// More questions than permd takes of one connection: the others are listed as those are
	// answered.
	const all = 30
	for i := range all {
		invoke(fmt.Sprint("many ", i))
	}
	for range all {
		g.allow(t, g.waiting(t, -1)[0])
	}
	for range all {
		want(t, "one of many", "done", g.next()["text"])
	}
	want(t, "have run", slices.Repeat(moved, all), g.tool.ran())

	// Both at once: one answer counts, and permd allow says whether it was its own.
	// The runtime gets the same error.
	for i := range 30 {
		id := fmt.Sprint("race ", i)
		m := invoke(id)
		question := g.waiting(t, 1)[0]
		var err error
		var status int
		var both sync.WaitGroup
		both.Go(func() { err = g.manage(t, admin.MethodQuestionsAllow, admin.Approval{DecisionID: question}, nil) })
		both.Go(func() { status = g.answer(m, "No") })
		both.Wait()
		result, ran := g.result(id), g.tool.ran()
		switch {
		case (err == nil) != (status == http.StatusNotFound) || err != nil && status != http.StatusOK:
			t.Errorf("permd allow: %v, the runtime got status %d: %q", err, status, result)
		case err == nil && (result != "done" || !slices.Equal(ran, moved)):
			t.Errorf("allowed: %q, %q has run", result, ran)
		case err != nil && (result != no || ran != nil):
			t.Errorf("rejected: %q, %q has run", result, ran)
		}
	}

	// The end of the thread and a yes at once: the yes counts if the call has run.
	for i := range 30 {
		id := fmt.Sprint("close ", i)
		m := invoke(id)
		g.waiting(t, 1)
		var status int
		var both sync.WaitGroup
		both.Go(func() { g.send(http.MethodPost, "/close_thread", `{"thread_id":"root"}`) })
		both.Go(func() { status = g.answer(m, "Yes once") })
		both.Wait()
		if result, ran := g.result(id), g.tool.ran(); status == http.StatusNotFound && (ran != nil || result == "done") {
			t.Errorf("the yes got status %d: %q, %q has run", status, result, ran)
		}
		g.waiting(t, 0)
	}

	m = invoke("5")
	id = g.waiting(t, 1)[0]
	g.kill()
	g.start(t)
	refuses("of a daemon that has ended", "allow", id)
	g.answer(m, "Yes once")
	want(t, "its result", "Error: permission could not be asked for", g.result("5"))
	want(t, "has run", []string(nil), g.tool.ran())
	if strings.Contains(g.output.String(), "panic") {
		t.Error(g.output)
	}
}
