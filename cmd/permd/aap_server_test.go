package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// aapServer is a server of the Agent Application Protocol, version 3, written after the
// shapes in its specification. Its model is a script with the output of each step of a
// session.
type aapServer struct {
	*httptest.Server
	script []aapStep
	// stream is how it writes events: LF or CRLF, with comments or not.
	newline string
	chatty  bool
	// unshown is set for a server that sends no results of calls that it was permitted.
	unshown bool

	mu       sync.Mutex
	sessions map[string]*aapSession
	// executed are the calls of its own tools that it ran: "name input".
	executed []string
	// refuse is how many turns get status 503 before anything is done; lose is how
	// many are carried out without an answer.
	refuse, lose int
}

// aapStep is one step of the model: calls, or a text that ends the turn.
type aapStep struct {
	calls []aapCall
	text  string
}

type aapCall struct {
	ID    string          `json:"toolCallId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type aapMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Granted    *bool           `json:"granted,omitempty"`
	Reason     string          `json:"reason,omitempty"`
}

type aapTool struct {
	Name  string `json:"name"`
	Trust bool   `json:"trust,omitempty"`
}

type aapSession struct {
	agent struct {
		Name  string    `json:"name"`
		Tools []aapTool `json:"tools"`
	}
	tools   []aapTool // the client's
	history []aapMessage
	step    int
	waiting map[string]aapCall
}

const aapKey = "a-key-that-nobody-may-see"

// aapAgent is the server's agent with the tools that it shows.
const aapAgent = `{"version":3,"agents":[{"name":"helper","version":"1.0.0","tools":[
	{"name":"search","description":"Search","parameters":{"type":"object"}},
	{"name":"deploy","description":"Deploy","parameters":{"type":"object"}},
	{"name":"page","description":"Page","parameters":{"type":"object"}}],
	"options":[{"name":"token","type":"secret","default":""}]}]}`

func newAAPServer(t *testing.T, script ...aapStep) *aapServer {
	t.Helper()
	s := &aapServer{script: script, newline: "\n", sessions: map[string]*aapSession{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /meta", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, aapAgent) })
	mux.HandleFunc("POST /sessions", s.create)
	mux.HandleFunc("GET /sessions/{id}", s.session)
	mux.HandleFunc("GET /sessions/{id}/history", s.past)
	mux.HandleFunc("POST /sessions/{id}/turns", s.turns)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+aapKey {
			http.Error(w, `{"error":"unauthorized"}`, http.StatusUnauthorized)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *aapServer) create(w http.ResponseWriter, r *http.Request) {
	ses := &aapSession{waiting: map[string]aapCall{}}
	body := struct {
		Agent    any          `json:"agent"`
		Messages []aapMessage `json:"messages"`
		Tools    *[]aapTool   `json:"tools"`
	}{Agent: &ses.agent, Tools: &ses.tools}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || ses.agent.Name != "helper" {
		http.Error(w, `{"error":"no such agent"}`, http.StatusBadRequest)
		return
	}
	ses.history = body.Messages
	id := "sess_" + rand.Text()[:8]
	s.sessions[id] = ses
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"sessionId":%q}`, id)
}

func (s *aapServer) session(w http.ResponseWriter, r *http.Request) {
	ses := s.sessions[r.PathValue("id")]
	if ses == nil {
		http.Error(w, `{"error":"no such session"}`, http.StatusNotFound)
		return
	}
	body, err := json.Marshal(map[string]any{"sessionId": r.PathValue("id"), "agent": ses.agent, "tools": ses.tools})
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, "%s", body)
}

func (s *aapServer) past(w http.ResponseWriter, r *http.Request) {
	ses := s.sessions[r.PathValue("id")]
	if ses == nil {
		http.Error(w, `{"error":"no such session"}`, http.StatusNotFound)
		return
	}
	body, err := json.Marshal(map[string]any{"history": map[string]any{"full": ses.history}})
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, "%s", body)
}

