package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// aapEchoes: a server that repeats the key of --key-file, anywhere and in any form. The client
// does not get it, and no call of such an answer is decided.
func aapEchoes(t *testing.T) {
	d := aapDaemon(t)
	var path, body, kind string // what is answered to which path
	code := 200
	s := newAAPServer(t, says("done"))
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path == "" || r.Method+" "+r.URL.Path[strings.LastIndex(r.URL.Path, "/"):] != path {
			s.Config.Handler.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Location", "/"+aapKey)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(front.Close)
	gateway, key := d.startGateway(t, front.URL)
	c := newPlainAAP(t, gateway, key, "message")
	const json, sse = "application/json", "text/event-stream"
	event := func(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }
	turn := func(events ...string) string {
		return event("turn_start", "{}") + strings.Join(events, "") + event("turn_stop", `{"stopReason":"end_turn"}`)
	}
	var pieces []string
	for _, b := range []byte(aapKey) {
		pieces = append(pieces, event("text_delta", fmt.Sprintf(`{"delta":"%c"}`, b)))
	}
	for form, said := range map[string]string{
		"as it is": aapKey, "in capitals": strings.ToUpper(aapKey), "base64": base64.StdEncoding.EncodeToString([]byte("x" + aapKey)),
		"hexadecimal": hex.EncodeToString([]byte(aapKey)), "percent": strings.ReplaceAll(url.QueryEscape(aapKey), "-", "%2d"),
	} {
		for place, row := range map[string]struct {
			stream, path string
			code         int
			kind, body   string
		}{
			"a text":          {"message", "POST /turns", 200, sse, turn(event("text", `{"text":"it is `+said+`!"}`))},
			"a call":          {"message", "POST /turns", 200, sse, turn(event("tool_call", `{"toolCallId":"k1","name":"page","input":{"`+said+`":1}}`), event("tool_result", `{"toolCallId":"k1","content":"x"}`))},
			"a result":        {"message", "POST /turns", 200, sse, turn(event("tool_call", `{"toolCallId":"k1","name":"page","input":{}}`), event("tool_result", `{"toolCallId":"k1","content":[{"type":"text","text":"`+said+`"}]}`))},
			"pieces":          {"delta", "POST /turns", 200, sse, turn(event("text_delta", `{"delta":"`+said[:len(said)-3]+`"}`), event("text_delta", `{"delta":"`+said[len(said)-3:]+`"}`))},
			"single letters":  {"delta", "POST /turns", 200, sse, turn(pieces...)},
			"a whole turn":    {"none", "POST /turns", 200, json, `{"stopReason":"end_turn","messages":[{"role":"assistant","content":"` + said + `"}]}`},
			"a turn's error":  {"none", "POST /turns", 400, json, `{"error":"bad ` + said + `"}`},
			"the agents":      {"none", "GET /meta", 200, json, `{"version":3,"agents":[{"name":"` + said + `"}]}`},
			"an error":        {"none", "GET /meta", 401, json, `{"error":"bad ` + said + `"}`},
			"a session's id":  {"none", "POST /sessions", 201, json, `{"sessionId":"` + said + `"}`},
			"a history":       {"none", "GET /history", 200, json, `{"history":{"full":[{"role":"user","content":"` + said + `"}]}}`},
			"a redirect":      {"none", "GET /meta", 302, json, `{"error":"` + said + `"}`},
			"another's words": {"none", "GET /meta", 500, "text/plain", said},
		} {
			c.stream, path, code, kind, body = row.stream, row.path, row.code, row.kind, row.body
			var text string
			switch row.path {
			case "POST /turns":
				_, text = c.sends(aapUser("go"))
			case "POST /sessions":
				_, text = c.do("POST", "/sessions", map[string]any{"agent": map[string]string{"name": "helper"}})
			case "GET /history":
				_, text = c.do("GET", "/sessions/"+c.session+"/history", nil)
			default:
				_, text = c.do("GET", "/meta", nil)
			}
			together := strings.NewReplacer("event: text_delta\ndata: {\"delta\":\"", "", "\"}\n\n", "").Replace(text)
			if strings.Contains(together, said) || strings.Contains(together, aapKey) {
				t.Errorf("%s in %s: the client gets %s", form, place, text)
			}
		}
	}
	path, c.stream = "", "message"
	c.say("go")
}
