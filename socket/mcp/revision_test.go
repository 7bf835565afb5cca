package mcp

import (
	"fmt"
	"strings"
	"testing"
)

// TestRevisions: requests and results of revisions that the gateway does not know are not passed
// on, whatever they call, nor results of one revision in another one.
func TestRevisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := 0
	refused := func(method, params, want string) {
		t.Helper()
		n++
		w.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, n, method, params))
		w.wantClient(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":%s`, n, want))
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, method := range []string{methodDiscover, methodCallTool, methodListTools, "ping", "subscriptions/listen", "prompts/get", methodReadResource} {
		refused(method, `{"name":"yes","uri":"a:b",`+meta+`}`, `-32022,"message":"permd: this revision of the protocol is not supported","data":{"supported":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"requested":"2027-01-01"}}`)
	}
	refused(methodListTools, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}}`, "-32022")
	refused(methodDiscover, `{}`, "-32601")
	refused(methodCallTool, `{"name":"yes","_meta":{"io.modelcontextprotocol/protocolVersion":{}}}`, "-32022")
	refused("subscriptions/listen", `{}`, "-32601")
	refused("tasks/update", `{}`, "-32601")
	// A call that is repeated with the answers to questions.
	refused(methodCallTool, `{"name":"yes","inputResponses":{"x":{"action":"accept"}},"requestState":"s"}`, "-32602")
	w.send(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{`+meta+`}}`)
	w.flush(t)
	w.mu.Lock()
	if len(w.server) != 0 {
		t.Errorf("the server received %s", w.server)
	}
	w.mu.Unlock()

	// Results.
	for _, tt := range []struct {
		method, result string
		passes         bool
	}{
		{methodInitialize, `{"protocolVersion":"2025-06-18"}`, true},
		{methodInitialize, `{"protocolVersion":"2026-07-28"}`, false},
		{methodInitialize, `{"protocolVersion":"2027-01-01"}`, false},
		{methodInitialize, `{}`, false},
		{"ping", `{"resultType":"complete"}`, true},
		{methodCallTool, `{"content":[],"structuredContent":{"inputRequests":{}}}`, true},
		{methodCallTool, `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"permd asks: x"}}}}`, false},
		{methodCallTool, `{"content":[],"inputRequests":{}}`, false},
		{methodCallTool, `{"content":[],"InputRequests":{}}`, false},
		{methodListTools, `{"tools":[],"resultType":1}`, false},
		{"prompts/get", `{"resultType":"later"}`, false},
	} {
		n++
		id := fmt.Sprintf(`"id":%d,`, n)
		w.send(t, strings.Replace(call(fmt.Sprint(n), "yes"), methodCallTool, tt.method, 1))
		w.wantServer(t, id)
		w.serve(t, `{"jsonrpc":"2.0",`+id+`"result":`+tt.result+"}\n")
		w.wantClient(t, id)
		if has(w, &w.client, id+`"result"`) != tt.passes {
			t.Errorf("%s: the client received %s", tt.result, w.client[len(w.client)-1])
		}
	}
}