// turns accepts one user message, or exactly the results and permissions that the last
// stop waits for.
func (s *aapServer) turns(w http.ResponseWriter, r *http.Request) {
	ses := s.sessions[r.PathValue("id")]
	var body struct {
		Messages []aapMessage `json:"messages"`
		Stream   string       `json:"stream"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || ses == nil || len(body.Messages) == 0 {
		http.Error(w, `{"error":"no such turn"}`, http.StatusBadRequest)
		return
	}
	if s.refuse > 0 {
		s.refuse--
		http.Error(w, `{"error":"overloaded"}`, http.StatusServiceUnavailable)
		return
	}
	out := &aapOut{stream: body.Stream}
	if err := s.accept(ses, body.Messages, out); err != nil {
		http.Error(w, fmt.Sprintf(`{"error":%q}`, err), http.StatusBadRequest)
		return
	}
	stop := s.run(ses, out)
	if s.lose > 0 {
		s.lose--
		panic(http.ErrAbortHandler)
	}
	s.write(w, out, stop)
}

// aapOut is what happens in a turn.
type aapOut struct {
	stream   string
	events   []string // name and data in turns
	messages []aapMessage
}

func (o *aapOut) event(name string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	o.events = append(o.events, name, string(b))
}

func (s *aapServer) accept(ses *aapSession, messages []aapMessage, out *aapOut) error {
	if messages[0].Role == "user" {
		if len(messages) != 1 {
			return fmt.Errorf("a user message is alone in its turn")
		}
		ses.history = append(ses.history, messages[0])
		clear(ses.waiting)
		return nil
	}
	answered := map[string]bool{}
	for _, m := range messages {
		c, ok := ses.waiting[m.ToolCallID]
		switch {
		case !ok || answered[m.ToolCallID]:
			return fmt.Errorf("no call %s waits", m.ToolCallID)
		case m.Role == "tool" != ses.isClients(c.Name):
			return fmt.Errorf("%s is not the answer to a call of %s", m.Role, c.Name)
		case m.Role == "tool" && m.Content == nil, m.Role == "tool_permission" && m.Granted == nil:
			return fmt.Errorf("the answer to %s says nothing", m.ToolCallID)
		}
		answered[m.ToolCallID] = true
	}
	if len(answered) != len(ses.waiting) {
		return fmt.Errorf("%d of %d calls are answered", len(answered), len(ses.waiting))
	}
	for _, m := range messages {
		c := ses.waiting[m.ToolCallID]
		content := m.Content
		if m.Role == "tool_permission" {
			text := "Tool call denied"
			if m.Reason != "" {
				text += ": " + m.Reason
			}
			if *m.Granted {
				text = s.execute(c)
			}
			content, _ = json.Marshal(text)
			if !s.unshown {
				out.event("tool_result", map[string]any{"toolCallId": c.ID, "content": text})
			}
		}
		result := aapMessage{Role: "tool", ToolCallID: c.ID, Content: content}
		ses.history = append(ses.history, result)
		if m.Role == "tool_permission" && !s.unshown {
			out.messages = append(out.messages, result)
		}
	}
	clear(ses.waiting)
	return nil
}

func (s *aapServer) execute(c aapCall) string {
	s.executed = append(s.executed, c.Name+" "+string(c.Input))
	return c.Name + " is done"
}

func (ses *aapSession) isClients(name string) bool { return hasAAPTool(ses.tools, name, false) }

func hasAAPTool(list []aapTool, name string, trusted bool) bool {
	for _, t := range list {
		if t.Name == name && (t.Trust || !trusted) {
			return true
		}
	}
	return false
}

// run goes through the script until something waits or the turn ends.
func (s *aapServer) run(ses *aapSession, out *aapOut) (stop string) {
	for {
		step := s.script[ses.step]
		ses.step++
		if step.calls == nil {
			out.event("text", map[string]any{"text": step.text})
			text, _ := json.Marshal(step.text)
			m := aapMessage{Role: "assistant", Content: text}
			ses.history, out.messages = append(ses.history, m), append(out.messages, m)
			return "end_turn"
		}
		var blocks []map[string]any
		for _, c := range step.calls {
			out.event("tool_call", c)
			blocks = append(blocks, map[string]any{"type": "tool_use", "toolCallId": c.ID, "name": c.Name, "input": c.Input})
		}
		content, _ := json.Marshal(blocks)
		m := aapMessage{Role: "assistant", Content: content}
		ses.history, out.messages = append(ses.history, m), append(out.messages, m)
		for _, c := range step.calls {
			if !hasAAPTool(ses.agent.Tools, c.Name, true) || ses.isClients(c.Name) {
				ses.waiting[c.ID] = c
				continue
			}
			text := s.execute(c)
			out.event("tool_result", map[string]any{"toolCallId": c.ID, "content": text})
			content, _ := json.Marshal(text)
			m := aapMessage{Role: "tool", ToolCallID: c.ID, Content: content}
			ses.history, out.messages = append(ses.history, m), append(out.messages, m)
		}
		if len(ses.waiting) > 0 {
			return "tool_use"
		}
	}
}

func (s *aapServer) write(w http.ResponseWriter, out *aapOut, stop string) {
	if out.stream == "" || out.stream == "none" {
		body, err := json.Marshal(map[string]any{"stopReason": stop, "messages": out.messages})
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "%s", body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	var b strings.Builder
	line := func(text string) { b.WriteString(text + s.newline) }
	events := append([]string{"turn_start", "{}"}, out.events...)
	for i, data := range append(events, "turn_stop", fmt.Sprintf(`{"stopReason":%q}`, stop)) {
		if i%2 == 0 {
			if s.chatty {
				line(": keep-alive")
				line("id: 1")
			}
			line("event: " + data)
			continue
		}
		line("data: " + data)
		line("")
		if s.chatty && i == 1 {
			line("event: usage")
			line("data: {}")
			line("")
		}
	}
	fmt.Fprint(w, b.String())
}
