package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// TestMixedRevisions: requests of several revisions in one conversation are each what they say. A
// question of one is not answered in the other.
func TestMixedRevisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// A server sends no requests where there are no sessions.
	w.send(t, stateless("0", "prompts/list", "", ""))
	w.wantServer(t, `"prompts/list"`)
	w.serve(t, `{"jsonrpc":"2.0","id":"s1","method":"elicitation/create","params":{"message":"early"}}`+"\n"+
		`{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete"}}`+"\n")
	w.wantClient(t, `"id":0,"result"`)
	if has(w, &w.client, "early") {
		t.Error("the client receives a request of the server")
	}

	// With a session there are.
	w.send(t, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"capabilities":{"elicitation":{}}}}`)
	w.wantServer(t, `"initialize"`)
	w.serve(t, `{"jsonrpc":"2.0","id":"s2","method":"elicitation/create","params":{"message":"later"}}`+"\n")
	w.wantClient(t, "The server s asks: later")

	// The same call in both revisions. Each has its own question.
	w.send(t, call("1", "ask"))
	w.wantClient(t, `"method":"elicitation/create","params":{"message":"permd asks`)
	w.send(t, stateless("2", methodCallTool, `"name":"ask","arguments":{"a":1}`, withForms))
	state := w.answerTo(t, "2").Result.RequestState
	// What was said at the beginning is not said in a request.
	w.send(t, stateless("3", methodCallTool, `"name":"ask","arguments":{"a":1}`, ""))
	if m := w.answerTo(t, "3"); m.Result.ResultType != "complete" {
		t.Errorf("%+v", m)
	}
	const yes = `"inputResponses":{"permd":{"action":"accept","content":{"answer":"once"}}}`
	for i, line := range []string{
		`"params":{"name":"ask","arguments":{"a":1},` + yes + `,"requestState":"` + state + `"}}`,
		`"params":{"name":"ask","arguments":{"a":1},` + yes + `}}`,
	} {
		id := fmt.Sprint(10 + i)
		w.send(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call",`+line)
		if m := w.answerTo(t, id); m.Error.Code != codeParams {
			t.Errorf("%s: %+v", line, m)
		}
	}
	w.send(t, `{"jsonrpc":"2.0","id":"`+state+`","result":{"action":"accept","content":{"answer":"once"}}}`)
	w.flush(t)
	if has(w, &w.server, "tools/call") {
		t.Errorf("the server received %s", w.server)
	}
	w.send(t, stateless("4", methodCallTool, `"name":"ask","arguments":{"a":1},`+yes+`,"requestState":"`+state+`"`, withForms))
	w.wantServer(t, `"id":4,"method":"tools/call"`)

	// Results are those of the revision of their request.
	const more = `{"resultType":"input_required","requestState":"x"}`
	w.send(t, call("5", "yes"), stateless("6", methodCallTool, `"name":"yes","arguments":{"a":1}`, ""))
	w.wantServer(t, `"id":5,`)
	w.wantServer(t, `"id":6,`)
	w.serve(t, `{"jsonrpc":"2.0","id":5,"result":`+more+"}\n"+`{"jsonrpc":"2.0","id":6,"result":`+more+"}\n")
	if m := w.answerTo(t, "5"); m.Error.Code != codeInternal {
		t.Errorf("%+v", m)
	}
	if m := w.answerTo(t, "6"); m.Result.RequestState == "" {
		t.Errorf("%+v", m)
	}
}

// TestListen: a subscription lasts until one of the peers ends it.
func TestListen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.send(t, stateless("7", methodListen, `"notifications":{"toolsListChanged":true}`, ""))
	w.wantServer(t, `"notifications":{"toolsListChanged":true}`)
	const of = `"_meta":{"io.modelcontextprotocol/subscriptionId":7}`
	w.serve(t, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{`+of+`,"notifications":{}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{`+of+`}}`+"\n")
	w.wantClient(t, "notifications/subscriptions/acknowledged")
	w.wantClient(t, notedToolsChanged)
	// The id is in use, also by no call.
	w.send(t, call("7", "yes"))
	w.wantClient(t, "a request with this id has no response yet")
	w.serve(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`+"\n")
	w.wantClient(t, notedCancelled)
	w.serve(t, `{"jsonrpc":"2.0","id":7,"result":{"late":1}}`+"\n")

	// A server cannot withdraw anything else.
	w.send(t, call("8", "yes"))
	w.wantServer(t, `"id":8,`)
	w.serve(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8,"reason":"x"}}`+"\n"+
		`{"jsonrpc":"2.0","id":8,"result":{"content":[]}}`+"\n")
	w.wantClient(t, `"id":8,"result"`)

	w.send(t, stateless("9", methodListen, `"notifications":{}`, ""))
	w.wantServer(t, `"id":9,`)
	w.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`)
	if !overHTTP {
		w.wantServer(t, `"requestId":9`)
	}
	w.serve(t, `{"jsonrpc":"2.0","id":9,"result":{"late":1}}`+"\n")
	w.flush(t)
	if has(w, &w.client, "late") {
		t.Error("the client receives a response after the end")
	}
}

// TestOwnListOfTools: the gateway asks for the tools in the revision of the call.
func TestOwnListOfTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.send(t, call("1", "no"))
	w.answerTo(t, "1")
	w.serve(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n")
	w.wantClient(t, notedToolsChanged)
	w.send(t, stateless("2", methodCallTool, `"name":"no"`, withForms))
	w.answerTo(t, "2")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ownLists) != 2 || !strings.HasSuffix(w.ownLists[0], `"params":{}}`+"\n") || !strings.HasSuffix(w.ownLists[1], `"params":{`+metaOf("")+"}}\n") {
		t.Errorf("the server was asked %q", w.ownLists)
	}
}

// TestHiddenListIsPrivate: a list in which tools are hidden is for nobody else.
func TestHiddenListIsPrivate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tools, want string }{
		{`[{"name":"yes"},{"name":"no"}]`, `"result":{"tools":[{"name":"yes"}],"cacheScope":"private","ttlMs":1}`},
		{`[{"name":"yes"}]`, `"result":{"tools":[{"name":"yes"}],"cacheScope":"public","ttlMs":1}`},
	} {
		w := newWorldWith(t, t.TempDir(), func(c *Config) { c.HideDenied = true })
		w.send(t, stateless("1", methodListTools, "", ""))
		w.wantServer(t, methodListTools)
		w.serve(t, `{"jsonrpc":"2.0","id":1,"result":{"tools":`+tt.tools+`,"cacheScope":"public","ttlMs":1}}`+"\n")
		w.wantClient(t, tt.want)
	}
}

// TestEndWhileAsked: the end of the client ends the calls that wait for its answer.
func TestEndWhileAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 2 * maxDeciding { // they do not count as calls that wait
		w.send(t, stateless(fmt.Sprint(i), methodCallTool, fmt.Sprintf(`"name":"ask","arguments":{"a":%d}`, i), withForms))
		if m := w.answerTo(t, fmt.Sprint(i)); m.Result.ResultType != "input_required" {
			t.Fatalf("%+v", m)
		}
	}
	w.toGateway.Close()
	eventually.Holds(t, "the conversation ends", func() bool {
		select {
		case err := <-w.ended:
			w.ended <- err
			return true
		default:
			return false
		}
	})
}
