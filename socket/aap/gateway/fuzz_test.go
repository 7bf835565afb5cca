package gateway

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

const wholeTurn = "event: turn_start\ndata: {}\n\nevent: tool_call\ndata: {\"toolCallId\":\"a\",\"name\":\"t\",\"input\":{\"x\":1}}\n\n" +
	"event: tool_result\ndata: {\"toolCallId\":\"a\",\"content\":\"y\"}\n\nevent: turn_stop\ndata: {\"stopReason\":\"tool_use\"}\n\n"

// FuzzTurn reads turns of a server, as streams and whole. What is passed on of a stream is
// valid JSON on one line, and a stream that ends before its turn_stop is never taken for a
// whole one.
func FuzzTurn(f *testing.F) {
	f.Add([]byte(wholeTurn))
	f.Add([]byte(strings.ReplaceAll(wholeTurn, "\n", "\r\n")))
	f.Add([]byte(`{"stopReason":"tool_use","messages":[{"role":"assistant","content":[{"type":"tool_use","toolCallId":"a","name":"t","input":{}}]}]}`))
	f.Add([]byte(`{"stopReason":"end_turn","messages":[{"role":"tool","toolCallId":"a","content":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got []part
		use := func(p part) error {
			got = append(got, p)
			return nil
		}
		read := new(turn)
		if err := read.readStream(bytes.NewReader(data), use); err == nil {
			for _, p := range got {
				if bytes.ContainsAny(p.data, "\r\n") || strictjson.Check(p.data) != nil {
					t.Fatalf("passes on %q", p.data)
				}
			}
			// The last byte that counts is the line break that ends turn_stop.
			end := bytes.LastIndex(data, []byte("turn_stop"))
			if end < 0 || !read.stopped {
				t.Fatalf("%q is a whole turn", data)
			}
			if err := new(turn).readStream(bytes.NewReader(data[:end]), func(part) error { return nil }); !errors.Is(err, errCut) && err == nil {
				t.Fatalf("%q without its end is a whole turn", data)
			}
		}
		got = nil
		if whole := new(turn); whole.readWhole(data, use) == nil && (!whole.stopped || len(got) < len(whole.calls)) {
			t.Fatalf("%q: %d parts, %d calls", data, len(got), len(whole.calls))
		}
	})
}

// FuzzBody reads histories, sessions and requests: what they say has one meaning or none.
func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"history":{"full":[{"role":"assistant","content":[{"type":"tool_use","toolCallId":"a","name":"t","input":{}}]}]}}`))
	f.Add([]byte(`{"agent":{"name":"a","tools":[{"name":"t","trust":true}]},"tools":[{"name":"u"}],"messages":[{"role":"tool_permission","toolCallId":"a","granted":true}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, items := parseHistory(data); p != nil && (items == nil || strictjson.Check(data) != nil) {
			t.Fatalf("%q is a history", data)
		}
		o, err := readObject(data)
		if err != nil {
			return
		}
		if strictjson.Check(data) != nil {
			t.Fatalf("%q is an object", data)
		}
		if said, f := readSaid(o); f == nil {
			for _, s := range said {
				if s.id == "" {
					t.Fatalf("%q answers a call without an id", data)
				}
			}
		}
		agent, _ := o.Get("agent")
		if agent == nil {
			return
		}
		plain, err := withoutTrust(agent)
		if err != nil {
			return
		}
		if o, err := readObject(plain); err == nil {
			tools, err := readTools(o, "tools")
			for _, tool := range tools {
				if err == nil && tool.Trust {
					t.Fatalf("%q: %q is still trusted", data, tool.Name)
				}
			}
		}
	})
}
