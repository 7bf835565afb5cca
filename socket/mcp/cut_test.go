package mcp

import (
	"io"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// result is the server's response to a call.
func result(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}` + "\n"
}

// wantCall checks that the server receives the call with that id or, if there is an error to expect,
// that the client receives it and the server no call.
func (w *world) wantCall(t testing.TB, id, wantError string) {
	t.Helper()
	if wantError == "" {
		w.wantServer(t, `"id":`+id+`,"method":"tools/call"`)
		return
	}
	w.wantClient(t, `"id":`+id+`,`)
	w.wantClient(t, wantError)
	if has(w, &w.server, `"tools/call"`) {
		t.Error("the call ran")
	}
}

// TestClientCut: of a call that is cut off at any byte, the server receives nothing.
func TestClientCut(t *testing.T) {
	t.Parallel()
	line := call("1", "yes") + "\n"
	for _, n := range testload.Cuts(len(line)) {
		w := newWorld(t)
		if _, err := io.WriteString(w.toGateway, line[:n]); err != nil {
			t.Fatal(err)
		}
		if err := w.toGateway.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-w.ended; err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		w.ended <- nil // for the end of the test
		if has(w, &w.server, "tools/call") {
			t.Errorf("%d bytes: the server has a call", n)
		}
	}
}

// TestServerCut: a response that is cut off at any byte is one error, which says that the call may
// have run, and the call is made once.
func TestServerCut(t *testing.T) {
	t.Parallel()
	if overHTTP {
		t.Skip("the server over HTTP is TestUpstreamVanishes")
	}
	whole := result("1")
	for _, n := range testload.Cuts(len(whole) - 1) {
		w := newWorld(t)
		w.send(t, call("1", "yes"))
		w.wantServer(t, "tools/call")
		w.serve(t, whole[:n])
		if err := w.fromServe.Close(); err != nil {
			t.Fatal(err)
		}
		w.wantClient(t, mayHaveRun)
		w.mu.Lock()
		if calls, answers := strings.Count(strings.Join(w.server, ""), "tools/call"), strings.Count(strings.Join(w.client, ""), `"id":1,`); calls != 1 || answers != 1 {
			t.Errorf("%d bytes: %d calls and %d answers", n, calls, answers)
		}
		w.mu.Unlock()
	}
}
