package aap

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/sockettest"
)

// FuzzPermissions: each id is listed once, a call that may run has the same meaning
// for every reader of the document, and each call has at most one message.
func FuzzPermissions(f *testing.F) {
	for _, turn := range sampleTurns(f) {
		f.Add([]byte(sampleParams(f, turn)))
	}
	f.Add([]byte(`{"sessionId":"s",` + open + `,` + turnOf("x t 1", "x t 2", "y mine 1") + `,` + historyOf("user", "x t 1", "permit x", "y") + `}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if strictjson.Check(data) != nil {
			return
		}
		var p permissionsParams
		if socket.ReadParams("params", data, &p) != nil {
			return
		}
		w, calls, _, err := p.calls()
		if err != nil {
			return
		}
		var doc any
		if err := json.Unmarshal(data, &doc); err != nil {
			return
		}
		all := said{map[string][]string{}, map[string]int{}}
		all.collect(doc)
		seen := map[string]bool{}
		for _, c := range calls {
			if c.id == "" || c.tool.Name == "" || seen[c.id] || c.skip && c.whyDenied != "" {
				t.Fatalf("call %+v", c)
			}
			seen[c.id] = true
			if c.whyDenied != "" || c.skip {
				continue
			}
			if w.client[c.tool.Name] && (w.server[c.tool.Name] || w.exposed[c.tool.Name]) {
				t.Fatalf("%s is of both", c.tool.Name)
			}
			for _, text := range all.calls[c.id] {
				if name, _, _ := strings.Cut(text[1:], " "); name != strings.SplitN(c.tool.Name, " ", 2)[0] && p.History == nil {
					t.Fatalf("%s is of %s and %s", c.id, c.tool.Name, text)
				}
			}
		}
		b := newBatch("b", nil, w, calls)
		for _, e := range b.entries {
			if !e.skip {
				e.allow()
			}
		}
		r, err := b.result(nil)
		if err != nil || len(r.Messages)+len(r.Needs.Results) > len(calls) {
			t.Fatalf("%+v, %v", r, err)
		}
		if !b.sameAs(w, calls) {
			t.Fatal("a batch is not that of its own turn")
		}
	})
}

// FuzzSSE: what is read of a stream is the same whatever ends its lines, and each
// event's data are in the stream.
func FuzzSSE(f *testing.F) {
	f.Add(sockettest.Sample(f, "05-turn.tool_use.sse"))
	f.Add(theStream)
	f.Add("data\ndata\n\n:x\nevent\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseSSE(text)
		if err != nil {
			return
		}
		again, err := parseSSE(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		sockettest.Diff(t, "with CRLF", len(list), len(again))
		for i := range list {
			if list[i] != again[i] {
				t.Fatalf("%+v is %+v with CRLF", list[i], again[i])
			}
			for line := range strings.SplitSeq(list[i].data, "\n") {
				if !strings.Contains(text, line) {
					t.Fatalf("%q is not in the text", line)
				}
			}
		}
	})
}
