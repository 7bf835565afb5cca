package acp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
)

// TestFlood sends thousands of updates of each kind: what is kept stays within its
// bounds, and a call that is new is not taken for one that was forgotten.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it sends more than each bound keeps; TestBounds is the quick one")
	}
	t.Parallel()
	const n = maxLostIDs + 2*maxCalls // past each bound
	flood := map[string]func(i int) string{
		"calls": func(i int) string {
			return fmt.Sprintf(`{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c%d","title":"t","rawInput":{"command":"%s"}}}`, i, strings.Repeat("x", 1000))
		},
		"one call": func(i int) string {
			return fmt.Sprintf(`{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"t%d","locations":[{"path":"/%d"}]}}`, i, i)
		},
		"chunks": func(i int) string {
			return fmt.Sprintf(`{"sessionId":"s","update":{"sessionUpdate":"tool_call_content_chunk","toolCallId":"c","content":{"type":"content","content":{"type":"text","text":"%d%s"}}}}`, i, strings.Repeat("x", 1000))
		},
		"sessions": func(i int) string {
			return fmt.Sprintf(`{"sessionId":"s%d","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"t","rawInput":{"command":"ls"}}}`, i)
		},
		"defects": func(i int) string {
			return fmt.Sprintf(`{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","locations":[%s7]}}`, strings.Repeat(`{"path":"/a"},`, i%200))
		},
	}
	for name, message := range flood {
		t.Run(name, func(t *testing.T) {
			d, c := newDaemon(decisions.Allow), conn(1)
			for i := range n {
				d.must(t, c, MethodUpdate, message(i))
			}
			s := stateOf(c)
			total := 0
			for _, ses := range s.sessions {
				if len(ses.calls) > maxCalls || len(ses.evicted.ids) > maxLostIDs {
					t.Errorf("%d calls, %d forgotten", len(ses.calls), len(ses.evicted.ids))
				}
				for _, call := range ses.calls {
					total += call.size()
					if len(call.defects) > maxDefects || len(call.texts) > maxItems || len(call.locations) > maxItems {
						t.Errorf("%d defects, %d texts, %d locations", len(call.defects), len(call.texts), len(call.locations))
					}
				}
			}
			if s.bytes != total || total > maxBytes || len(s.sessions) > maxSessions || len(s.evicted.ids) > maxLostIDs {
				t.Errorf("%d bytes are counted, %d kept, of %d sessions", s.bytes, total, len(s.sessions))
			}
		})
	}
	t.Run("a new call after some were forgotten", func(t *testing.T) {
		d, c := newDaemon(decisions.Allow), conn(1)
		for i := range 2 * maxCalls {
			d.must(t, c, MethodUpdate, flood["calls"](i))
		}
		request := func(id string) error {
			_, err := d.call(t, c, MethodRequestPermission, permission(`{"toolCallId":"`+id+`","kind":"execute","rawInput":{"command":"ls"}}`))
			return err
		}
		if err := request("new"); err != nil {
			t.Errorf("a new call: %v", err)
		}
		if err := request("c0"); code(err) != socket.CodeAsk {
			t.Errorf("a forgotten call: %v", err)
		}
		d.must(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"c0","status":"completed"}`))
		if err := request("c0"); err != nil {
			t.Errorf("the next call of the same id: %v", err)
		}
	})
}

// TestForgotten tells ids apart until there are too many.
func TestForgotten(t *testing.T) {
	var f lostIDs
	if f.why("a") != "" {
		t.Error("an empty set holds something")
	}
	f.add("a", "x")
	if f.why("a") != "x" || f.why("b") != "" {
		t.Errorf("a: %q, b: %q", f.why("a"), f.why("b"))
	}
	f.remove("a")
	if f.why("a") != "" {
		t.Error("a is still there")
	}
	for i := range maxLostIDs + 1 {
		f.add(fmt.Sprint(i), "y")
	}
	if f.why("b") != "y" || f.ids != nil {
		t.Errorf("b: %q, %d ids", f.why("b"), len(f.ids))
	}
	f.remove("b")
	f.add("c", "z")
	if f.why("b") != "y" || f.ids != nil {
		t.Error("too many were told apart again")
	}
}
