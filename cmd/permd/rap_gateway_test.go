package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// A runtime and a tool, written from the document of the Reactive Agent Protocol, with the
// real gateway and a real daemon between them.

// gateTool is a tool's server. It keeps the bodies that it gets.
type gateTool struct {
	*httptest.Server
	mu     sync.Mutex
	got    []string
	answer http.HandlerFunc // nil for "done"
}

func newGateTool(t *testing.T) *gateTool {
	t.Helper()
	tool := &gateTool{}
	tool.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		tool.mu.Lock()
		tool.got = append(tool.got, r.Method+" "+r.URL.Path+" "+string(body))
		answer := tool.answer
		tool.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "done")
	}))
	t.Cleanup(func() {
		tool.CloseClientConnections()
		tool.Close()
	})
	return tool
}

func (tool *gateTool) answers(f http.HandlerFunc) {
	tool.mu.Lock()
	defer tool.mu.Unlock()
	tool.answer = f
}

// ran returns what the tool got since it was asked last.
func (tool *gateTool) ran() []string {
	tool.mu.Lock()
	defer tool.mu.Unlock()
	got := tool.got
	tool.got = nil
	return got
}

// gateway is a running permd rap, and a runtime that uses it.
type rapGateway struct {
	*testDaemon
	t        *testing.T
	tool     *gateTool
	address  string // of the gateway
	token    string
	callback *httptest.Server
	inbox    chan map[string]any
	output   *lockedBuffer

	mu      sync.Mutex
	refuses func(w http.ResponseWriter) bool // answers a callback; may be nil
	process *exec.Cmd                        // permd rap
	at      string                           // where it listens, "" for anywhere
	bodies  map[string]string                // of callbacks, by id and type
}

// refusing sets what answers callbacks instead of the runtime, where it returns true.
func (g *rapGateway) refusing(f func(w http.ResponseWriter) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuses = f
}

const gatewayRules = `package permd.user
import rego.v2
allow contains "looking is free" if {
	input.effect.server == "warehouse"
	input.effect.tool == "list_bins"
}
allow contains "the runtime is here" if input.effect.from == "callback_url"
deny contains "not from there" if {
	input.effect.from == "callback_url"
	input.session.id == "quiet"
}
deny contains {"reason": "held", "message": "bin C-17 is under audit hold"} if input.effect.arguments.bin == "C-17"
`

func newRAPGateway(t *testing.T) *rapGateway {
	t.Helper()
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rap.rego"), gatewayRules)
	d.start(t)
	g := &rapGateway{testDaemon: d, t: t, tool: newGateTool(t), inbox: make(chan map[string]any, 64), bodies: map[string]string{}}
	g.callback = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		refused := g.refuses != nil && g.refuses(w)
		g.mu.Unlock()
		if refused {
			return
		}
		var m map[string]any
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &m); err != nil || r.URL.Query().Get("t") != rapSecret || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("callback: %v, %s", err, r.URL)
		}
		g.mu.Lock()
		g.bodies[fmt.Sprint(m["id"], " ", m["type"])] = string(body)
		g.mu.Unlock()
		g.inbox <- m
	}))
	t.Cleanup(g.callback.Close)
	g.serve(fmt.Sprintf(`name: warehouse
callbacks: [%q]
tools:
- name: list_bins
  description: List bins.
  inputSchema: {type: object, properties: {aisle: {type: string}}, additionalProperties: false}
  annotations: {readOnly: true}
  url: %s/list
- name: move_bin
  description: Move a bin.
  inputSchema: {type: object, properties: {bin: {type: string}}, required: [bin]}
  url: %s/move
`, g.callback.URL, g.tool.URL, g.tool.URL))
	return g
}

// send posts a body and returns the status and the answer.
func (g *rapGateway) send(method, path, body string) (int, string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.address+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+g.token)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// invocation is the body of an invocation in a thread, "root/pick".
func (g *rapGateway) invocation(id, thread, operation, arguments string) string {
	path := strings.Split(thread, "/")
	above, err := json.Marshal(path[:len(path)-1])
	if err != nil {
		g.t.Fatal(err)
	}
	return fmt.Sprintf(`{"operation":%q,"arguments":%s,"id":%q,"call_id":"m-%s","callback_url":%q,"group_id":%q,"thread_ancestors":%s,"user_id":"u-7"}`,
		operation, arguments, id, id, g.callback.URL+"/cb?t="+rapSecret, path[len(path)-1], above)
}

