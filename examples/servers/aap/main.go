// Command aap is an agent of the Agent Application Protocol that asks permd before it runs its tools, with
// package socket/aap/server. Its model is a script: the words of the user's message are tools
// to call, as in "clock backup:nightly".
//
//	PORT=7450 go run ./examples/servers/aap
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	strict "github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket/aap/server"
	"github.com/permd/permd/socket/client"
)

const agent = "example"

type message struct {
	Role       string `json:"role"`
	Content    any    `json:"content,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
	Granted    bool   `json:"granted,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

type session struct {
	gate    *server.Gate
	trusted map[string]bool
	history []message
}

type agentServer struct {
	permd *client.Client
	cwd   string

	mu       sync.Mutex
	sessions map[string]*session
}

func main() {
	permd, err := client.Connect(context.Background(), client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	s := &agentServer{permd: permd, cwd: cwd, sessions: map[string]*session{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sessions", s.create)
	mux.HandleFunc("POST /sessions/{id}/turns", s.turn)
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT")) //nolint:forbidigo // no Unix socket
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("http://" + l.Addr().String())
	log.Fatal(http.Serve(l, mux)) //nolint:gosec // an example, on the loopback address
}

func (s *agentServer) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Agent struct {
			Tools []struct {
				Name  string `json:"name"`
				Trust bool   `json:"trust"`
			} `json:"tools"`
		} `json:"agent"`
	}
	id := rand.Text()
	err := read(w, r, &body)
	if err == nil {
		_, err = client.DeclareSession(r.Context(), s.permd, &client.Session{ID: id, Cwd: s.cwd, Agent: &effects.Party{Name: agent}})
	}
	if err != nil {
		refuse(w, err)
		return
	}
	ses := &session{gate: server.New(s.permd, id, agent, ""), trusted: map[string]bool{}}
	for _, t := range body.Agent.Tools {
		ses.trusted[t.Name] = t.Trust
	}
	s.mu.Lock()
	s.sessions[id] = ses
	s.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	reply(w, map[string]string{"sessionId": id})
}

func (s *agentServer) turn(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []message `json:"messages"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.sessions[r.PathValue("id")]
	if err := read(w, r, &body); err != nil || ses == nil || len(body.Messages) == 0 {
		refuse(w, fmt.Errorf("no such turn"))
		return
	}
	var out []message
	for _, m := range body.Messages {
		if m.Role == "user" {
			ses.gate.Clear()
			out = append(out, ses.call(r.Context(), fmt.Sprint(m.Content))...)
			continue
		}
		call, answer, err := ses.gate.Permission(r.Context(), m.ToolCallID, m.Granted, m.Reason)
		if errors.Is(err, server.ErrNotPending) {
			refuse(w, err)
			return
		}
		out = append(out, result(call, answer))
	}
	stop := "end_turn"
	if ses.gate.Pending() {
		stop = "tool_use"
	}
	ses.history = append(append(ses.history, body.Messages...), out...)
	reply(w, map[string]any{"stopReason": stop, "messages": out})
}

// call makes the calls that the model wants.
func (ses *session) call(ctx context.Context, text string) []message {
	var blocks []any
	var results []message
	for _, word := range strings.Fields(text) {
		name, what, _ := strings.Cut(word, ":")
		input, _ := json.Marshal(map[string]string{"what": what})
		c := server.Call{ID: rand.Text(), Name: name, Input: input, Trusted: ses.trusted[name]}
		blocks = append(blocks, map[string]any{"type": "tool_use", "toolCallId": c.ID, "name": name, "input": map[string]string{"what": what}})
		if answer := ses.gate.Begin(ctx, c); answer.Outcome != server.Wait {
			results = append(results, result(c, answer))
		}
	}
	return append([]message{{Role: "assistant", Content: blocks}}, results...)
}

// result runs a call that may run, and returns its result.
func result(c server.Call, a server.Answer) message {
	text := a.Text()
	if a.Outcome == server.Run {
		text = c.Name + " has run"
	}
	return message{Role: "tool", ToolCallID: c.ID, Content: text}
}

func refuse(w http.ResponseWriter, err error) {
	w.WriteHeader(http.StatusBadRequest)
	reply(w, map[string]string{"error": err.Error()})
}

func reply(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// read decodes a request's body, of at most a mebibyte. It refuses an object in which a name
// is repeated, and names are matched in their exact case.
func read(w http.ResponseWriter, r *http.Request, body any) error {
	//nolint:forbidigo // internal/strictjson is permd's own; this library refuses repeated names, too
	return strict.UnmarshalRead(http.MaxBytesReader(w, r.Body, 1<<20), body)
}
