package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/rap"
)

// rapGatewayUnreached: the person says yes, and then the tool cannot be reached. The result says so,
// a yes to one call is spent, and nothing runs later without another one.
func rapGatewayUnreached(t *testing.T) {
	g := newRAPGateway(t)
	config, err := os.ReadFile(filepath.Join(g.home, "tools.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const failed, no = "Error: the tool failed: it cannot be reached", "Error: permission denied: denied by the user"
	at := g.tool.Listener.Addr().String()
	handler := g.tool.Config.Handler
	ask := func(id, label string, before func()) string {
		t.Helper()
		if status, answer := g.send(http.MethodPost, "/invoke", g.invocation(id, "root", "move_bin", moveIt)); status != http.StatusOK {
			t.Fatalf("%s: status %d, %s", id, status, answer)
		}
		m := g.next()
		before()
		want(t, "the answer "+label, http.StatusOK, g.answer(m, label))
		return g.result(id)
	}
	want(t, "gone before the answer", failed, ask("1", "Yes once", func() {
		g.tool.CloseClientConnections()
		g.tool.Listener.Close()
	}))
	want(t, "gone, and allowed for the thread", failed, ask("2", "Yes (root", func() {}))
	g.dead("1", "root")
	ln, err := net.Listen("tcp", at)
	if err != nil {
		t.Skipf("the port was taken: %v", err)
	}
	again := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = again.Serve(ln) }()
	t.Cleanup(func() { again.Close() })
	for _, id := range []string{"1", "2"} { // a runtime that saw no answer sends them again
		if status, answer := g.send(http.MethodPost, "/invoke", g.invocation(id, "root", "move_bin", moveIt)); status != http.StatusOK {
			t.Errorf("%s again: status %d, %s", id, status, answer)
		}
		g.dead(id, "root")
	}
	want(t, "the same calls again", []string(nil), g.tool.ran())
	want(t, "a new call of another thread", no, g.call("3", "other", "move_bin", moveIt, "No"))
	want(t, "has run", []string(nil), g.tool.ran())
	want(t, "a new call of the thread", "done", g.call("4", "root", "move_bin", moveIt))
	want(t, "has run", []string{"POST /move " + moveIt}, g.tool.ran())
	ended := map[string]string{}
	for _, r := range g.records(t) {
		if r.Ended != nil && r.Answer != nil {
			ended[r.Decision.CallID] = fmt.Sprint(r.Answer.Verdict, " ", r.Ended.As)
		}
	}
	want(t, "the log", map[string]string{"1": "allow " + string(rap.Failed), "2": "allow " + string(rap.Failed)}, ended)
	// After a restart a call that was not sent may be sent, by a yes of its own.
	g.at = strings.TrimPrefix(g.address, "http://")
	g.serve(string(config))
	want(t, "after a restart", no, g.call("1", "root", "move_bin", moveIt, "No"))
	want(t, "has run", []string(nil), g.tool.ran())
}

// rapGatewayCallbacks: whatever a runtime answers to a result, it is posted again only after an error
// that may pass, three times at most, to nobody else, and the call has run once.
func rapGatewayCallbacks(t *testing.T) {
	g := newRAPGateway(t)
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	status := func(code int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Location", other.URL+"/"+rapSecret)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(c, text)
			c.Close()
		}
	}
	rows := map[string]struct {
		answer   http.HandlerFunc
		attempts int
		first    bool // only the first attempt is answered so
	}{
		"204":                 {status(204, "", ""), 1, false},
		"HTML":                {status(200, "text/html", "<html>"), 1, false},
		"10 MiB":              {status(200, "text/plain", strings.Repeat("x", 10<<20)), 1, false},
		"400":                 {status(400, "text/plain", ""), 1, false},
		"302":                 {status(302, "text/html", ""), 1, false},
		"307":                 {status(307, "text/html", ""), 1, false},
		"308":                 {status(308, "text/html", ""), 1, false},
		"500 once":            {status(500, "text/html", "<html>"), 2, true},
		"503 for ever":        {status(503, "text/html", "<html>"), 4, false},
		"nothing once":        {raw(""), 2, true},
		"nothing for ever":    {raw(""), 4, false},
		"half an answer once": {raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), 2, true},
		"no HTTP, once":       {raw("SSH-2.0-x\r\n"), 2, true},
		"slow once":           {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 2, true},
	}
	var mu sync.Mutex
	attempts := map[string][]string{} // bodies, by the id of the call
	callback := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		var m struct{ ID string }
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		mu.Lock()
		attempts[m.ID] = append(attempts[m.ID], string(body))
		n := len(attempts[m.ID])
		mu.Unlock()
		if row := rows[m.ID]; n == 1 || !row.first {
			row.answer(to, r)
		}
	}))
	defer callback.Close()
	config, err := os.ReadFile(filepath.Join(g.home, "tools.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	g.serve(strings.Replace(string(config), g.callback.URL, callback.URL, 1))
	own := g.callback.URL
	g.callback.URL = callback.URL // for invocations
	defer func() { g.callback.URL = own }()
	for id := range rows {
		if status, answer := g.send(http.MethodPost, "/invoke", g.invocation(id, "root", "list_bins", `{}`)); status != http.StatusOK {
			t.Fatalf("%s: status %d, %s", id, status, answer)
		}
	}
	for id, row := range rows {
		g.dead(id, "root")
		mu.Lock()
		got := attempts[id]
		mu.Unlock()
		if len(got) != row.attempts {
			t.Errorf("%s: posted %d times, want %d", id, len(got), row.attempts)
		}
		for _, body := range got {
			if body != got[0] || !strings.Contains(body, `"text":"done"`) {
				t.Errorf("%s: posted %q", id, got)
			}
		}
	}
	want(t, "calls that have run", len(rows), len(g.tool.ran()))
	want(t, "requests elsewhere", 0, int(elsewhere.Load()))
	eventually.Holds(t, "the log says that all have run", func() bool {
		n := 0
		for _, r := range g.records(t) {
			if r.Ended != nil && r.Ended.As == string(rap.Ran) {
				n++
			}
		}
		return n == len(rows)
	})
	if said := g.output.String(); !strings.Contains(said, "a result could not be delivered") || strings.Contains(said, rapSecret) {
		t.Errorf("permd rap says %s", said)
	}
}

// rapGatewayUnasked: a question that the runtime does not take ends with an error as the result, and
// nothing runs.
func rapGatewayUnasked(t *testing.T) {
	g := newRAPGateway(t)
	first := true
	g.refusing(func(w http.ResponseWriter) bool {
		refused := first
		if first = false; refused {
			w.WriteHeader(http.StatusForbidden)
		}
		return refused
	})
	want(t, "the result", "Error: the user could not be asked", g.call("1", "root", "move_bin", moveIt))
	g.waiting(t, 0)
	want(t, "has run", []string(nil), g.tool.ran())
	want(t, "the next call", "done", g.call("2", "root", "move_bin", moveIt, "Yes once"))
}

// TestRAPGatewayCredential: a tool's token may be one that the service manager hands over, in a folder
// that only the service can read. The tool gets it, and nobody else.
func TestRAPGatewayCredential(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts the gateway once more; TestRAPGateway is the quick one")
	}
	t.Parallel()
	g := newRAPGateway(t)
	const token = "NOT-A-REAL-TOKEN-12"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bins-token"), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "bins-token"), 0o440); err != nil { // as systemd shows its access list
		t.Fatal(err)
	}
	config := fmt.Sprintf(`name: warehouse
callbacks: [%q]
tools:
- {name: list_bins, description: List., inputSchema: {type: object}, url: %q, credential: bins-token}
`, g.callback.URL, g.tool.URL)
	file := filepath.Join(g.home, "credential.yaml")
	writeFile(t, file, config)
	if out, err := g.command("rap", "--config", file, "--listen", "127.0.0.1:0").CombinedOutput(); err == nil || !strings.Contains(string(out), "CREDENTIALS_DIRECTORY") {
		t.Errorf("without a folder of credentials: %v\n%s", err, out)
	}
	g.env = append(g.env, "CREDENTIALS_DIRECTORY="+dir)
	g.serve(config)
	var got atomic.Pointer[[]string]
	g.tool.answers(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header["Authorization"]
		got.Store(&sent)
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "done")
	})
	want(t, "the result", "done", g.call("1", "root", "list_bins", `{}`))
	want(t, "the tool got", []string{"Bearer " + token}, *got.Load())
	g.wantNowhere(t, token)
	if strings.Contains(g.output.String(), token) {
		t.Errorf("permd rap says %s", g.output)
	}
}