// next returns the next message to the runtime.
func (g *rapGateway) next() map[string]any {
	g.t.Helper()
	select {
	case m := <-g.inbox:
		return m
	case <-g.t.Context().Done():
		g.t.Fatal("no callback came")
	}
	return nil
}

// call invokes an operation and returns the text of its result. Questions are answered with
// the labels that begin so.
func (g *rapGateway) call(id, thread, operation, arguments string, labels ...string) string {
	g.t.Helper()
	if status, answer := g.send(http.MethodPost, "/invoke", g.invocation(id, thread, operation, arguments)); status != http.StatusOK {
		g.t.Fatalf("%s: status %d, %s", id, status, answer)
	}
	return g.result(id, labels...)
}

func (g *rapGateway) result(id string, labels ...string) string {
	g.t.Helper()
	for {
		m := g.next()
		if m["id"] != id || m["call_id"] != "m-"+id {
			g.t.Fatalf("a message for another call: %v", m)
		}
		if m["type"] == "tool_result" {
			if len(labels) > 0 {
				g.t.Errorf("%s: nobody was asked", id)
			}
			text, _ := m["text"].(string)
			return text
		}
		if len(labels) == 0 {
			g.t.Fatalf("%s: one question too many: %v", id, m)
		}
		g.answer(m, labels[0])
		labels = labels[1:]
	}
}

// answer posts the selection of a label, without the token: the address is the secret.
func (g *rapGateway) answer(m map[string]any, label string) int {
	g.t.Helper()
	choices, _ := m["choices"].([]any)
	i := slices.IndexFunc(choices, func(c any) bool { return strings.HasPrefix(c.(string), label) })
	if i < 0 {
		g.t.Fatalf("no label begins with %q: %v", label, choices)
	}
	return g.post(m["response_url"].(string), fmt.Sprintf(`{"id":%q,"selected":%d}`, m["id"], i))
}

