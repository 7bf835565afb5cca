package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/aap"
	"github.com/permd/permd/socket/client"
)

// aapPerson answers a question.
type aapPerson func(c aap.Call) map[string]any

// aapClient is an application that uses an AAP server and asks permd before
// anything runs. It is the loop of docs/tool-servers.md.
type aapClient struct {
	t       *testing.T
	server  *aapServer
	permd   *client.Client
	session string
	stream  string
	tools   []aapTool // its own
	enabled []aapTool // the server's
	person  aapPerson

	mu    sync.Mutex
	ran   []string // of its own tools
	asked []string
	log   []string // the outcomes
	posts int
}

// aapLaunch opens a session on the server and declares it to permd.
func aapLaunch(t *testing.T, d *testDaemon, s *aapServer, stream string) *aapClient {
	t.Helper()
	c := &aapClient{
		t: t, server: s, stream: stream,
		tools:   []aapTool{{Name: "read_note"}, {Name: "show_diff"}},
		enabled: []aapTool{{Name: "search", Trust: true}, {Name: "deploy"}, {Name: "page"}},
		person: func(c aap.Call) map[string]any {
			t.Errorf("the person is asked about %s", c.Name)
			return map[string]any{"toolCallId": c.ToolCallID, "verdict": "deny"}
		},
	}
	var made struct{ SessionID string }
	body := c.http("POST", "/sessions", map[string]any{
		"agent": map[string]any{"name": "helper", "tools": c.enabled, "options": map[string]string{"token": aapKey}}, "tools": c.tools,
	}, http.StatusCreated)
	if err := json.Unmarshal(body, &made); err != nil {
		t.Fatal(err)
	}
	c.session = made.SessionID
	c.connect(d)
	return c
}

// connect declares the session on a new connection to permd.
func (c *aapClient) connect(d *testDaemon) {
	c.t.Helper()
	c.permd = d.dial(c.t)
	if err := c.permd.Call(c.t.Context(), "permd/session", map[string]any{
		"sessionId": c.session, "cwd": d.home, "client": map[string]string{"name": "test"},
	}, nil); err != nil {
		c.t.Fatal(err)
	}
}

// http makes a request; nil means that it failed.
func (c *aapClient) http(method, path string, body any, want int) []byte {
	c.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.server.URL+path, bytes.NewReader(data))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+aapKey)
	res, err := c.server.Client().Do(req)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode == http.StatusServiceUnavailable {
		return nil
	}
	if res.StatusCode != want {
		c.t.Fatalf("%s %s: %s: %s", method, path, res.Status, text)
	}
	return text
}

func (c *aapClient) post(messages any) []byte {
	c.t.Helper()
	c.posts++
	return c.http("POST", "/sessions/"+c.session+"/turns", map[string]any{"messages": messages, "stream": c.stream}, http.StatusOK)
}

// say posts a message of the user, and answers all questions until the turn has ended.
func (c *aapClient) say(text string) {
	c.t.Helper()
	for body := c.post([]any{map[string]string{"role": "user", "content": text}}); ; {
		if body == nil {
			c.t.Fatal("the turn was lost")
		}
		r := c.permissions(c.params("turn", c.turn(body)))
		if len(r.Calls) == 0 || !c.waits(body) {
			return
		}
		body = c.answer(r)
	}
}

// resume continues a session of which only the history is known.
func (c *aapClient) resume() {
	c.t.Helper()
	history := c.http("GET", "/sessions/"+c.session+"/history?type=full", nil, http.StatusOK)
	r := c.permissions(c.params("history", strictjson.Value(history)))
	for body := c.answer(r); c.waits(body); {
		body = c.answer(c.permissions(c.params("turn", c.turn(body))))
	}
}

func (c *aapClient) params(form string, value any) map[string]any {
	return map[string]any{
		"sessionId": c.session, "endpoint": c.server.URL, "tools": c.tools,
		"agent": map[string]any{"name": "helper", "tools": c.enabled, "options": map[string]string{"token": aapKey}},
		"meta":  strictjson.Value(aapAgent), form: value,
	}
}

func (c *aapClient) turn(body []byte) any {
	if c.stream == "none" {
		return strictjson.Value(body)
	}
	return map[string]string{"sse": string(body)}
}

func (c *aapClient) waits(body []byte) bool {
	return bytes.Contains(body, []byte(`"tool_use"}`)) || bytes.Contains(body, []byte(`"stopReason":"tool_use"`))
}

func (c *aapClient) permissions(params map[string]any) *aap.Result {
	c.t.Helper()
	return c.call(aap.MethodPermissions, params)
}

func (c *aapClient) call(method string, params map[string]any) *aap.Result {
	c.t.Helper()
	var r aap.Result
	if err := c.permd.Call(c.t.Context(), method, params, &r); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	for _, call := range r.Calls {
		c.log = append(c.log, fmt.Sprint(call.Name, " ", call.Outcome))
	}
	return &r
}

// answer asks the person, runs the client's own tools side by side, and posts the
// messages; when that fails, it asks for them again.
func (c *aapClient) answer(r *aap.Result) []byte {
	c.t.Helper()
	batch := func(more map[string]any) map[string]any {
		p := map[string]any{"sessionId": c.session, "batchId": r.BatchID}
		for name, value := range more {
			p[name] = value
		}
		return p
	}
	if len(r.Needs.Answers) > 0 {
		var answers []any
		for _, call := range r.Calls {
			if slices.Contains(r.Needs.Answers, call.ToolCallID) {
				c.asked = append(c.asked, call.Name)
				answers = append(answers, c.person(call))
			}
		}
		r = c.call(aap.MethodAnswer, batch(map[string]any{"answers": answers}))
	}
	if len(r.Needs.Results) > 0 {
		results := make([]any, len(r.Needs.Results))
		var wg sync.WaitGroup
		for i, id := range r.Needs.Results {
			wg.Go(func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				n := slices.IndexFunc(r.Calls, func(call aap.Call) bool { return call.ToolCallID == id })
				c.ran = append(c.ran, r.Calls[n].Name)
				results[i] = map[string]any{"toolCallId": id, "content": "the result of " + id}
			})
		}
		wg.Wait()
		r = c.call(aap.MethodAnswer, batch(map[string]any{"results": results}))
	}
	for range 3 {
		if len(r.Needs.Answers)+len(r.Needs.Results) > 0 || r.Messages == nil {
			c.t.Fatalf("the batch is not ready: %+v", r.Needs)
		}
		if body := c.post(r.Messages); body != nil {
			return body
		}
		again := c.call(aap.MethodAnswer, batch(nil))
		if got, want := messagesText(c.t, again), messagesText(c.t, r); got != want {
			c.t.Errorf("the messages again are\n%s, they were\n%s", got, want)
		}
		r = again
	}
	c.t.Fatal("the turn could not be posted")
	return nil
}

func messagesText(t *testing.T, r *aap.Result) string {
	t.Helper()
	b, err := json.Marshal(r.Messages)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
