package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plainAAP is a client of the protocol that knows nothing of permd. It runs the calls of its
// own tools that a turn leaves to it, and asks its person about those of the server's.
type plainAAP struct {
	t        *testing.T
	url, key string
	stream   string
	tools    []aapTool
	enabled  []aapTool
	session  string
	over     http.RoundTripper // nil for the default
	person   func(name string) bool

	ran, asked, shown []string
	resulted          []string // calls of the server with a result
	texts             []string
	posts             int
}

// startGateway runs permd aap as a gateway to a server.
func (d *testDaemon) startGateway(t *testing.T, upstream string, args ...string) (url, key string) {
	t.Helper()
	url, key, _ = d.runGateway(t, upstream, args...)
	return url, key
}

// runGateway is startGateway, which can be killed.
func (d *testDaemon) runGateway(t *testing.T, upstream string, args ...string) (url, key string, kill func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	writeFile(t, file, aapKey+"\n")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := d.command(append([]string{"aap", "--upstream", upstream, "--listen", "127.0.0.1:0", "--key-file", file}, args...)...)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(said)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	_, address, _ := strings.Cut(strings.TrimSpace(line), "listening on ")
	url = "http://" + address
	token, err := os.ReadFile(filepath.Join(d.home, ".local/state/permd/aap/token"))
	if err != nil {
		t.Fatal(err)
	}
	return url, strings.TrimSpace(string(token)), func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func (c *plainAAP) do(method, path string, body any) (status int, text string) {
	c.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, bytes.NewReader(data))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: c.over}).Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

func (c *plainAAP) open() {
	c.t.Helper()
	status, text := c.do("POST", "/sessions", map[string]any{"agent": map[string]any{"name": "helper", "tools": c.enabled}, "tools": c.tools})
	var made struct{ SessionID string }
	if status != http.StatusCreated || json.Unmarshal([]byte(text), &made) != nil || made.SessionID == "" {
		c.t.Fatalf("POST /sessions: %d %s", status, text)
	}
	c.session = made.SessionID
}

// seen is what a client makes of a turn: calls with their results, and why it stopped.
type seenTurn struct {
	stop    string
	calls   []aapCall
	results map[string]string
}

func (c *plainAAP) post(messages any) seenTurn {
	c.t.Helper()
	c.posts++
	status, text := c.do("POST", "/sessions/"+c.session+"/turns", map[string]any{"messages": messages, "stream": c.stream})
	if status != http.StatusOK {
		c.t.Fatalf("POST turns: %d %s", status, text)
	}
	return c.read(text)
}

func (c *plainAAP) read(text string) seenTurn {
	c.t.Helper()
	s := seenTurn{results: map[string]string{}}
	if c.stream == "none" {
		var body struct {
			StopReason string
			Messages   []aapMessage
		}
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			c.t.Fatalf("%s: %v", text, err)
		}
		s.stop = body.StopReason
		for _, m := range body.Messages {
			s.message(m)
		}
		return s
	}
	for _, block := range strings.Split(text, "\n\n") {
		var name, data string
		for line := range strings.Lines(block) {
			line = strings.TrimSuffix(line, "\n")
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				name = v
			}
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				data = v
			}
		}
		var in struct {
			aapCall

			Content    json.RawMessage
			StopReason string
			Text       string
		}
		if name != "" {
			if err := json.Unmarshal([]byte(data), &in); err != nil {
				c.t.Fatalf("%s: %v", block, err)
			}
		}
		switch name {
		case "tool_call":
			s.calls = append(s.calls, in.aapCall)
		case "tool_result":
			if s.results[in.ID] != "" || slices.Contains(c.resulted, in.ID) {
				c.t.Errorf("%s has two results", in.ID)
			}
			c.resulted = append(c.resulted, in.ID)
			s.results[in.ID] = string(in.Content)
		case "turn_stop":
			s.stop = in.StopReason
		case "text":
			c.texts = append(c.texts, in.Text)
		}
	}
	return s
}

func (s *seenTurn) message(m aapMessage) {
	if m.Role == "tool" {
		s.results[m.ToolCallID] = string(m.Content)
	}
	var blocks []struct {
		aapCall

		Type string
	}
	if m.Role == "assistant" && json.Unmarshal(m.Content, &blocks) == nil {
		for _, b := range blocks {
			if b.Type == "tool_use" {
				s.calls = append(s.calls, b.aapCall)
			}
		}
	}
}

