package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/permd/permd/internal/eventually"
)

// serveMCP serves an MCP server over HTTP, and returns its address.
func serveMCP(t *testing.T, s *mcp.Server, sessions bool) string {
	t.Helper()
	web := httptest.NewServer(mcpHandler(s, sessions))
	t.Cleanup(web.Close)
	return web.URL + "/mcp"
}

func mcpHandler(s *mcp.Server, sessions bool) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: !sessions})
}

// mcpUpstreamGone has a server that is gone before, and in the middle of, a call.
func mcpUpstreamGone(t *testing.T) {
	d := mcpDaemon(t, mcpPeers{overHTTP: true, sessions: true}, true)
	calls := filepath.Join(t.TempDir(), "calls")
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newMCPServer("says it", calls) }, nil)
	var breaks atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if breaks.Load() && r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"jsonrpc\":")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, r)
	}))
	defer web.Close()
	c := d.startMCPWith(t, calls, "once", "--upstream", web.URL)
	wantHas(t, "control", c.call(t, "echo", "a"), "said a")
	breaks.Store(true)
	wantHas(t, "in the middle", c.call(t, "echo", "b"), "error: ", "ended without a response", "it may have run")
	web.CloseClientConnections()
	web.Close()
	wantHas(t, "gone", c.call(t, "echo", "c"), "error: ", "the server cannot be reached")
	c.wantCalls(t, "echo a;")
}

// mcpUpstreamSession has a server that no longer knows the session: the conversation ends, and no
// call is made in another one.
func mcpUpstreamSession(t *testing.T) {
	d := mcpDaemon(t, mcpPeers{overHTTP: true, sessions: true}, true)
	calls := filepath.Join(t.TempDir(), "calls")
	var h atomic.Pointer[mcp.StreamableHTTPHandler]
	begin := func() {
		h.Store(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newMCPServer("says it", calls) }, nil))
	}
	begin()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Load().ServeHTTP(w, r) }))
	defer web.Close()
	c := d.startMCPWith(t, calls, "once", "--upstream", web.URL)
	wantHas(t, "control", c.call(t, "echo", "a"), "said a")
	begin()
	wantHas(t, "another server", c.call(t, "echo", "b"), "error: ")
	if err := c.session.Wait(); err == nil {
		t.Error("permd mcp ended as if nothing had happened")
	}
	c.wantCalls(t, "echo a;")
}

// TestMCPUpstreamToken: the token is read from a file that nobody else can read, or from the
// environment, and shown nowhere.
func TestMCPUpstreamToken(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts daemon and gateway for where a token is read; TestMCPHeaders is the quick one over HTTP")
	}
	t.Parallel()
	const token = "canary-token-7"
	d := newTestDaemon(t)
	d.start(t)
	got := make(chan string, 10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer web.Close()
	file := filepath.Join(t.TempDir(), "token")
	run := func(flags ...string) string {
		t.Helper()
		cmd := d.command(append([]string{"mcp", "--name", "x", "--upstream", web.URL + "/mcp?key=canary-key"}, flags...)...)
		cmd.Env = append(cmd.Env, "TEST_TOKEN="+token)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var out lockedBuffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		eventually.Holds(t, "it answers, or says why not", func() bool {
			return strings.Contains(out.String(), `"id":1,`) || strings.Contains(out.String(), "token")
		})
		in.Close()
		_ = cmd.Wait()
		if strings.Contains(out.String(), "canary") {
			t.Errorf("it says %s", out.String())
		}
		return out.String()
	}
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"--bearer-file", file}, {"--bearer-env", "TEST_TOKEN"}} {
		wantHas(t, flags[0], run(flags...), "HTTP 401", "--bearer-file")
		if header := <-got; header != "Bearer "+token {
			t.Errorf("%s: the server got %q", flags[0], header)
		}
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	wantHas(t, "a file that others can read", run("--bearer-file", file), "can be read or changed by others")
	wantHas(t, "no file", run("--bearer-file", file+"2"), "reading the bearer token")
	wantHas(t, "a folder", run("--bearer-file", filepath.Dir(file)), "not a regular file")
	wantHas(t, "an empty variable", run("--bearer-env", "TEST_TOKEN_2"), "reading the bearer token", "it is empty")
	if len(got) != 0 {
		t.Error("the server was asked without a token")
	}
}

// TestMCPUpstreamUsage: what cannot be the address of a server is an error that does not repeat
// it.
func TestMCPUpstreamUsage(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	for _, tt := range []struct{ line, says string }{
		{"--upstream https://u:canary@x.example/", "has a user or a password"},
		{"--upstream http://canary.example/", "only for servers of this machine"},
		{"--upstream canary", "has no host"},
		{"--upstream https://canary\x7f/", "is no address"},
		{"--upstream https://x.example -- true", "in the place of the server's command"},
		{"--bearer-env X -- true", "are for --upstream"},
		{"--upstream https://x.example --bearer-env X --bearer-file y", "both given"},
	} {
		cmd := d.command(append([]string{"mcp", "--name", "x"}, strings.Fields(tt.line)...)...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), tt.says) || strings.Contains(string(out), "canary") {
			t.Errorf("%s: %v\n%s", tt.line, err, out)
		}
	}
}
