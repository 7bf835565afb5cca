package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// mcpYesGone: the server is gone when the person says yes. The client gets an error, the call is not
// made, in this conversation or in a later one, and the log does not say that it has run.
func mcpYesGone(t *testing.T, peers mcpPeers) {
	d := mcpDaemon(t, peers, false)
	calls := filepath.Join(t.TempDir(), "calls")
	var gone func()
	begin := func() *mcpClient {
		t.Helper()
		if !peers.overHTTP {
			pid := filepath.Join(t.TempDir(), "pid")
			gone = func() {
				text, err := os.ReadFile(pid)
				if err != nil {
					t.Fatal(err)
				}
				n, err := strconv.Atoi(strings.TrimSpace(string(text)))
				if err != nil {
					t.Fatal(err)
				}
				if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}
			return d.startMCPWith(t, calls, "once", "--", "sh", "-c", `echo $$ >"$0"; exec "$@"`, pid, os.Args[0], asMCPServer, "says it")
		}
		web := httptest.NewServer(mcpHandler(newMCPServer("says it", calls), peers.sessions))
		t.Cleanup(web.Close)
		// What is written on a connection that ends at this moment may have reached the server. Each
		// request has one of its own here, so that permd knows that the call was not sent.
		web.Config.SetKeepAlivesEnabled(false)
		gone = func() {
			web.CloseClientConnections()
			web.Close()
		}
		return d.startMCPWith(t, calls, "once", "--upstream", web.URL)
	}
	c := begin()
	wantHas(t, "control", c.call(t, "echo", "a"), "said a")
	c.before = gone
	said := c.call(t, "echo", "b")
	wantHas(t, "gone", said, "error: ")
	if peers.overHTTP && (!strings.Contains(said, "the server cannot be reached") || strings.Contains(said, "may have run")) {
		t.Errorf("the call was not sent: %s", said)
	}
	c = begin()
	c.answer = "decline"
	wantHas(t, "the call in another conversation", c.call(t, "echo", "b"), "the person has rejected this call")
	c.wantCalls(t, "echo a;")
	eventually.Holds(t, "the log has the decisions", func() bool { return len(d.records(t)) == 3 })
	for _, r := range d.records(t) {
		if r.Ran != nil || r.Ended != nil {
			t.Errorf("the log says that a call has ended: %+v", r.Ended)
		}
	}
}