func (g *rapGateway) post(address, body string) int {
	g.t.Helper()
	resp, err := http.Post(address, "application/json", strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestRAPGateway is the life of some threads with the gateway.
func TestRAPGateway(t *testing.T) {
	t.Parallel()
	g := newRAPGateway(t)
	status, toolset := g.send(http.MethodGet, "/.well-known/rap-toolset", "")
	var set struct {
		Name, Endpoint string
		Tools          []struct{ Name, Description string }
	}
	if err := json.Unmarshal([]byte(toolset), &set); err != nil || status != http.StatusOK || set.Name != "warehouse" || set.Endpoint != g.address+"/invoke" || len(set.Tools) != 2 {
		t.Errorf("the toolset: %d, %v, %s", status, err, toolset)
	}
	tell := func(what, want string, ran []string, id, thread, operation, arguments string, labels ...string) {
		t.Helper()
		if got := g.call(id, thread, operation, arguments, labels...); got != want {
			t.Errorf("%s: the model is told %q, want %q", what, got, want)
		}
		if got := g.tool.ran(); !slices.Equal(got, ran) {
			t.Errorf("%s: %q has run, want %q", what, got, ran)
		}
	}
	const move, no = `{"bin":"A-1"}`, "Error: permission denied: denied by the user"
	moved := []string{"POST /move " + move}
	tell("a rule allows", "done", []string{`POST /list {"aisle": "C"}`}, "1", "root", "list_bins", `{"aisle": "C"}`)
	tell("a rule denies", "Error: permission denied: bin C-17 is under audit hold", nil, "2", "root", "move_bin", `{"bin":"C-17"}`)
	tell("arguments that do not fit", "Error: invalid arguments: /aisle: must be string", nil, "3", "root", "list_bins", `{"aisle":7}`)
	tell("an operation that is not there", "Error: unknown operation", nil, "4", "root", "sell", `{}`)
	tell("an invocation that cannot be read", "Error: the invocation cannot be read: thread_ancestors holds a thread twice, or that of group_id", nil, "5", "root/root", "list_bins", `{}`)
	tell("no", no, nil, "6", "root/pick", "move_bin", move, "No")
	tell("yes once", "done", moved, "7", "root/pick", "move_bin", move, "Yes once")
	tell("asked again", no, nil, "8", "root/pick", "move_bin", move, "No")
	tell("yes for the thread", "done", moved, "9", "root/pick", "move_bin", move, "Yes (root")
	tell("below", "done", moved, "10", "root/pack/deep", "move_bin", move)
	tell("elsewhere", no, nil, "11", "other", "move_bin", move, "No")
	if status, _ := g.send(http.MethodPost, "/close_thread", `{"thread_id":"root"}`); status != http.StatusOK {
		t.Errorf("close_thread: status %d", status)
	}
	eventually.Holds(t, "what was allowed for the thread is forgotten", func() bool {
		return !strings.Contains(g.permd(t, "remember", "list"), "move_bin")
	})
	tell("closed", no, nil, "12", "root/pack/deep", "move_bin", move, "No")
	tell("never", no, nil, "13", "root/pack", "move_bin", move, "Never")
	tell("never again", no, nil, "14", "quite/another", "move_bin", move)

	eventually.Holds(t, "the decision log says how calls ended", func() bool {
		n := 0
		for _, r := range g.records(t) {
			if r.Ended != nil && r.Ended.As == "ran" {
				n++
			}
		}
		return n == 4
	})
	g.wantNowhere(t, rapSecret)
	g.kill()
	tell("without a daemon", "Error: permission could not be asked for", nil, "15", "root", "list_bins", `{}`)
	g.start(t)
	tell("with one again", "done", []string{`POST /list {}`}, "16", "root", "list_bins", `{}`)
	if strings.Contains(g.output.String(), rapSecret) {
		t.Errorf("permd rap prints the secret of an address:\n%s", g.output)
	}
}

// TestRAPGatewayUnix: on a Unix socket a runtime of this user needs no token.
func TestRAPGatewayUnix(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts the gateway once more; TestRAPGateway is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	file, path := filepath.Join(d.home, "tools.yaml"), filepath.Join(d.run, "rap", "rap.sock")
	writeFile(t, file, "name: w\ncallbacks: [http://127.0.0.1:9]\ntools: [{name: a, description: b, inputSchema: {}, url: 'http://127.0.0.1:9'}]\n")
	cmd := d.command("rap", "--config", file, "--listen", "unix:"+path)
	output := new(lockedBuffer)
	cmd.Stderr = output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "permd rap listens", func() bool { return strings.Contains(output.String(), "listening on unix:"+path) })
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	resp, err := c.Get("http://permd/.well-known/rap-toolset")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"endpoint":"http://permd/invoke"`) {
		t.Errorf("status %d, %v: %s", resp.StatusCode, err, body)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// TestRAPGatewayRefused: a command line or a configuration that cannot be served is an
// error that says why, and nothing listens.
func TestRAPGatewayRefused(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	file := filepath.Join(d.home, "tools.yaml")
	writeFile(t, file, "name: w\ncallbacks: [http://127.0.0.1:9]\ntools: [{name: a, description: b, inputSchema: {}, url: 'http://127.0.0.1:9'}]\n")
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		"--config names":      {},
		"no such file":        {"--config", file + "x"},
		"loopback":            {"--config", file, "--listen", "0.0.0.0:0"},
		"others may enter":    {"--config", file, "--listen", "unix:" + filepath.Join(open, "rap.sock")},
		"not a regular file":  {"--config", d.home},
		"reading the address": {"--config", file, "--listen", "localhost:0"},
	} {
		if out, err := d.command(append([]string{"rap"}, args...)...).CombinedOutput(); err == nil || !strings.Contains(string(out), says) {
			t.Errorf("%q: %v, want %q\n%s", args, err, says, out)
		}
	}
}
