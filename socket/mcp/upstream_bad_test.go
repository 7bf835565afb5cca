package mcp

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestUpstreamAnswers: a request that is posted is answered once, whatever the server makes of it,
// and posted once.
func TestUpstreamAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLine)
	for name, tt := range map[string]struct {
		play func(w http.ResponseWriter, r *http.Request)
		want string // a part of the answer
	}{
		"JSON":          {func(w http.ResponseWriter, _ *http.Request) { asJSON(w, ponged) }, `"pong":1`},
		"JSON in lines": {func(w http.ResponseWriter, _ *http.Request) { asJSON(w, strings.ReplaceAll(ponged, ",", ",\n")+"\n") }, `"pong":1`},
		"a newline in a text": {func(w http.ResponseWriter, _ *http.Request) {
			asJSON(w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\n\"}}")
		}, "cannot be passed on"},
		"an event": {func(w http.ResponseWriter, _ *http.Request) { asEvents(w, "data: "+ponged+"\n\n") }, `"pong":1`},
		"other ends of lines": {func(w http.ResponseWriter, _ *http.Request) {
			asEvents(w, "\ufeff: hello\r\rid:7\r\nevent:message\rdata:"+ponged+"\r\n\r\n")
		}, `"pong":1`},
		"data in lines": {func(w http.ResponseWriter, _ *http.Request) {
			asEvents(w, "data: "+strings.ReplaceAll(ponged, ",", ",\ndata: ")+"\n\n")
		}, `"pong":1`},
		"other events first": {func(w http.ResponseWriter, _ *http.Request) {
			asEvents(w, "event: x\ndata: "+strings.Replace(ponged, "pong", "x", 1)+"\n\nretry: x\nid\n\ndata\n\ndata: "+progress+"\n\ndata: "+ponged+"\n\n")
		}, `"pong":1`},
		"a second response": {func(w http.ResponseWriter, _ *http.Request) {
			asEvents(w, "data: "+ponged+"\n\ndata: "+strings.Replace(ponged, "pong", "late", 1)+"\n\n")
		}, `"pong":1`},
		"a response to no request": {func(w http.ResponseWriter, _ *http.Request) {
			asEvents(w, "data: "+strings.Replace(ponged, `"id":1`, `"id":2`, 1)+"\n\ndata: "+ponged+"\n\n")
		}, `"pong":1`},
		"500":                   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "HTTP 500"},
		"401":                   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "another token"},
		"404 without a session": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "HTTP 404"},
		"202 to a request":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, "HTTP 202"},
		"204":                   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, "HTTP 204"},
		"400 with an error": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"mine"}}`)
		}, "mine"},
		"400 with a result": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = io.WriteString(w, ponged)
		}, "HTTP 400"},
		"HTML": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>"+ponged)
		}, "neither JSON"},
		"no type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, ponged)
		}, "neither JSON"},
		"nothing":    {func(w http.ResponseWriter, _ *http.Request) { asJSON(w, "") }, "cannot be passed on"},
		"no JSON":    {func(w http.ResponseWriter, _ *http.Request) { asJSON(w, "{") }, "cannot be passed on"},
		"two values": {func(w http.ResponseWriter, _ *http.Request) { asJSON(w, ponged+ponged) }, "cannot be passed on"},
		"a batch":    {func(w http.ResponseWriter, _ *http.Request) { asJSON(w, "["+ponged+"]") }, "cannot be passed on"},
		"another id": {func(w http.ResponseWriter, _ *http.Request) { asJSON(w, strings.Replace(ponged, "1", "2", 1)) }, "cannot be passed on"},
		"a request":  {func(w http.ResponseWriter, _ *http.Request) { asJSON(w, pinged) }, "cannot be passed on"},
		"the id null": {func(w http.ResponseWriter, _ *http.Request) {
			asJSON(w, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`)
		}, "cannot be passed on"},
		"a lone surrogate": {func(w http.ResponseWriter, _ *http.Request) {
			asEvents(w, `data: {"jsonrpc":"2.0","id":1,"result":"\ud800"}`+"\n\n")
		}, "cannot be passed on"},
		"a long answer": {func(w http.ResponseWriter, _ *http.Request) {
			asJSON(w, `{"jsonrpc":"2.0","id":1,"result":"`+long+`"}`)
		}, "longer than 32 MiB"},
		"a long event": {func(w http.ResponseWriter, _ *http.Request) {
			asEvents(w, `data: {"jsonrpc":"2.0","id":1,"result":"`+long+`"}`+"\n\n")
		}, "longer than 32 MiB"},
		"a long event in lines": {func(w http.ResponseWriter, _ *http.Request) {
			asEvents(w, strings.Repeat("data: "+long[:maxLine/4]+"\n", 5)+"\n")
		}, "longer than 32 MiB"},
		"an event that never ends": {func(w http.ResponseWriter, _ *http.Request) {
			for range 2 * maxSkipped >> 20 {
				if _, err := io.WriteString(w, long[:1<<20]); err != nil {
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
			}
		}, "neither JSON"},
		"a stream of comments": {func(w http.ResponseWriter, _ *http.Request) {
			asEvents(w, ":")
			for range 2 * maxSkipped >> 20 {
				if _, err := io.WriteString(w, long[:1<<20]); err != nil {
					return
				}
			}
		}, "longer than 128 MiB"},
		"half an event":   {func(w http.ResponseWriter, _ *http.Request) { asEvents(w, "data: "+ponged+"\n") }, "ended without a response"},
		"an empty stream": {func(w http.ResponseWriter, _ *http.Request) { asEvents(w, "") }, "ended without a response"},
		"a redirect to another": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.2:1/mcp")
			w.WriteHeader(307)
		}, "HTTP 307, a redirect"},
		"a redirect with a name": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://u:p@"+r.Host+"/mcp")
			w.WriteHeader(307)
		}, "HTTP 307, a redirect"},
		"a redirect to a GET": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", "/other"); w.WriteHeader(302) }, "HTTP 302, a redirect"},
		"redirects for ever":  {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", "/mcp"); w.WriteHeader(308) }, "HTTP 308, a redirect"},
		"a redirect to another server of the host": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/mcp" {
				w.Header().Set("Location", "/other/mcp")
				w.WriteHeader(307)
				return
			}
			asJSON(w, ponged)
		}, "HTTP 307, a redirect"},
		"the end of the connection": {breakAfter(""), "gave no answer"},
		"half a status":             {breakAfter("HTTP/1.1 200 O"), "gave no answer"},
		"half a header":             {breakAfter("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"), "gave no answer"},
		"no HTTP":                   {breakAfter("zzz\r\n\r\n"), "gave no answer"},
		"half a body":               {breakAfter("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"), "cannot be passed on"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && strings.HasPrefix(tt.want, "longer than") && name != "a long answer" {
				t.Skip("long: an answer of more than 32 MiB; a long answer is the quick one")
			}
			t.Parallel()
			w := newUpstreamWorld(t, func(to http.ResponseWriter, r *http.Request, _ string) { tt.play(to, r) })
			w.send(t, pinged)
			w.want(t, `"id":1,`, 1)
			w.u.running.Wait() // all that the server says is read
			if w.count(`"id":`) != 1 || w.count(tt.want) != 1 {
				t.Errorf("the answer is %.300q", w.lines)
			}
			if n := w.posts(""); n != 1 {
				t.Errorf("it was posted %d times", n)
			}
			// Unless it is the server's own response, nobody knows whether the call has run.
			if own := w.count("pong")+w.count("mine") > 0; w.count(mayHaveRun) == 1 == own {
				t.Errorf("the answer is %.300q", w.lines)
			}
		})
	}
}

