package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/otc"
)

// otcTools are the tools of a test's server, as GET /tools lists them: Sms.Send in
// three versions, the newest first.
const otcTools = `{"items":[
	{"id":"Sms.Send@1.3.0","name":"Sms_Send","description":"Send","version":"1.3.0","input_schema":` + otcSchema + `,"requirements":` + otcNeeds + `},
	{"id":"Sms.Send@1.2.0","name":"Sms_Send","description":"Send","version":"1.2.0","input_schema":{"parameters":` + otcSchema + `},"requirements":` + otcNeeds + `},
	{"id":"Sms.Send@1.0.0","name":"Sms_Send","description":"Send","version":"1.0.0","input_schema":` + otcSchema + `},
	{"id":"Clock.Now@1.0.0","name":"Clock_Now","description":"The time","version":"1.0.0","input_schema":{"type":"object"}},
	{"id":"Ledger.Post@2.0.0","name":"Ledger_Post","description":"Book","version":"2.0.0","input_schema":{"type":"object"}}]}`

const (
	otcSchema = `{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}},"required":["to","text"],"additionalProperties":false}`
	otcNeeds  = `{"authorization":[{"id":"sms-idp","oauth2":{"scopes":["sms.send"]}}],"secrets":[{"id":"TWILIO_API_KEY"}],"user_id":true}`
)

// Credentials of the test's runtime, which must stay there and at the server.
const (
	otcToken  = "NOT-A-REAL-TOKEN-7"
	otcSecret = "NOT-A-REAL-SECRET-7"
)

type otcTool struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	raw     strictjson.Value
}

type otcCall struct {
	ToolID  string         `json:"tool_id"`
	CallID  string         `json:"call_id,omitempty"`
	Input   map[string]any `json:"input,omitempty"`
	Context map[string]any `json:"context,omitempty"`
}

// otcServer is a tool server of Open Tool Calling, written from the shapes of its
// draft. It may ask permd itself before a tool runs.
type otcServer struct {
	*httptest.Server
	tools []otcTool
	// gate asks permd about the body of a request; nil for a server that trusts its
	// callers.
	gate func(body []byte, tool *otcTool) *otc.Answer

	mu   sync.Mutex
	ran  []string          // "tool input"
	done map[string][]byte // by call_id: the answer that was given
	lose int               // so many answers are lost on their way
}

func newOTCServer(t *testing.T) *otcServer {
	t.Helper()
	s := &otcServer{tools: otcToolsOf(t, otcTools), done: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tools", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, otcTools) })
	mux.HandleFunc("POST /tools/call", s.call)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func otcToolsOf(t *testing.T, list string) []otcTool {
	t.Helper()
	var items struct {
		Items []strictjson.Value `json:"items"`
	}
	if err := strictjson.Unmarshal([]byte(list), &items); err != nil {
		t.Fatal(err)
	}
	var tools []otcTool
	for _, raw := range items.Items {
		tool := otcTool{raw: raw}
		if err := json.Unmarshal(raw, &tool); err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	return tools
}

// otcFind returns the tool that an id names; without a version it is the latest.
func otcFind(tools []otcTool, id string) *otcTool {
	name, version, _ := strings.Cut(id, "@")
	if version != "" && !strings.Contains(version, ".") {
		version += ".0.0"
	}
	for i := range tools {
		if strings.HasPrefix(tools[i].ID, name+"@") && (version == "" || tools[i].Version == version) {
			return &tools[i]
		}
	}
	return nil
}

// call runs a tool, once for each call_id.
func (s *otcServer) call(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var bare otcCall
	enveloped := struct {
		Request *otcCall `json:"request"`
	}{&bare}
	if json.Unmarshal(body, &bare) != nil || bare.ToolID == "" && json.Unmarshal(body, &enveloped) != nil {
		http.Error(w, `{"message":"no call"}`, http.StatusBadRequest)
		return
	}
	tool := otcFind(s.tools, bare.ToolID)
	if tool == nil {
		http.Error(w, `{"message":"no such tool"}`, http.StatusBadRequest)
		return
	}
	if s.gate != nil {
		if a := s.gate(body, tool); a == nil || a.Outcome != otc.Run {
			s.refuse(w, a)
			return
		}
	}
	answer := s.done[bare.CallID]
	if answer == nil {
		input, _ := json.Marshal(bare.Input)
		s.ran = append(s.ran, tool.ID+" "+string(input))
		answer = fmt.Appendf(nil, `{"call_id":%q,"success":true,"value":"%s is done"}`, bare.CallID, tool.ID)
		if bare.CallID != "" {
			s.done[bare.CallID] = answer
		}
	}
	if s.lose > 0 {
		s.lose--
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintf(w, "%s", answer)
}

// refuse answers a call that permd did not let run; nil for a permd that could not
// be asked.
func (s *otcServer) refuse(w http.ResponseWriter, a *otc.Answer) {
	if a == nil {
		a = &otc.Answer{Response: &otc.Response{Status: http.StatusBadRequest, Body: otc.Body{Message: "permd cannot be reached"}}}
	}
	body, err := json.Marshal(a.Response.Body)
	if err != nil {
		panic(err)
	}
	w.WriteHeader(a.Response.Status)
	fmt.Fprintf(w, "%s", body)
}

// post sends a call, as a runtime does; 0 for an answer that was lost.
func (s *otcServer) post(ctx context.Context, body []byte) (status int, answer []byte) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/tools/call", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	res, err := s.Client().Do(req)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		return 0, nil
	}
	return res.StatusCode, answer
}
