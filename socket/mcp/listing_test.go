package mcp

import (
	"strings"
	"testing"
)

// TestUnsent: a tool that is left out of a list because of its headers cannot be called where it
// is left out, whoever was told of it before.
func TestUnsent(t *testing.T) {
	t.Parallel()
	const good = `{"name":"yes","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`
	bad := strings.Replace(good, `"A"`, `"A:B"`, 1)
	// What the client is told in a list of each revision, and what the gateway is told, "" for
	// nothing.
	for name, tt := range map[string]struct {
		sessions, stateless, own string
		runs                     bool // over HTTP
	}{
		"not listed":                 {own: bad},
		"not listed, good":           {own: good, runs: true},
		"left out":                   {stateless: bad, own: bad},
		"listed in sessions":         {sessions: bad, own: bad},
		"listed in sessions, good":   {sessions: good, own: bad, runs: true},
		"good before":                {sessions: good, stateless: bad, own: bad},
		"one of two":                 {stateless: good + "," + bad, own: good},
		"bad before":                 {sessions: bad, stateless: good, own: bad, runs: true},
		"the gateway is told of two": {own: bad + "," + good},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mu.Lock()
			w.tools = `[` + tt.own + `]`
			w.mu.Unlock()
			if tt.sessions != "" {
				w.listing(t, "1", "", `{"tools":[`+tt.sessions+`]}`)
			}
			if tt.stateless != "" {
				w.send(t, stateless("2", methodListTools, "", ""))
				w.wantServer(t, `"id":2,`)
				// The list goes on: what is left out of a page is not gone, but left out.
				w.serve(t, `{"jsonrpc":"2.0","id":2,"result":{"tools":[`+tt.stateless+`],"nextCursor":"x"}}`+"\n")
				w.wantClient(t, `"id":2,`)
			}
			w.send(t, stateless("3", methodCallTool, `"name":"yes"`, ""))
			if tt.runs || !overHTTP {
				w.wantServer(t, `"id":3,"method":"tools/call"`)
			} else if m := w.answerTo(t, "3"); m.Error.Code != codeParams {
				t.Errorf("the call is answered with %+v", m)
			}
			if tt.sessions != "" {
				w.send(t, call("4", "yes"))
				w.wantServer(t, `"id":4,"method":"tools/call"`)
			}
		})
	}
}

// TestWithdrawnTool: a tool that is not in the list that the client has read last cannot be
// called, unless the server lists it to the gateway.
func TestWithdrawnTool(t *testing.T) {
	t.Parallel()
	const other = `{"name":"yes2"}`
	for name, tt := range map[string]struct {
		lists []string // page by page; "" begins a list
		own   string   // what the gateway is told
		want  string   // that the client reads of a call, "" if it runs
	}{
		"control":                   {[]string{"", plainYes}, other, ""},
		"withdrawn":                 {[]string{"", plainYes, "", other}, other, "lists no tool"},
		"withdrawn, with pages":     {[]string{"", plainYes, other, "", other, other}, other, "lists no tool"},
		"on the second page":        {[]string{"", other, plainYes, "", other, plainYes}, other, ""},
		"not read to its end":       {[]string{"", plainYes, "", other + "…"}, other, ""},
		"there again":               {[]string{"", plainYes, "", other, "", plainYes}, other, ""},
		"there for the gateway":     {[]string{"", plainYes, "", other}, plainYes, ""},
		"there again as another":    {[]string{"", otherYes, "", other, "", plainYes}, other, "permd asks a person"},
		"as another to the gateway": {[]string{"", otherYes, "", other}, plainYes, "permd asks a person"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pins := t.TempDir()
			l, err := readList([]byte(`{"tools":[` + plainYes + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := setPin(OpenPins(pins, "s"), "yes", []string{l.tools[0].digest}); err != nil {
				t.Fatal(err)
			}
			w := newWorldIn(t, pins)
			w.mu.Lock()
			w.tools = `[` + plainYes + `]`
			w.mu.Unlock()
			w.flush(t) // what the gateway was told before counts no longer
			w.mu.Lock()
			w.tools = `[` + tt.own + `]`
			w.mu.Unlock()
			cursor := ""
			for i, tools := range tt.lists {
				if tools == "" {
					cursor = ""
					continue
				}
				tools, more := strings.CutSuffix(tools, "…")
				page := `{"tools":[` + tools + `]`
				next := "c" + string(rune('a'+i))
				if more || i+1 < len(tt.lists) && tt.lists[i+1] != "" {
					page += `,"nextCursor":"` + next + `"`
				}
				w.listing(t, string(rune('1'+i)), cursor, page+"}")
				cursor = next
			}
			w.send(t, call("90", "yes"))
			w.wantCall(t, "90", tt.want)
		})
	}
}

// TestWithdrawnWhileAsked: a yes is none for a tool that the server has withdrawn meanwhile.
func TestWithdrawnWhileAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.listing(t, "1", "", `{"tools":[{"name":"ask"},{"name":"yes"}]}`)
	w.send(t, stateless("2", methodCallTool, `"name":"ask"`, withForms))
	state := w.answerTo(t, "2").Result.RequestState
	w.mu.Lock()
	w.tools = `[{"name":"yes"}]`
	w.mu.Unlock()
	w.listing(t, "3", "", `{"tools":[{"name":"yes"}]}`)
	w.send(t, stateless("4", methodCallTool, `"name":"ask","requestState":"`+state+`","inputResponses":{"permd":{"action":"accept","content":{"answer":"once"}}}`, withForms))
	if m := w.answerTo(t, "4"); m.Error.Code != codeParams {
		t.Errorf("the call is answered with %+v", m)
	}
}
