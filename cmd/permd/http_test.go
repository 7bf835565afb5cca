package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// httpClient asks a daemon over HTTP, as a third-party program does.
type httpClient struct {
	url, token string
	client     *http.Client
}

// listensHTTP sets where a daemon that is not started yet listens for HTTP.
func (d *testDaemon) listensHTTP(t *testing.T, at string) {
	t.Helper()
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), fmt.Sprintf("[http]\nlisten = %q\n", at))
}

// startHTTP starts a daemon that listens at an address, and returns a client of it.
func startHTTP(t *testing.T, at string) (*testDaemon, *httpClient) {
	t.Helper()
	d := newTestDaemon(t)
	d.listensHTTP(t, at)
	d.start(t)
	return d, d.http(t)
}

// http is a client of a daemon that runs.
func (d *testDaemon) http(t *testing.T) *httpClient {
	t.Helper()
	at := d.status(t).HTTP
	c := &httpClient{url: at}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	if filepath.IsAbs(at) {
		c.url = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", at)
		}
	} else {
		token, err := os.ReadFile(d.data("http.token"))
		if err != nil {
			t.Fatal(err)
		}
		c.token = strings.TrimSpace(string(token))
	}
	c.client = &http.Client{Transport: transport, Timeout: eventually.Limit}
	return c
}

// httpAnswer is the part of a response that says whether the call may run.
type httpAnswer struct {
	Status   int // 0 when there was no answer
	Decision string
	Reason   string
	ID       string
	Body     string
}

func (c *httpClient) send(t *testing.T, method, path, body string) (a httpAnswer) {
	t.Helper()
	req, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return httpAnswer{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return httpAnswer{}
	}
	a.Status, a.Body = resp.StatusCode, string(text)
	var m struct {
		DecisionID string `json:"decision_id"`
		Result     struct{ Decision, Reason string }
	}
	if path == "/v1/data/permd/decision" && a.Status == http.StatusOK {
		if err := json.Unmarshal(text, &m); err != nil {
			t.Errorf("the answer is %s", text)
		}
		a.ID, a.Decision, a.Reason = m.DecisionID, m.Result.Decision, m.Result.Reason
	}
	return a
}

// decide asks about one call in OPA's form.
func (c *httpClient) decide(t *testing.T, input any) httpAnswer {
	t.Helper()
	return c.send(t, "POST", "/v1/data/permd/decision", encoded(t, map[string]any{"input": input}))
}

// shell asks about a command of an agent in a session.
func (c *httpClient) shell(t *testing.T, project, command string) httpAnswer {
	t.Helper()
	return c.decide(t, map[string]any{
		"tool": map[string]any{"name": "Bash"}, "args": map[string]any{"command": command}, "session": httpSession(project),
	})
}

func httpSession(project string) map[string]any {
	return map[string]any{
		"sessionId": "s1", "cwd": project, "agent": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"},
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(b))
}

var httpWords = map[string]string{"allow": "allow", "ask": "requires-approval", "deny": "deny"}

