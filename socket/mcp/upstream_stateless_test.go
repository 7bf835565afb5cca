package mcp

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/strictjson"
)

// TestUpstreamStateless: a message of a revision without sessions has its headers, and none of a
// session.
func TestUpstreamStateless(t *testing.T) {
	t.Parallel()
	var got atomic.Pointer[http.Header]
	w := newUpstreamWorld(t, func(to http.ResponseWriter, r *http.Request, body string) {
		got.Store(&r.Header)
		to.Header().Set("Content-Type", "application/json")
		id := readID(strictjson.Find(strictjson.Value(body), "id"))
		result := `{"protocolVersion":"2025-11-25"}`
		if strings.Contains(body, methodListTools) {
			result = `{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"s":{"type":"string","x-mcp-header":"S"},` +
				`"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"},"o":{"type":"object","properties":{"s":{"type":"string","x-mcp-header":"O-S"}}}}}}]}`
		}
		to.Header().Set("Mcp-Session-Id", "session-1")
		fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	})
	n := 0
	check := func(method, params string, want map[string]string) {
		t.Helper()
		n++
		id := fmt.Sprint(n)
		w.send(t, stateless(id, method, params, ""))
		w.want(t, `"id":`+id+`,`, 1)
		h := *got.Load()
		for name := range h {
			if strings.HasPrefix(name, "Mcp-") && name != "Mcp-Protocol-Version" && name != "Mcp-Method" && want[name] == "" {
				t.Errorf("%s %s: the header %s is %q", method, params, name, h.Get(name))
			}
		}
		if h.Get("Mcp-Protocol-Version") != "2026-07-28" || h.Get("Mcp-Method") != method {
			t.Errorf("%s: %v", method, h)
		}
		for name, value := range want {
			if h.Get(name) != value {
				t.Errorf("%s %s: %s is %q, want %q", method, params, name, h.Get(name), value)
			}
		}
	}
	in64 := func(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }
	check(methodDiscover, ``, nil)
	check(methodCallTool, `"name":"t","arguments":{"s":"x"}`, map[string]string{"Mcp-Name": "t"}) // it is not known
	check(methodListTools, ``, nil)
	check(methodCallTool, `"name":"t","arguments":{"s":"x","n":-7,"b":true,"o":{"s":"\u00e9"}}`,
		map[string]string{"Mcp-Name": "t", "Mcp-Param-S": "x", "Mcp-Param-N": "-7", "Mcp-Param-B": "true", "Mcp-Param-O-S": in64("é")})
	check(methodCallTool, `"name":"t","arguments":{"s":null,"n":42.0,"b":"x\r\nAuthorization: y"}`,
		map[string]string{"Mcp-Name": "t", "Mcp-Param-N": "42", "Mcp-Param-B": in64("x\r\nAuthorization: y")})
	check(methodCallTool, `"name":"t","arguments":{"s":{},"n":1.5,"o":1}`, map[string]string{"Mcp-Name": "t"})
	check(methodCallTool, `"name":"é\n"`, map[string]string{"Mcp-Name": in64("é\n")})
	check(methodCallTool, `"name":" x"`, map[string]string{"Mcp-Name": in64(" x")})
	check(methodCallTool, `"name":"=?base64?x?="`, map[string]string{"Mcp-Name": in64("=?base64?x?=")})
	check(methodReadResource, `"uri":"file:///x y"`, map[string]string{"Mcp-Name": "file:///x y"})
	check(methodGetPrompt, `"name":"p"`, map[string]string{"Mcp-Name": "p"})
	// A session besides is nothing of it.
	w.send(t, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}`)
	w.want(t, `"id":"i"`, 1)
	check("prompts/list", ``, nil)
	w.send(t, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	w.want(t, `"id":"p"`, 1)
	if h := *got.Load(); h.Get("Mcp-Session-Id") != "session-1" || h.Get("Mcp-Protocol-Version") != "2025-11-25" || h.Get("Mcp-Method") != "" {
		t.Errorf("with a session: %v", h)
	}
}

// TestUpstreamWithdraws: a request is withdrawn by nobody reading its answer, and a stream that
// breaks off is not opened again.
func TestUpstreamWithdraws(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	w := newUpstreamWorld(t, func(to http.ResponseWriter, r *http.Request, body string) {
		to.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(to, "id: 1\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
		to.(http.Flusher).Flush()
		if strings.Contains(body, methodListen) {
			<-r.Context().Done()
			gone.Store(true)
		}
	})
	w.send(t, stateless("1", methodListen, `"notifications":{}`, ""))
	w.want(t, "notifications/message", 1)
	w.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	eventually.Holds(t, "the server sees the end", gone.Load)
	w.send(t, stateless("2", methodCallTool, `"name":"t"`, ""))
	w.want(t, `"id":2,"error"`, 1)
	w.want(t, mayHaveRun, 1)
	w.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	w.send(t, stateless("3", "prompts/list", ``, ""))
	w.want(t, `"id":3,"error"`, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) != 3 {
		t.Errorf("the server was sent %q", w.requests)
	}
	if n := strings.Count(strings.Join(w.lines, ""), `"id":1,`); n != 0 {
		t.Errorf("a request that was withdrawn is answered: %q", w.lines)
	}
}

// TestParamHeaders: a tool whose definition wants headers that the protocol does not have is not
// listed, over HTTP.
func TestParamHeaders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		schema string
		want   string // "bad", or the names
	}{
		{`{}`, ""},
		{`true`, ""},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"integer","x-mcp-header":"b-_.~"}}}`, "a=Mcp-Param-A b=Mcp-Param-b-_.~"},
		{`{"properties":{"a":{"properties":{"b":{"type":"boolean","x-mcp-header":"A"}}}}}`, "a.b=Mcp-Param-A"},
		{`{"properties":{"x-mcp-header":{"type":"string"}}}`, ""},
		{`{"properties":{"a":{"default":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":1}]}}}`, ""},
		{`{"x-mcp-header":"A","type":"string"}`, "bad"},
		{`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, "bad"},
		{`{"properties":{"a":{"type":["string"],"x-mcp-header":"A"}}}`, "bad"},
		{`{"properties":{"a":{"x-mcp-header":"A"}}}`, "bad"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, "bad"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":1}}}`, "bad"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`, "bad"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nB"}}}`, "bad"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A:"}}}`, "bad"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`, "bad"},
		{`{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}`, "bad"},
		{`{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, "bad"},
		{`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, "bad"},
		{`{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}`, "bad"},
		{`{"patternProperties":{"a":{"type":"string","x-mcp-header":"A"}}}`, "bad"},
		{strings.Repeat(`{"properties":{"a":`, 2*maxSchemaDepth) + `{}` + strings.Repeat(`}}`, 2*maxSchemaDepth), "bad"},
	} {
		tool := `{"name":"t","inputSchema":` + tt.schema + `}`
		headers, err := paramHeaders(strictjson.Value(tool))
		var list []string
		for _, h := range headers {
			list = append(list, strings.Join(h.path, ".")+"="+h.name)
		}
		got := strings.Join(list, " ")
		if err != nil {
			got = "bad"
		}
		if got != tt.want {
			t.Errorf("%.100s: %s, want %s", tt.schema, got, tt.want)
		}
	}

	w := newWorld(t)
	list := func(id, request string) {
		w.send(t, request)
		w.wantServer(t, `"id":`+id+`,`)
		w.serve(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{"tools":[{"name":"yes","inputSchema":{"x-mcp-header":"A"}},{"name":"yes2","inputSchema":{}}]}}`+"\n")
	}
	list("1", stateless("1", methodListTools, "", ""))
	w.wantClient(t, `"id":1,`)
	if left := !has(w, &w.client, `"name":"yes",`); left != overHTTP {
		t.Errorf("over HTTP %v: the client receives %s", overHTTP, w.client)
	}
	list("2", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`)
	w.wantClient(t, `"id":2,"result":{"tools":[{"name":"yes",`)
}

// TestHeadersRefused: a server that refuses the headers of a call has other tools than the client
// knows. They are asked for before the next call, which is decided by what they are now.
func TestHeadersRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := func(id string) {
		w.send(t, stateless(id, methodCallTool, `"name":"yes"`, ""))
		w.wantServer(t, `"id":`+id+`,`)
	}
	call("1")
	w.serve(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"x"}}`+"\n")
	w.wantClient(t, `"id":1,"error":{"code":-32020`)
	call("2")
	w.serve(t, `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"x"}}`+"\n")
	w.wantClient(t, `"id":2,"error"`)
	call("3")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ownLists) != 2 {
		t.Errorf("the server was asked for its tools %d times, want 2", len(w.ownLists))
	}
}
