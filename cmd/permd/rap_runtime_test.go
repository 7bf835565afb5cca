package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/permd/permd/socket/rap"
)

// rapRuntime is an agent runtime whose model is the test.
type rapRuntime struct {
	*httptest.Server
	t      *testing.T
	server *rapServer
	gate   *rapGate // nil when it asks nobody
	calls  int
	inbox  chan rapCallback
	// person answers what they are asked: the index of a label, -1 to interrupt
	// the call.
	person func(c rapCallback) int
	asked  []string // the prompts
}

// newRAPRuntime makes a runtime and a server, of which one asks permd.
func newRAPRuntime(t *testing.T, d *testDaemon, project string, serverAsks bool) *rapRuntime {
	t.Helper()
	rt := &rapRuntime{t: t, server: newRAPServer(t), inbox: make(chan rapCallback, 16)}
	rt.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c rapCallback
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil || r.URL.Query().Get("t") != rapSecret {
			t.Errorf("callback: %v, %s", err, r.URL)
		}
		rt.inbox <- c
	}))
	t.Cleanup(rt.Close)
	res, err := http.Get(rt.server.URL + "/.well-known/rap-toolset")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	gate := &rapGate{permd: d.dial(t), session: "s1"}
	if err := json.NewDecoder(res.Body).Decode(&gate.toolset); err != nil {
		t.Fatal(err)
	}
	if err := gate.permd.Call(t.Context(), "permd/session", map[string]any{"sessionId": "s1", "cwd": project, "client": map[string]string{"name": "infinity"}}, nil); err != nil {
		t.Fatal(err)
	}
	if serverAsks {
		rt.server.gate = gate
	} else {
		rt.gate = gate
	}
	rt.person = func(c rapCallback) int {
		t.Errorf("the person is asked: %s", c.Prompt)
		return c.Default
	}
	return rt
}

func (rt *rapRuntime) asker() *rapGate {
	if rt.gate != nil {
		return rt.gate
	}
	return rt.server.gate
}

// call makes the model call an operation in a thread, "root/pick", and returns the
// result that the model gets.
func (rt *rapRuntime) call(thread, operation, arguments string) string {
	rt.t.Helper()
	rt.calls++
	path := strings.Split(thread, "/")
	in := &rapInvocation{
		Operation: operation, Arguments: json.RawMessage(arguments), ID: fmt.Sprint("call_", rt.calls),
		CallbackURL: rt.URL + "/callback?t=" + rapSecret, GroupID: path[len(path)-1], ThreadAncestors: path[:len(path)-1], UserID: "u-7",
	}
	if rt.gate != nil {
		if told := rt.ask(in); told != "" {
			return told
		}
	}
	rapPost(rt.t, rt.server.URL+"/invoke", in)
	for {
		select {
		case c := <-rt.inbox:
			if c.ID != in.ID || c.GroupID != in.GroupID {
				rt.t.Fatalf("a callback for another call: %+v", c)
			}
			if c.Type == "tool_result" {
				return c.Text
			}
			selected := rt.show(c)
			if selected < 0 {
				// The person interrupts the agent; their late answer arrives nevertheless.
				rt.notify("/cancel_tool_call", map[string]string{"thread_id": in.GroupID, "tool_call_id": in.ID})
				selected = 0
			}
			rapPost(rt.t, c.ResponseURL, map[string]any{"id": c.ID, "selected": selected})
		case <-rt.t.Context().Done():
			rt.t.Fatal("no result came")
		}
	}
}

// ask asks permd before an invocation is sent; "" when it may be.
func (rt *rapRuntime) ask(in *rapInvocation) (told string) {
	rt.t.Helper()
	a, err := rt.gate.invoke(rt.t, in)
	if err != nil {
		return "Error: permission could not be asked for"
	}
	if a.Outcome == rap.Ask {
		selected := rt.show(rapCallback{Prompt: a.Choice.Prompt, Choices: a.Choice.Choices, Default: a.Choice.Default})
		if selected < 0 {
			rt.notify("/cancel_tool_call", map[string]string{"thread_id": in.GroupID, "tool_call_id": in.ID})
			selected = 0
		}
		if a, err = rt.gate.choice(rt.t, a.Decision.DecisionID, selected); err != nil {
			return "Error: the choice could not be taken"
		}
	}
	if a.Outcome == rap.Run {
		return ""
	}
	return a.Result.Text
}

func (rt *rapRuntime) show(c rapCallback) int {
	rt.asked = append(rt.asked, strings.Join(c.Choices, " | "))
	return rt.person(c)
}

// notify notifies the server, and permd if it is the runtime that asks.
func (rt *rapRuntime) notify(path string, message map[string]string) {
	rt.t.Helper()
	rapPost(rt.t, rt.server.URL+path, message)
	if rt.gate != nil {
		method := map[string]string{"/close_thread": rap.MethodCloseThread, "/cancel_tool_call": rap.MethodCancel}[path]
		if err := rt.gate.permd.Call(rt.t.Context(), method, message, nil); err != nil {
			rt.t.Error(err)
		}
	}
}

func (rt *rapRuntime) close(thread string) {
	rt.t.Helper()
	rt.notify("/close_thread", map[string]string{"thread_id": thread})
}

// questions returns the labels that were shown since it was asked last.
func (rt *rapRuntime) questions() []string {
	asked := rt.asked
	rt.asked = nil
	return asked
}