// TestHTTPSame: over HTTP a call has the verdict that it has on the socket, in
// both forms and at both kinds of address.
func TestHTTPSame(t *testing.T) {
	if testing.Short() {
		t.Skip("long: all shapes of calls at both addresses; TestHTTPAllow is the quick one")
	}
	t.Parallel()
	for _, at := range []string{"unix", "127.0.0.1:0"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			d := newTestDaemon(t)
			d.listensHTTP(t, at)
			writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"),
				"allow:\n  use: [\"github:get_*\", \"weather\"]\nask:\n  use: [\"github:get_secret\"]\ndeny:\n  use: [\"github:delete_*\"]\n")
			project := d.project(t, map[string]string{"main.go": "package main\n"})
			d.start(t)
			c, w := d.http(t), d.session(t, project)
			seen := map[string]int{}
			for _, call := range []map[string]any{
				{"tool": map[string]string{"name": "Bash"}, "input": map[string]string{"command": "git status"}},
				{"tool": map[string]string{"name": "Bash"}, "input": map[string]string{"command": "cat main.go | head"}},
				{"tool": map[string]string{"name": "Bash"}, "input": map[string]string{"command": "rm -rf /"}},
				{"tool": map[string]string{"name": "Bash"}, "input": map[string]string{"command": "make install"}},
				{"tool": map[string]string{"name": "Bash"}, "input": map[string]string{"command": "cat " + d.data("http.token")}},
				{"tool": map[string]string{"name": "Read"}, "input": map[string]string{"file_path": project + "/main.go"}},
				{"tool": map[string]string{"name": "Read"}, "input": map[string]string{"file_path": project + "/.env"}},
				{"tool": map[string]string{"name": "Write"}, "input": map[string]string{"file_path": d.data("http.token"), "content": "x"}},
				{"tool": map[string]string{"name": "get_issue", "server": "github"}, "input": map[string]int{"n": 1}},
				{"tool": map[string]string{"name": "get_secret", "server": "github"}, "input": map[string]int{"n": 1}},
				{"tool": map[string]string{"name": "delete_repo", "server": "github"}, "input": map[string]int{"n": 1}},
				{"tool": map[string]string{"name": "get_issue"}, "input": map[string]int{"n": 1}},
				{"tool": map[string]string{"name": "weather"}, "input": map[string]int{}},
				{"tool": map[string]string{"name": "runCommand"}, "input": map[string]string{"command": "git status"}},
				{"tool": map[string]string{"name": "AskUserQuestion"}, "input": map[string]any{"questions": []any{}}},
			} {
				call["callId"] = "c1"
				want := w.ask(t, request("permd/decide", map[string]any{"sessionId": "s1", "calls": []any{call}}))
				seen[want.Verdict]++
				got := c.decide(t, map[string]any{"tool": call["tool"], "args": call["input"], "session": httpSession(project)})
				if got.Status != 200 || got.Decision != httpWords[want.Verdict] {
					t.Errorf("%v: over HTTP %+v, on the socket %+v", call, got, want)
				}
				carried := c.decide(t, map[string]any{
					"tool": call["tool"], "args": call["input"], "messages": []any{}, "runtimeContext": map[string]any{"permd": httpSession(project)},
				})
				if carried.Decision != got.Decision {
					t.Errorf("%v: with the session in the context %+v, else %+v", call, carried, got)
				}
				body := c.send(t, "POST", "/v1/calls", encoded(t, map[string]any{"calls": []any{call}, "session": httpSession(project)}))
				one, err := parseAnswer([]byte(`{"result":` + body.Body + `}`))
				if err != nil || body.Status != 200 || one.Verdict != want.Verdict || one.By != want.By || one.Reason != want.Reason {
					t.Errorf("%v: by /v1/calls %+v, on the socket %+v: %v", call, body, want, err)
				}
				d.wantLogged(t, answer{Verdict: got.Decision, ID: got.ID}, one)
			}
			if seen["allow"] < 4 || seen["ask"] < 4 || seen["deny"] < 3 {
				t.Errorf("the verdicts are %v", seen)
			}
		})
	}
}

// TestHTTPAllow: if an application cannot ask its person, they answer with permd
// allow, once or for longer, for the session that asked.
func TestHTTPAllow(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon and commands; TestHTTPFailures is the quick one")
	}
	t.Parallel()
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	asks := func() httpAnswer {
		t.Helper()
		got := c.shell(t, project, "make install")
		if got.Decision != "requires-approval" {
			t.Fatalf("the answer is %+v, want a question", got)
		}
		return got
	}
	d.permd(t, "allow", asks().ID)
	other := httpSession(project)
	other["sessionId"] = "s2"
	in := func(session map[string]any) httpAnswer {
		return c.decide(t, map[string]any{
			"tool": map[string]any{"name": "Bash"}, "args": map[string]any{"command": "make install"}, "session": session,
		})
	}
	if got := in(other); got.Decision != "requires-approval" {
		t.Errorf("in another session: %+v", got)
	}
	if got := c.shell(t, project, "make  install DESTDIR=/"); got.Decision != "requires-approval" {
		t.Errorf("another command: %+v", got)
	}
	if got := c.shell(t, project, "make install"); got.Decision != "allow" {
		t.Errorf("after the yes: %+v", got)
	}
	asks() // the approval was for one call
	// In a session of another harness with the same id it is not theirs.
	if got := d.hook(t, "claude", encoded(t, map[string]any{
		"session_id": "s1", "cwd": project, "hook_event_name": "PreToolUse", "permission_mode": "default",
		"tool_name": "Bash", "tool_input": map[string]string{"command": "make install"}, "tool_use_id": "t",
	})); strings.Contains(string(got.Stdout), `"allow"`) {
		t.Errorf("a hook: %s", got.Stdout)
	}
}

