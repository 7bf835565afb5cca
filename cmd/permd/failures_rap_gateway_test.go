package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

const moveIt = `{"bin":"A-1"}`

// rapGatewayUnreadable sends what is no invocation, in every way that a peer can.
func rapGatewayUnreadable(t *testing.T) {
	g := newRAPGateway(t)
	good := g.invocation("1", "root", "list_bins", `{}`)
	control := func(id string) {
		t.Helper()
		if got := g.call(id, "root", "list_bins", `{}`); got != "done" {
			t.Fatalf("control: %q", got)
		}
		g.tool.ran()
	}
	control("control 1")
	for what, tt := range map[string]struct {
		body   string
		status int
	}{
		"nothing":             {"", 400},
		"half a message":      {good[:len(good)/2], 400},
		"two messages":        {good + good, 400},
		"a list":              {"[" + good + "]", 400},
		"a duplicate":         {strings.Replace(good, `{"operation":"list_bins"`, `{"operation":"move_bin","operation":"list_bins"`, 1), 400},
		"one in an argument":  {strings.Replace(good, `"arguments":{}`, `"arguments":{"aisle":"C","aisle":"D"}`, 1), 400},
		"one in another case": {strings.Replace(good, `"operation"`, `"Operation"`, 1), 400},
		"bad UTF-8":           {strings.Replace(good, `"u-7"`, "\"\xff\"", 1), 400},
		"deep":                {strings.Replace(good, `"arguments":{}`, `"arguments":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000), 1), 400},
		"an id of a number":   {strings.Replace(good, `"id":"1"`, `"id":1`, 1), 400},
		"an id of null":       {strings.Replace(good, `"id":"1"`, `"id":null`, 1), 400},
		"a thread of a list":  {strings.Replace(good, `"group_id":"root"`, `"group_id":["root"]`, 1), 400},
		"a long id":           {strings.Replace(good, `"id":"1"`, `"id":"`+strings.Repeat("x", 1025)+`"`, 1), 400},
		"call_id of a number": {strings.Replace(good, `"call_id":"m-1"`, `"call_id":1`, 1), 400},
		"no callback":         {strings.Replace(good, `"callback_url"`, `"callback_url_"`, 1), 400},
		"another callback":    {strings.Replace(good, g.callback.URL, g.tool.URL, 1), 403},
		"the metadata's":      {strings.Replace(good, g.callback.URL, "http://169.254.169.254", 1), 403},
		"with a user":         {strings.Replace(good, "http://", "http://me:x@", 1), 400},
		"a relative one":      {strings.Replace(good, g.callback.URL, "", 1), 400},
	} {
		if status, answer := g.send(http.MethodPost, "/invoke", tt.body); status != tt.status || strings.Contains(answer, rapSecret) {
			t.Errorf("%s: status %d, want %d: %s", what, status, tt.status, answer)
		}
	}
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/invoke", 405}, {"POST", "/.well-known/rap-toolset", 405}, {"POST", "/invoke?x", 404}, {"POST", "/", 404}, {"POST", "/user_choice_response/", 404},
		{"POST", "/user_choice_response/" + strings.Repeat("A", 26), 404},
	} {
		if status, answer := g.send(tt.method, tt.path, `{"id":"1","selected":0}`); status != tt.status {
			t.Errorf("%s %s: status %d, want %d: %s", tt.method, tt.path, status, tt.status, answer)
		}
	}
	token := g.token
	for what, wrong := range map[string]string{"no token": "", "a part of it": token[:len(token)-1], "another": strings.Repeat("x", len(token))} {
		g.token = wrong
		for _, path := range []string{"/invoke", "/close_thread", "/cancel_tool_call", "/tool_call_status"} {
			if status, _ := g.send(http.MethodPost, path, good); status != http.StatusUnauthorized {
				t.Errorf("%s, %s: status %d", what, path, status)
			}
		}
	}
	g.token = token
	// A message of 10 MiB is refused by its length: a peer that sends on may not read why.
	long, err := net.Dial("tcp", strings.TrimPrefix(g.address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	fmt.Fprintf(long, "POST /invoke HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		strings.TrimPrefix(g.address, "http://"), token, 10<<20)
	status := make([]byte, len("HTTP/1.1 413"))
	if _, err := io.ReadFull(long, status); err != nil || string(status) != "HTTP/1.1 413" {
		t.Errorf("10 MiB: %v, %q", err, status)
	}
	// A peer that vanishes at any byte.
	request := fmt.Sprintf("POST /invoke HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		strings.TrimPrefix(g.address, "http://"), token, len(good), good)
	for n := range len(request) - 1 {
		c, err := net.Dial("tcp", strings.TrimPrefix(g.address, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, request[:n]); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	control("control 2")
	if got := g.tool.ran(); got != nil {
		t.Errorf("%q has run", got)
	}
	select {
	case m := <-g.inbox:
		t.Errorf("a callback: %v", m)
	default:
	}
}

// rapGatewayTool: whatever a tool does, its call has one result, and nobody else is sent
// its arguments.
func rapGatewayTool(t *testing.T) {
	g := newRAPGateway(t)
	other := newGateTool(t)
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(c, text)
			c.Close()
		}
	}
	typed := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		}
	}
	const failed, may = "Error: the tool failed: ", "; it may have run nevertheless"
	for i, tt := range []struct {
		what   string
		answer http.HandlerFunc
		want   string
	}{
		{"JSON", typed("application/json", `{"bins":[1]}`), `{"bins":[1]}`},
		{"nothing at all", typed("text/plain", ""), ""},
		{"an error", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "trace", 500) }, failed + "it answered with status 500" + may},
		{"not found", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "trace", 404) }, failed + "it answered with status 404" + may},
		{"HTML", typed("text/html", "<html>sign in</html>"), failed + "its answer is neither JSON nor plain text" + may},
		{"broken JSON", typed("application/json", `{"bins":`), failed + "its answer is no JSON" + may},
		{"twice the same member", typed("application/json", `{"a":1,"a":2}`), failed + "its answer is no JSON" + may},
		{"bad UTF-8", typed("text/plain", "\xff"), failed + "its answer is no UTF-8" + may},
		{"too much", typed("text/plain", strings.Repeat("x", 9<<20)), failed + "its answer is longer than 8388608 bytes; it may have run nevertheless"},
		{"no answer", raw(""), failed + "the connection broke before its whole answer came; it may have run nevertheless"},
		{"half an answer", raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nhalf"), failed + "the connection broke before its whole answer came; it may have run nevertheless"},
		{"no HTTP", raw("SSH-2.0-x\r\n"), failed + "the connection broke before its whole answer came; it may have run nevertheless"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, failed + "it redirects (status 307); it may have run nevertheless"},
	} {
		g.tool.answers(tt.answer)
		if got := g.call(fmt.Sprint("t", i), "root", "list_bins", `{}`); got != tt.want {
			t.Errorf("%s: the model is told %.200q, want %q", tt.what, got, tt.want)
		}
		if got := g.tool.ran(); len(got) != 1 {
			t.Errorf("%s: %q has run", tt.what, got)
		}
	}
	if got := other.ran(); got != nil {
		t.Errorf("another server got %q", got)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("NOT-A-REAL-TOKEN-9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.serve(fmt.Sprintf(`name: warehouse
callbacks: [%q]
tools:
- {name: list_bins, description: List., inputSchema: {type: object}, url: %q, token_file: %q, timeout: 1s}
`, g.callback.URL, g.tool.URL, token))
	for i, kind := range []string{"text/plain", "application/json"} {
		for j, form := range []string{"%s", "%q", `{"a":[%q]}`, `{%q:1}`, "%x"} {
			g.tool.answers(func(w http.ResponseWriter, r *http.Request) {
				typed(kind, fmt.Sprintf(form, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))(w, r)
			})
			// What is no JSON is refused before.
			want := "Error: the tool has run, and its answer is withheld since it holds a credential"
			if got := g.call(fmt.Sprint("k", i, j), "root", "list_bins", `{}`); got != want && got != failed+"its answer is no JSON"+may {
				t.Errorf("%s of %s that holds the token: %q", form, kind, got)
			}
		}
	}
	hangs := make(chan struct{})
	defer close(hangs)
	g.tool.answers(func(http.ResponseWriter, *http.Request) { <-hangs })
	if got := g.call("slow", "root", "list_bins", `{}`); got != failed+"it did not answer in time; it may have run nevertheless" {
		t.Errorf("a slow tool: %q", got)
	}
	g.tool.CloseClientConnections()
	g.tool.Listener.Close()
	if got := g.call("gone", "root", "list_bins", `{}`); got != failed+"it cannot be reached" {
		t.Errorf("a tool that is gone: %q", got)
	}
}

// rapGatewayCallback: a result is posted again after an error that may pass, and not after
// another; the call runs once.
func rapGatewayCallback(t *testing.T) {
	g := newRAPGateway(t)
	var others []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { others = append(others, r.URL.Path) }))
	defer other.Close()
	attempts := 0
	g.refusing(func(w http.ResponseWriter) bool {
		if attempts++; attempts == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
		return attempts == 1
	})
	if got := g.call("1", "root", "list_bins", `{}`); got != "done" {
		t.Errorf("%q", got)
	}
	for id, refuses := range map[string]http.HandlerFunc{
		"refused": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"redirected": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
	} {
		g.refusing(func(w http.ResponseWriter) bool {
			refuses(w, httptest.NewRequest(http.MethodPost, "/", nil))
			return true
		})
		if status, _ := g.send(http.MethodPost, "/invoke", g.invocation(id, "root", "move_bin", moveIt)); status != http.StatusOK {
			t.Errorf("%s: status %d", id, status)
		}
		g.dead(id, "root")
	}
	g.refusing(func(http.ResponseWriter) bool { return false })
	if got := g.tool.ran(); len(got) != 1 || len(others) != 0 {
		t.Errorf("%q has run, and another server got %q", got, others)
	}
	// Nothing at all is sent to an address that a rule denies.
	if status, _ := g.send(http.MethodPost, "/invoke", g.invocation("quiet", "quiet", "list_bins", `{}`)); status != http.StatusOK {
		t.Errorf("quiet: status %d", status)
	}
	g.dead("quiet", "quiet")
	want(t, "has run", []string(nil), g.tool.ran())
	select {
	case m := <-g.inbox:
		t.Errorf("it is told %v", m)
	default:
	}
	want(t, "questions that wait", 0, strings.Count(g.permd(t, "allow"), "move_bin"))
}

// dead waits until the gateway says that a call has no result to come.
func (g *rapGateway) dead(id, thread string) {
	g.t.Helper()
	eventually.Holds(g.t, "the call "+id+" is finished", func() bool {
		status, answer := g.send(http.MethodPost, "/tool_call_status", fmt.Sprintf(`{"thread_id":%q,"tool_call_id":%q}`, thread, id))
		return status == http.StatusOK && strings.Contains(answer, `{"alive":false}`)
	})
}

// rapGatewayAgain: no call runs twice, and a question takes one answer.
func rapGatewayAgain(t *testing.T) {
	g := newRAPGateway(t)
	body := g.invocation("1", "root", "list_bins", `{}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if status, answer := g.send(http.MethodPost, "/invoke", body); status != http.StatusOK {
				t.Errorf("status %d, %s", status, answer)
			}
		})
	}
	wg.Wait()
	want(t, "the result", "done", g.result("1"))
	g.dead("1", "root")
	if status, _ := g.send(http.MethodPost, "/invoke", body); status != http.StatusOK {
		t.Errorf("once more: status %d", status)
	}
	if status, _ := g.send(http.MethodPost, "/invoke", g.invocation("1", "root", "list_bins", `{"aisle":"D"}`)); status != http.StatusBadRequest {
		t.Errorf("another call of that id: status %d", status)
	}
	want(t, "has run", []string{"POST /list {}"}, g.tool.ran())

	if status, _ := g.send(http.MethodPost, "/invoke", g.invocation("2", "root", "move_bin", moveIt)); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	m := g.next()
	address, _ := m["response_url"].(string)
	for _, wrong := range []string{
		`{"id":"1","selected":3}`, `{"id":2,"selected":3}`, `{"id":"2"}`, `{"id":"2","selected":"1"}`, `{"id":"2","selected":1.5}`, `{"id":"2","selected":null}`, `[]`, ``,
		`{"id":"2","selected":1,"selected":1}`, `{"id":"2","Selected":1}`,
	} {
		if status := g.post(address, wrong); status != http.StatusBadRequest {
			t.Errorf("%s: status %d", wrong, status)
		}
	}
	if status := g.post(address+"x", `{"id":"2","selected":1}`); status != http.StatusNotFound {
		t.Errorf("another secret: status %d", status)
	}
	want(t, "before the answer", []string(nil), g.tool.ran())
	want(t, "the answer", http.StatusOK, g.answer(m, "Yes once"))
	want(t, "a second answer", http.StatusNotFound, g.answer(m, "Yes once"))
	want(t, "the result", "done", g.result("2"))
	want(t, "a third answer", http.StatusNotFound, g.answer(m, "Yes (root"))
	want(t, "has run", []string{"POST /move " + moveIt}, g.tool.ran())

	if status, _ := g.send(http.MethodPost, "/invoke", g.invocation("3", "root", "move_bin", moveIt)); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	address, _ = g.next()["response_url"].(string)
	want(t, "an index that is none", http.StatusOK, g.post(address, `{"id":"3","selected":99}`))
	want(t, "its result", "Error: the selection is none of the choices", g.result("3"))
	want(t, "has run", []string(nil), g.tool.ran())
}

// rapGatewayGone: an answer that permd does not get lets nothing run, and a yes for a thread
// ends with the daemon.
func rapGatewayGone(t *testing.T) {
	g := newRAPGateway(t)
	want(t, "yes for the thread", "done", g.call("1", "root", "move_bin", moveIt, "Yes (root"))
	if status, _ := g.send(http.MethodPost, "/invoke", g.invocation("2", "other", "move_bin", moveIt)); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	m := g.next()
	g.tool.ran()
	g.kill()
	g.answer(m, "Yes once")
	want(t, "its result", "Error: permission could not be asked for", g.result("2"))
	g.start(t)
	want(t, "after a restart", "Error: permission denied: denied by the user", g.call("3", "root", "move_bin", moveIt, "No"))
	if got := g.tool.ran(); !slices.Equal(got, nil) {
		t.Errorf("%q has run", got)
	}
}