// answer runs and asks, and returns the messages.
func (c *plainAAP) answer(s seenTurn) (messages []any) {
	for _, call := range s.calls {
		c.shown = append(c.shown, call.ID)
		if s.results[call.ID] != "" {
			continue
		}
		if hasAAPTool(c.tools, call.Name, false) {
			if !slices.Contains(c.ran, call.ID) { // otherwise it knows the result
				c.ran = append(c.ran, call.ID)
			}
			messages = append(messages, map[string]any{"role": "tool", "toolCallId": call.ID, "content": "the result of " + call.ID})
			continue
		}
		c.asked = append(c.asked, call.ID)
		m := map[string]any{"role": "tool_permission", "toolCallId": call.ID, "granted": c.person(call.Name)}
		if !c.person(call.Name) {
			m["reason"] = "not today"
		}
		messages = append(messages, m)
	}
	return messages
}

// say posts a message of the user, and answers until the turn has ended.
func (c *plainAAP) say(text string) {
	c.t.Helper()
	s := c.post([]any{map[string]string{"role": "user", "content": text}})
	for s.stop == "tool_use" {
		messages := c.answer(s)
		if len(messages) == 0 {
			c.t.Fatalf("nothing to answer in %+v", s)
		}
		s = c.post(messages)
	}
	c.answer(s)
	if s.stop != "end_turn" {
		c.t.Fatalf("it has stopped with %s; %q", s.stop, c.texts)
	}
}

func newPlainAAP(t *testing.T, url, key, stream string) *plainAAP {
	t.Helper()
	c := newPlainAAPOver(t, url, key, stream, nil)
	c.open()
	return c
}

// newPlainAAPOver is newPlainAAP over other connections, without a session.
func newPlainAAPOver(t *testing.T, url, key, stream string, over http.RoundTripper) *plainAAP {
	t.Helper()
	return &plainAAP{
		t: t, url: url, key: key, stream: stream, over: over, tools: []aapTool{{Name: "read_note"}, {Name: "show_diff"}},
		enabled: []aapTool{{Name: "search", Trust: true}, {Name: "deploy"}, {Name: "page"}},
		person:  func(string) bool { return true },
	}
}

func (s *aapServer) told(session string) (told []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.sessions[session].history {
		if m.Role == "tool" {
			told = append(told, m.ToolCallID+" "+string(m.Content))
		}
	}
	return told
}

// TestAAPGateway has a conversation through the gateway in each of the protocol's three
// streams: neither the client nor the server knows of permd.
func TestAAPGateway(t *testing.T) {
	t.Parallel()
	d := aapDaemon(t)
	for _, stream := range []string{"delta", "message", "none"} {
		t.Run(stream, func(t *testing.T) {
			if testing.Short() && stream != "delta" {
				t.Skip("long: the same conversation once more; delta is the quick one")
			}
			t.Parallel()
			s := newAAPServer(t,
				calls(`c1 read_note {"n":1}`, `c5 deploy `+staging, `c6 deploy `+production, `c7 page {"who":"ana"}`),
				calls(`d1 deploy `+staging), // nothing for the client to do
				calls(`e1 deploy `+production),
				calls(`f1 search {"q":"z"}`, `f2 read_note {"n":2}`, `f3 show_diff {"n":3}`),
				says("done"),
			)
			s.newline, s.chatty = map[string]string{"delta": "\r\n"}[stream], stream != "none"
			if s.newline == "" {
				s.newline = "\n"
			}
			url, key := d.startGateway(t, s.URL, "--wait", "60s")
			c := newPlainAAP(t, url, key, stream)
			c.person = func(name string) bool { return name != "page" }
			// The client's own call that no rule allows waits for permd allow.
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					out, _ := d.command("allow", "--json").Output()
					for line := range strings.Lines(string(out)) {
						var q struct{ DecisionID, Tool, Session string }
						if json.Unmarshal([]byte(line), &q) == nil && q.Tool == "show_diff" && q.Session == c.session {
							_ = d.command("allow", q.DecisionID).Run()
							return
						}
					}
				}
			}()
			c.say("ship it")
			want(t, "the person is asked about", []string{"c7", "f1"}, c.asked)
			want(t, "the client ran", []string{"c1", "f2", "f3"}, c.ran)
			want(t, "the server ran", []string{`deploy ` + staging, `deploy ` + staging, `search {"q":"z"}`}, s.executed)
			want(t, "the model was told", []string{
				`c1 "the result of c1"`, `c5 "deploy is done"`, `c6 "Tool call denied: production is frozen, use staging"`, `c7 "Tool call denied: not today"`,
				`d1 "deploy is done"`, `e1 "Tool call denied: production is frozen, use staging"`,
				`f1 "search is done"`, `f2 "the result of f2"`, `f3 "the result of f3"`,
			}, s.told(c.session))
			if c.posts != 3 {
				t.Errorf("%d posts", c.posts)
			}
			if stream == "message" && !slices.ContainsFunc(c.texts, func(s string) bool { return strings.Contains(s, "permd allow ") }) {
				t.Errorf("the client shows %q", c.texts)
			}
		})
	}
}