// TestHTTPOff: HTTP is served only if a setting says so.
func TestHTTPOff(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts several daemons; TestHTTPAllow is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	if s := d.status(t); s.HTTP != "" {
		t.Errorf("it listens at %s", s.HTTP)
	}
	for _, path := range []string{filepath.Join(d.run, "permd-http"), d.data("http.token")} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", path, err)
		}
	}
	// Org's setting overrides the user's.
	d = newTestDaemon(t)
	d.listensHTTP(t, "unix")
	root := filepath.Join(d.home, "root")
	writeFile(t, filepath.Join(root, "etc", "permd", "permd.toml"), "http.listen = \"off\"\n")
	d.start(t, "--root", root)
	if s := d.status(t); s.HTTP != "" {
		t.Errorf("the organisation says off, and it listens at %s", s.HTTP)
	}
}

// TestHTTPShown: greeting, status and doctor show the address, and never the token.
func TestHTTPShown(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the doctor; TestHTTPAllow is the quick one")
	}
	t.Parallel()
	for _, at := range []string{"unix", "127.0.0.1:0"} {
		d, c := startHTTP(t, at)
		where := d.status(t).HTTP
		doctor, _ := d.command("doctor").CombinedOutput() // other findings are not of interest here
		for name, text := range map[string]string{"greeting": d.output.String(), "status": d.permd(t, "status"), "doctor": string(doctor)} {
			if !strings.Contains(text, "http ") || !strings.Contains(text, where) {
				t.Errorf("%s: the %s is\n%s", at, name, text)
			}
			if c.token != "" && strings.Contains(text, c.token) {
				t.Errorf("the %s shows the token", name)
			}
		}
		if !strings.Contains(string(doctor), "ok     http       "+where) {
			t.Errorf("the doctor says\n%s", doctor)
		}
		if got := c.send(t, "GET", "/health", ""); got.Status != 200 || got.Body != "{\"status\":\"ok\"}\n" {
			t.Errorf("health: %+v", got)
		}
		if c.token == "" {
			continue
		}
		d.wantNowhereBut(t, c.token, "http.token")
		// Another token, and the daemon's is the old one.
		writeFile(t, d.data("http.token"), strings.Repeat("0", 64)+"\n")
		if doctor, err := d.command("doctor").CombinedOutput(); err == nil || !strings.Contains(string(doctor), "status 401") {
			t.Errorf("with another token: %v\n%s", err, doctor)
		}
	}
}

// wantNowhereBut checks that a text is in none of the daemon's files except one.
func (d *testDaemon) wantNowhereBut(t *testing.T, text, file string) {
	t.Helper()
	path := d.data(file)
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	d.wantNowhere(t, text)
	if err := os.WriteFile(path, kept, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestHTTPHealth: the response names the degraded parts, without the contents of files.
func TestHTTPHealth(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for broken rules; TestHTTPAllow is the quick one")
	}
	t.Parallel()
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	d.policy(t, "canary.rego", "allow contains 7 if canary_of_a_rule")
	if out, err := d.command("reload").CombinedOutput(); err == nil {
		t.Fatalf("a broken rule was read: %s", out)
	}
	if got := c.send(t, "GET", "/health", ""); got.Status != 200 || got.Body != "{\"status\":\"degraded\",\"degraded\":[\"policy\"]}\n" {
		t.Errorf("health: %+v", got)
	}
	if got := c.shell(t, project, "git status"); got.Status != 200 {
		t.Errorf("a call: %+v", got)
	}
	if doctor, _ := d.command("doctor").CombinedOutput(); !strings.Contains(string(doctor), "it is degraded: policy") {
		t.Errorf("the doctor says\n%s", doctor)
	}
}
