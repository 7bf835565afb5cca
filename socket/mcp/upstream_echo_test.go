package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestUpstreamEchoes: a server that repeats the token has its answer withheld, and the client is
// told why. newUpstreamWorld fails if the client or the person reads a part of the token.
func TestUpstreamEchoes(t *testing.T) {
	t.Parallel()
	escaped := ""
	for _, c := range secretToken {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	result := func(text string) string { return `{"jsonrpc":"2.0","id":1,"result":{"text":"` + text + `"}}` }
	for name, play := range map[string]func(w http.ResponseWriter, r *http.Request){
		"a result":       func(w http.ResponseWriter, r *http.Request) { asJSON(w, result(r.Header.Get("Authorization"))) },
		"an escaped one": func(w http.ResponseWriter, _ *http.Request) { asJSON(w, result(escaped)) },
		"the name of a member": func(w http.ResponseWriter, _ *http.Request) {
			asJSON(w, `{"jsonrpc":"2.0","id":1,"result":{"`+secretToken+`":1}}`)
		},
		"an error": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":%q}}`, secretToken)
		},
		"events": func(w http.ResponseWriter, _ *http.Request) {
			asEvents(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"`+secretToken+`"}}`+"\n\n"+
				`data: {"jsonrpc":"2.0","id":"q","method":"roots/list","params":{"x":"`+secretToken+`"}}`+"\n\ndata: "+result(secretToken)+"\n\n")
		},
		"no HTTP":         breakAfter(secretToken + " " + secretToken + "\r\n\r\n"),
		"a broken header": breakAfter("HTTP/1.1 200 OK\r\n" + secretToken + "\r\n\r\n"),
		"an escape in a text": func(w http.ResponseWriter, _ *http.Request) {
			asJSON(w, result(strings.ReplaceAll(escaped, `\`, `\\`)))
		},
		"HTML in an event": func(w http.ResponseWriter, _ *http.Request) {
			asEvents(w, "data: "+result(strings.ReplaceAll(secretToken, "-", "&#x2D;"))+"\n\n")
		},
		"a header that is quoted": breakAfter("HTTP/1.1 200 OK\r\n" + strings.ReplaceAll(secretToken, "-", `\u002d`) + "\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newUpstreamWorld(t, func(to http.ResponseWriter, r *http.Request, _ string) { play(to, r) })
			w.send(t, pinged)
			w.want(t, `"id":1,"error"`, 1)
			if w.count(holdsBearer) != 1 || w.count(mayHaveRun) != 1 || w.posts("") != 1 || w.count("roots/list")+w.count("notifications/") > 0 {
				t.Errorf("the client reads %q", strings.ReplaceAll(strings.Join(w.lines, ""), secretToken, "TOKEN"))
			}
		})
	}
}