// breakAfter answers with a part of an answer, and ends the connection.
func breakAfter(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(c, text)
		c.Close()
	}
}

// TestUpstreamCut: an answer that ends at any byte, of its header too, is one error, which says that
// the call may have run, and the call is posted once.
func TestUpstreamCut(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application/json", "text/event-stream"} {
		var sent atomic.Pointer[string]
		w := newUpstreamWorld(t, func(to http.ResponseWriter, r *http.Request, _ string) { breakAfter(*sent.Load())(to, r) })
		for n := 0; ; n++ {
			id := fmt.Sprintf(`"id":%d,`, n+100)
			body := strings.Replace(ponged, `"id":1,`, id, 1)
			if kind == "text/event-stream" {
				body = "data: " + body + "\n\n"
			}
			answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(body), body)
			whole := n == len(answer)
			answer = answer[:n]
			sent.Store(&answer)
			w.send(t, strings.Replace(pinged, `"id":1,`, id, 1))
			w.want(t, id, 1)
			if whole {
				w.want(t, `"pong":1`, 1)
				break
			}
			if w.count(mayHaveRun) != n+1 || w.count("pong") > 0 || w.posts("") != n+1 {
				t.Fatalf("%q: %q, %d posts", answer, w.lines[n:], w.posts(""))
			}
		}
	}
}
