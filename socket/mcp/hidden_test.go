package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// hidden are ways to send a call of the tool "no" that some server would run.
var hidden = []string{
	call("1", "no"),
	`[` + call("1", "no") + `]`,
	call("1", "yes") + call("2", "no"),
	"\ufeff" + call("1", "no"),
	"Content-Length: 10\r\n\r" + call("1", "no"),
	`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call ","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"\u0074ools/call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"yes","name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"yes","Name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"yes"},"Params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["no"]}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["no"]}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n\u006f"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
	`{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"no"}}`,
	`{"id":1,"method":"tools/call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"result":{},"method":"tools/call","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/run","params":{"name":"no"}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"a":"` + "\u2028" + `","b":` + call("1", "no") + `}}`,
	`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":"` + "\u2028" + strings.ReplaceAll(call("1", "no"), `"`, `\"`) + "\u2028" + `"}}`,
	`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":1,` + "\r" + `"b":` + "\r" + call("1", "no") + "\r" + `}}`,
	`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":"\u0085"}}`,
}

// lenient returns the calls that some reader of the line might run: one that splits it
// at other characters too, reads texts in texts, ignores case and takes the last of two
// members.
func lenient(line string) (names []string) {
	for _, part := range regexp.MustCompile("[\r\n\u0085\u2028\u2029]").Split(line, -1) {
		var m map[string]any
		d := json.NewDecoder(strings.NewReader(part))
		for d.Decode(&m) == nil {
			method, name := "", ""
			for k, v := range m {
				switch {
				case strings.EqualFold(k, "method"):
					method = fmt.Sprint(v)
				case strings.EqualFold(k, "params"):
					p, _ := v.(map[string]any)
					for k, v := range p {
						if strings.EqualFold(k, "name") {
							name = fmt.Sprint(v)
						}
					}
				}
			}
			if strings.EqualFold(strings.TrimSpace(method), "tools/call") {
				names = append(names, name)
			}
			m = nil
		}
	}
	return names
}

// TestHidden: no server gets a call that permd did not allow, whatever it is hidden in.
func TestHidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, line := range hidden {
		w.send(t, line)
		w.flush(t)
		w.mu.Lock()
		for _, got := range w.server {
			for _, name := range lenient(got) {
				if name != "yes" {
					t.Errorf("%d: %q: the server received %q", i, line, got)
				}
			}
			if strings.ContainsAny(strings.TrimSuffix(got, "\n"), "\r\n\u0085\u2028\u2029") {
				t.Errorf("%d: %q is more than one line: %q", i, line, got)
			}
		}
		w.server = nil
		w.mu.Unlock()
	}
	w.send(t, call("77", "yes"))
	w.wantServer(t, `"id":77`)
}

// FuzzHidden sends lines that are made of parts of messages.
func FuzzHidden(f *testing.F) {
	for _, line := range hidden {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := readMessage(line)
		if err != nil || !m.isResponse() && m.method != methodCallTool && !clientMethods[m.method] && !clientNotifications[m.method] {
			return // it is not passed on
		}
		if bytes.ContainsAny(m.text[:len(m.text)-1], "\r\n\u0085\u2028\u2029") || !json.Valid(m.text) {
			t.Errorf("%q is passed on as %q", line, m.text)
		}
		for _, name := range lenient(string(m.text)) {
			if m.method != methodCallTool {
				t.Errorf("%q: a call of %q is passed on as %q", line, name, m.method)
			} else if c, why := readCall(m); why == "" && c.name != name {
				t.Errorf("%q: %q is decided, and %q runs", line, c.name, name)
			}
		}
	})
}

// TestOnlyWhatIsDecided: of a call the server gets what permd has decided, and nothing else.
func TestOnlyWhatIsDecided(t *testing.T) {
	t.Parallel()
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"more":{"a":1},"method":"` + method + `","params":` + params + `}`
	}
	for _, tt := range []struct{ method, params, want string }{
		{methodCallTool, `{"_meta":{"to":"x","progressToken":3,"a":{}},"arguments":{"b":1e400},"name":"yes"}`, `{"name":"yes","arguments":{"b":1e400},"_meta":{"progressToken":3}}`},
		{methodCallTool, `{"name":"yes","_meta":{"to":"x"}}`, `{"name":"yes"}`},
		{methodCallTool, `{"name":"yes","_meta":{"progressToken":{"to":"x"}}}`, `{"name":"yes"}`},
		{methodCallTool, `{"name":"yes","_meta":"to x"}`, `{"name":"yes"}`},
		{methodCallTool, `{"name":"yes","task":{"ttl":60}}`, `{"name":"yes","task":{"ttl":60}}`},
		{methodCallTool, `{"name":"yes","task":{}}`, `{"name":"yes","task":{}}`},
		{methodCallTool, `{"name":"yes","task":{"ttl":60,"to":"x"}}`, ""},
		{methodCallTool, `{"name":"yes","task":{"ttl":"x"}}`, ""},
		{methodCallTool, `{"name":"yes","task":"x"}`, ""},
		{methodCallTool, `{"name":"yes","input":{}}`, ""},
		{methodReadResource, `{"uri":"a:b","_meta":{"to":"x","progressToken":"p"}}`, `{"uri":"a:b","_meta":{"progressToken":"p"}}`},
	} {
		m, err := readMessage([]byte(request(tt.method, tt.params)))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"jsonrpc":"2.0","id":1,"method":"` + tt.method + `","params":` + tt.want + "}\n"
		switch _, why := readCall(m); {
		case tt.want == "" && why == "":
			t.Errorf("%s is not refused", tt.params)
		case tt.want != "" && (why != "" || string(m.text) != want):
			t.Errorf("%s: %s %s, want %s", tt.params, why, m.text, want)
		}
	}
}

// TestNotifications: those that the protocol does not have do not reach the server.
func TestNotifications(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, method := range []string{"notifications/x", "notifications/tools/call", "notifications/message", "notifications/Progress", "x"} {
		w.send(t, `{"jsonrpc":"2.0","method":"`+method+`","params":{"name":"no"}}`)
	}
	w.send(t, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	w.wantServer(t, "roots/list_changed")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.server) != 1 {
		t.Errorf("the server received %s", w.server)
	}
}
