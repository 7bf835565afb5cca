package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/rap"
)

// The tool server and the runtime of the Reactive Agent Protocol that tests use,
// written from the shapes of its specification. Either asks permd: the runtime
// before it sends an invocation, or the server before it runs one.

// rapSecret is in every address that the two send each other.
const rapSecret = "t-that-nobody-may-see"

const rapTools = `[
	{"name":"list_bins","description":"List bins.","inputSchema":{"type":"object","properties":{"aisle":{"type":"string"}},"additionalProperties":false},"annotations":{"readOnly":true}},
	{"name":"move_bin","description":"Move a bin.","inputSchema":{"type":"object","properties":{"bin":{"type":"string"}},"required":["bin"]},"displayScript":"\"move\""},
	{"name":"purge_bin","description":"Discard a bin.","inputSchema":{"type":"object","properties":{"bin":{"type":"string"}},"required":["bin"]},"annotations":{"destructive":true}}]`

type rapInvocation struct {
	Operation       string          `json:"operation"`
	Arguments       json.RawMessage `json:"arguments"`
	ID              string          `json:"id"`
	CallID          *string         `json:"call_id"`
	CallbackURL     string          `json:"callback_url"`
	GroupID         string          `json:"group_id"`
	ThreadAncestors []string        `json:"thread_ancestors,omitempty"`
	UserID          string          `json:"user_id"`
}

// rapCallback is a message to the runtime, of any type.
type rapCallback struct {
	Type        string   `json:"type"`
	GroupID     string   `json:"group_id"`
	ID          string   `json:"id"`
	Text        string   `json:"text,omitempty"`
	Prompt      string   `json:"prompt,omitempty"`
	Choices     []string `json:"choices,omitempty"`
	Default     int      `json:"default"`
	ResponseURL string   `json:"response_url,omitempty"`
}

// rapAnswer is permd's answer.
type rapAnswer struct {
	Outcome  rap.Outcome `json:"outcome"`
	Decision struct {
		DecisionID string `json:"decisionId"`
	} `json:"decision"`
	Result *rap.ToolResult `json:"result"`
	Choice *rap.UserChoice `json:"choice"`
	Stored []any           `json:"stored"`
}

// rapGate asks permd on behalf of one of the two.
type rapGate struct {
	permd   *client.Client
	session string
	toolset json.RawMessage
	width   string
}

func (g *rapGate) invoke(t *testing.T, in *rapInvocation) (*rapAnswer, error) {
	params := struct {
		*rapInvocation
		SessionID string          `json:"sessionId"`
		Toolset   json.RawMessage `json:"toolset"`
		Width     string          `json:"width"`
	}{in, g.session, g.toolset, g.width}
	r := new(rapAnswer)
	return r, g.permd.Call(t.Context(), rap.MethodInvoke, params, r)
}

func (g *rapGate) choice(t *testing.T, decision string, selected int) (*rapAnswer, error) {
	r := new(rapAnswer)
	return r, g.permd.Call(t.Context(), rap.MethodChoice, map[string]any{"decisionId": decision, "selected": selected}, r)
}

// rapServer is a tool server.
type rapServer struct {
	*httptest.Server
	t    *testing.T
	gate *rapGate // nil when it asks nobody

	mu    sync.Mutex
	ran   []string
	asked map[string]func(selected int) // by call
	work  sync.WaitGroup
}

func newRAPServer(t *testing.T) *rapServer {
	t.Helper()
	s := &rapServer{t: t, asked: map[string]func(int){}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/rap-toolset", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.toolset()) })
	mux.HandleFunc("POST /invoke", func(w http.ResponseWriter, r *http.Request) {
		in := new(rapInvocation)
		if err := json.NewDecoder(r.Body).Decode(in); err != nil {
			http.Error(w, "no invocation", http.StatusBadRequest)
			return
		}
		s.work.Add(1) // acknowledged at once, done in the background
		go func() {
			defer s.work.Done()
			s.invoked(in)
		}()
	})
	mux.HandleFunc("POST /user_choice_response", func(_ http.ResponseWriter, r *http.Request) {
		var said struct {
			ID       string
			Selected int
		}
		if err := json.NewDecoder(r.Body).Decode(&said); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		answer := s.asked[said.ID]
		delete(s.asked, said.ID)
		s.mu.Unlock()
		if answer == nil {
			return
		}
		s.work.Add(1)
		go func() {
			defer s.work.Done()
			answer(said.Selected)
		}()
	})
	for path, method := range map[string]string{"/close_thread": rap.MethodCloseThread, "/cancel_tool_call": rap.MethodCancel} {
		mux.HandleFunc("POST "+path, func(_ http.ResponseWriter, r *http.Request) {
			var params map[string]any
			if err := json.NewDecoder(r.Body).Decode(&params); err != nil {
				t.Error(err)
			} else if s.gate != nil {
				if err := s.gate.permd.Call(t.Context(), method, params, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.work.Wait()
		s.Close()
	})
	return s
}

func (s *rapServer) toolset() []byte {
	return fmt.Appendf(nil, `{"name":"warehouse","description":"Bins","endpoint":"%s/invoke?t=%s","tools":%s,"needsMigration":false}`, s.URL, rapSecret, rapTools)
}

// invoked runs an invocation, once it may.
func (s *rapServer) invoked(in *rapInvocation) {
	if s.gate == nil {
		s.run(in)
		return
	}
	a, err := s.gate.invoke(s.t, in)
	switch {
	case err != nil:
		s.post(in, &rapCallback{Type: "tool_result", GroupID: in.GroupID, ID: in.ID, Text: "Error: permission could not be asked for"})
	case a.Outcome == rap.Run:
		s.run(in)
	case a.Outcome == rap.Ask:
		s.mu.Lock()
		s.asked[in.ID] = func(selected int) { s.chosen(in, a.Decision.DecisionID, selected) }
		s.mu.Unlock()
		s.post(in, struct {
			*rap.UserChoice
			ResponseURL string `json:"response_url"`
		}{a.Choice, s.URL + "/user_choice_response?t=" + rapSecret})
	default:
		s.post(in, a.Result)
	}
}

func (s *rapServer) chosen(in *rapInvocation, decision string, selected int) {
	a, err := s.gate.choice(s.t, decision, selected)
	switch {
	case err != nil:
		s.post(in, &rapCallback{Type: "tool_result", GroupID: in.GroupID, ID: in.ID, Text: "Error: the choice could not be taken"})
	case a.Outcome == rap.Run:
		s.run(in)
	default:
		s.post(in, a.Result)
	}
}

func (s *rapServer) run(in *rapInvocation) {
	s.mu.Lock()
	s.ran = append(s.ran, in.GroupID+" "+in.Operation+" "+string(in.Arguments))
	s.mu.Unlock()
	s.post(in, &rapCallback{Type: "tool_result", GroupID: in.GroupID, ID: in.ID, Text: in.Operation + " is done"})
}

func (s *rapServer) post(in *rapInvocation, message any) { rapPost(s.t, in.CallbackURL, message) }

// hasRun returns what has run since it was asked last.
func (s *rapServer) hasRun() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ran := s.ran
	s.ran = nil
	return ran
}

func rapPost(t *testing.T, url string, message any) {
	body, err := json.Marshal(message)
	if err != nil {
		t.Error(err)
		return
	}
	res, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("%T is answered with %s", message, res.Status)
	}
}
