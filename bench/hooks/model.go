package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// model is a stand-in for the models of all harnesses, on the loopback only. It
// answers every conversation in two turns: the first asks for the shell command
// that the prompt names, and after the result of a tool the second says that it is
// done. It keeps the results of tools.
type model struct {
	*httptest.Server
	log *log.Logger

	mu      sync.Mutex
	command string   // the command to ask for; "" for that of the prompt
	answer  string   // the text of the second turn
	asked   int      // how many times it asked for a command
	results []string // the results of tools that harnesses sent
	lost    []string // paths of requests that are not answered
}

// The marks around the command in a prompt.
const (
	commandFrom = "RUN<<"
	commandTo   = ">>"
)

// maxRequest is the longest request that is read, in bytes.
const maxRequest = 64 << 20

func newModel(l *log.Logger) *model {
	m := &model{log: l, answer: "done"}
	m.Server = httptest.NewServer(m)
	return m
}

// turn is what all protocols' requests have in common.
type turn struct {
	command string // the command to ask for; "" if the request has its result
	tools   []string
	stream  bool
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err != nil {
		return
	}
	m.log.Printf("%s %s %d bytes", r.Method, r.URL, len(body))
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/messages/count_tokens"), strings.HasSuffix(path, ":countTokens"):
		reply(w, map[string]any{"input_tokens": 10, "totalTokens": 10})
	case strings.HasSuffix(path, "/messages"):
		m.anthropic(w, m.turn(body, `"tool_result"`))
	case strings.HasSuffix(path, "/responses"):
		m.responses(w, m.turn(body, `"function_call_output"`))
	case strings.HasSuffix(path, "/chat/completions"):
		m.chat(w, m.turn(body, `"role":"tool"`))
	case strings.HasSuffix(path, ":streamGenerateContent"), strings.HasSuffix(path, ":generateContent"):
		t := m.turn(body, `"functionResponse"`)
		t.stream = strings.HasSuffix(path, ":streamGenerateContent")
		m.gemini(w, t)
	case strings.HasSuffix(path, "/models"):
		reply(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": modelName, "object": "model"}}, "models": []any{}})
	default:
		m.mu.Lock()
		m.lost = append(m.lost, r.Method+" "+path)
		m.mu.Unlock()
		http.NotFound(w, r)
	}
}

// turn reads the common part of a request. result is the text that shows a tool's
// result in the protocol.
func (m *model) turn(body []byte, result string) *turn {
	t := new(turn)
	var r struct {
		Stream bool `json:"stream"`
		Tools  []struct {
			Name      string                  `json:"name"`
			Function  struct{ Name string }   `json:"function"`
			Functions []struct{ Name string } `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		m.log.Printf("reading a request: %v", err)
		return t
	}
	t.stream = r.Stream
	for _, tool := range r.Tools {
		t.tools = append(t.tools, tool.Name, tool.Function.Name)
		for _, f := range tool.Functions {
			t.tools = append(t.tools, f.Name)
		}
	}
	flat := bytes.ReplaceAll(body, []byte(": "), []byte(":"))
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := bytes.LastIndex(flat, []byte(result)); i >= 0 {
		m.results = append(m.results, string(flat[i:min(len(flat), i+600)]))
		return t
	}
	if m.command != "" && len(r.Tools) > 0 {
		t.command = m.command
		return t
	}
	text := string(body)
	for _, escaped := range []string{`\u003c`, `\u003C`} {
		text = strings.ReplaceAll(text, escaped, "<")
	}
	for _, escaped := range []string{`\u003e`, `\u003E`} {
		text = strings.ReplaceAll(text, escaped, ">")
	}
	if i := strings.LastIndex(text, commandFrom); i >= 0 && len(r.Tools) > 0 {
		t.command, _, _ = strings.Cut(text[i+len(commandFrom):], commandTo)
	}
	return t
}

// ask returns the tool that is to run the command: the first of names that the
// harness offers. It is "" if there is no command, or no such tool.
func (m *model) ask(t *turn, names ...string) string {
	for _, name := range names {
		if t.command != "" && slices.Contains(t.tools, name) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.asked++
			return name
		}
	}
	return ""
}

// play sets the command to ask for, and the text of the second turn.
func (m *model) play(command, answer string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.command, m.answer = command, answer
}

// last returns the text of the second turn.
func (m *model) last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answer
}

// waits reports whether a command was asked for and no result has come.
func (m *model) waits() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked > 0 && len(m.results) == 0
}

// seen returns and resets how many commands were asked for, their results, and the
// requests that were not answered.
func (m *model) seen() (asked int, results, lost []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked, results, lost = m.asked, m.results, m.lost
	m.asked, m.results, m.lost = 0, nil, nil
	return asked, results, lost
}

const modelName = "stand-in"

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// events writes server-sent events; a name of "" writes none.
type events struct{ w http.ResponseWriter }

func newEvents(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	return events{w}
}

func (e events) send(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings
	}
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", data)
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

type object = map[string]any

func arguments(v object) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings
	}
	return string(data)
}
