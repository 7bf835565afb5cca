package main

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// rapGatewayCancelled: what was cancelled does not run, and a tool that runs is hung up on.
func rapGatewayCancelled(t *testing.T) {
	g := newRAPGateway(t)
	cancel := func(id string) {
		t.Helper()
		for range 2 {
			if status, _ := g.send(http.MethodPost, "/cancel_tool_call", `{"thread_id":"root","tool_call_id":"`+id+`"}`); status != http.StatusOK {
				t.Errorf("%s: status %d", id, status)
			}
		}
	}
	cancel("none")
	if status, _ := g.send(http.MethodPost, "/invoke", g.invocation("1", "root", "move_bin", moveIt)); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	m := g.next()
	cancel("1")
	want(t, "cancelled while asked", "Error: the call was cancelled", g.result("1"))
	want(t, "a late answer", http.StatusNotFound, g.answer(m, "Yes once"))
	want(t, "has run", []string(nil), g.tool.ran())
	running, gone := make(chan struct{}), make(chan struct{})
	g.tool.answers(func(_ http.ResponseWriter, r *http.Request) {
		close(running)
		select {
		case <-r.Context().Done():
			close(gone)
		case <-time.After(eventually.Limit):
		}
	})
	if status, _ := g.send(http.MethodPost, "/invoke", g.invocation("2", "root", "list_bins", `{}`)); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	<-running
	cancel("2")
	want(t, "cancelled while it runs", "Error: the call was cancelled; it may have run nevertheless", g.result("2"))
	select {
	case <-gone:
	case <-time.After(eventually.Limit):
		t.Error("the tool still waits")
	}
	// After a person's yes, too, and by the end of the thread.
	running = make(chan struct{})
	g.tool.answers(func(_ http.ResponseWriter, r *http.Request) {
		close(running)
		<-r.Context().Done()
	})
	if status, _ := g.send(http.MethodPost, "/invoke", g.invocation("3", "root", "move_bin", moveIt)); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	g.answer(g.next(), "Yes once")
	<-running
	if status, _ := g.send(http.MethodPost, "/close_thread", `{"thread_id":"root"}`); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	want(t, "closed while it runs", "Error: the call was cancelled; it may have run nevertheless", g.result("3"))
	eventually.Holds(t, "the decision log has all", func() bool {
		ended := map[string]int{}
		for _, r := range g.records(t) {
			if r.Ended != nil {
				ended[r.Ended.As]++
				if r.Ended.As == "unknown" {
					wantHas(t, "the decision log", g.permd(t, "log", "show", r.Decision.ID), "it was sent, and may have run")
				}
			}
		}
		return maps.Equal(ended, map[string]int{"cancelled": 1, "unknown": 2})
	})
}
