package acp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// ask is a request of version 2 about a tool call in session s.
func ask(toolCall string) string {
	return `{"sessionId":"s","title":"Go on?","subject":{"type":"tool_call","toolCall":` + toolCall + `},` + onceOptions + `}`
}

// declareVersion opens session s of a version.
func (d *daemon) declareVersion(t *testing.T, c *socket.Conn, ver int) {
	t.Helper()
	d.must(t, c, native.MethodSession, fmt.Sprintf(`{"sessionId":"s","cwd":"/w","agent":{"name":"a"},"protocolVersion":%d}`, ver))
}

// TestMergeVersion2 sends updates and then a request, declared as version 2 or
// not declared at all.
func TestMergeVersion2(t *testing.T) {
	const (
		first = `{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"},"locations":[{"path":"/a"}]}`
		clear = `{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":null}`
		chunk = `{"sessionUpdate":"tool_call_content_chunk","toolCallId":"c","content":{"type":"content","content":{"type":"text","text":"x"}}}`
	)
	whole := seen{Title: "ls", Kind: "execute", Input: `{"command":"ls"}`, Paths: []string{"/a"}}
	changed := func(f func(*seen)) seen { s := whole; f(&s); return s }
	gap := changed(func(s *seen) { s.Incomplete = true })
	// A call without an input is left to the effects: some agents never send one.
	noInput := changed(func(s *seen) { s.Input = "" })
	tests := []struct {
		name       string
		updates    []string
		request    string
		declared   seen // what is decided on in a session of version 2
		undeclared seen // and in one that nobody declared
	}{
		{"the first update announces", []string{first}, ask(bare), whole, whole},
		{"absent keeps", []string{first, `{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress"}`}, ask(bare), whole, whole},
		{"null clears", []string{first, clear}, ask(bare), noInput, gap},
		{"null clears, and the request says it again", []string{first, clear}, ask(`{"toolCallId":"c","rawInput":{"command":"rm"}}`),
			changed(func(s *seen) { s.Input = `{"command":"rm"}` }), changed(func(s *seen) { s.Input = `{"command":"rm"}` })},
		{"null clears nothing", []string{`{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":null}`, first}, ask(bare), whole, whole},
		{"null in the request clears", []string{first}, ask(`{"toolCallId":"c","rawInput":null,"locations":null}`),
			changed(func(s *seen) { s.Input, s.Paths = "", nil }), changed(func(s *seen) { s.Input, s.Paths = "", nil })},
		{"null title clears", []string{first}, ask(`{"toolCallId":"c","title":null,"kind":null}`),
			changed(func(s *seen) { s.Title, s.Kind = "", "" }), changed(func(s *seen) { s.Title, s.Kind = "", "" })},
		{"cancelled is over", []string{first, `{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"cancelled"}`}, ask(bare),
			seen{Incomplete: true}, seen{Incomplete: true}},
		{"a custom status and kind", []string{strings.Replace(first, `"execute"`, `"_vendor","status":"_paused"`, 1)}, ask(`{"toolCallId":"c","name":"x"}`),
			changed(func(s *seen) { s.Kind = "other" }), changed(func(s *seen) { s.Kind, s.Defects = "other", 1 })},
		{"a chunk adds", []string{first, chunk, chunk}, ask(bare), whole, whole},
		{"an unreadable update loses", []string{first, `{"sessionUpdate":"tool_call_content_chunk","toolCallId":"c","Content":{}}`}, ask(bare),
			seen{Incomplete: true}, seen{Incomplete: true}},
		{"an announcement of version 1", []string{strings.Replace(first, "tool_call_update", "tool_call", 1)}, ask(bare),
			seen{Incomplete: true}, seen{Incomplete: true}},
	}
	for _, tt := range tests {
		for _, declared := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, declared %v", tt.name, declared), func(t *testing.T) {
				d, c := newDaemon(decisions.Allow), conn(1)
				want := tt.undeclared
				if declared {
					d.declareVersion(t, c, 2)
					want = tt.declared
				}
				for _, u := range tt.updates {
					_, _ = d.call(t, c, MethodUpdate, sessionUpdate(u))
				}
				_, err := d.call(t, c, MethodRequestPermission, tt.request)
				if diff := cmp.Diff(want, sawOf(&d.last(t).Call)); diff != "" {
					t.Errorf("decided on (-want +got):\n%s", diff)
				}
				if ask := want.Incomplete || want.Defects > 0; ask != (code(err) == socket.CodeAsk) {
					t.Errorf("error %v, want a question: %v", err, ask)
				}
			})
		}
	}
}

// TestVersionOf sends messages of both versions in sessions of each.
func TestVersionOf(t *testing.T) {
	const (
		announce1 = `{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`
		announce0 = `{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`
		chunk2    = `{"sessionUpdate":"tool_call_content_chunk","toolCallId":"c","content":{"type":"terminal","terminalId":"t"}}`
	)
	tests := []struct {
		name     string
		declared int // 0: not at all
		update   string
		request  string
		code     int // 0: allowed
	}{
		{"1 in 1", 1, announce1, permission(bare), 0},
		{"2 in 1", 1, announce1, ask(bare), socket.CodeParams},
		{"1 in 2", 2, announce0, permission(bare), socket.CodeParams},
		{"2 in 2", 2, announce0, ask(bare), 0},
		{"announcement of 1 in 2", 2, announce1, ask(bare), socket.CodeAsk},
		{"chunk of 2 in 1", 1, chunk2, permission(bare), socket.CodeAsk},
		{"1 by its messages", 0, announce1, permission(bare), 0},
		{"2 by its messages", 0, announce0, ask(bare), 0},
		{"1 by its request only", 0, announce0, permission(bare), 0},
		{"announcement of 1, request of 2", 0, announce1, ask(bare), socket.CodeAsk},
		{"chunk of 2, request of 1", 0, chunk2, permission(bare), socket.CodeAsk},
		{"announcement of 1, whole request of 2", 0, announce1, ask(plainCall), socket.CodeAsk},
		{"another call of 1, whole request of 2", 0, strings.Replace(announce1, `"c"`, `"d"`, 1), ask(plainCall), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, c := newDaemon(decisions.Allow), conn(1)
			if tt.declared != 0 {
				d.declareVersion(t, c, tt.declared)
			}
			_, _ = d.call(t, c, MethodUpdate, sessionUpdate(tt.update))
			if _, err := d.call(t, c, MethodRequestPermission, tt.request); code(err) != tt.code {
				t.Errorf("error %v, want %d", err, tt.code)
			}
		})
	}
}

// TestDeclaredTwice declares a session again with another agent or version: earlier
// updates about its calls no longer count.
func TestDeclaredTwice(t *testing.T) {
	const announce = `{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`
	tests := []struct{ name, first, second, request string }{
		{"the same", `"agent":{"name":"a"}`, `"agent":{"name":"a"}`, permission(bare)},
		{"another mode and folder", `"agent":{"name":"a"},"mode":"x"`, `"agent":{"name":"a"},"mode":"y","roots":["/v"]`, permission(bare)},
		{"the agent is named later", `"mode":"x"`, `"agent":{"name":"a"}`, permission(bare)},
		{"the version is named later", `"mode":"x"`, `"protocolVersion":2`, ask(bare)},
		{"another agent", `"agent":{"name":"a"}`, `"agent":{"name":"b"}`, permission(bare)},
		{"another version of the agent", `"agent":{"name":"a","version":"1"}`, `"agent":{"name":"a","version":"2"}`, permission(bare)},
		{"another version of the protocol", `"protocolVersion":1`, `"protocolVersion":2`, ask(bare)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, c := newDaemon(decisions.Allow), conn(1)
			open := func(s string) { d.must(t, c, native.MethodSession, `{"sessionId":"s","cwd":"/w",`+s+`}`) }
			open(tt.first)
			d.must(t, c, MethodUpdate, sessionUpdate(announce))
			open(tt.second)
			_, err := d.call(t, c, MethodRequestPermission, tt.request)
			if lost := strings.HasPrefix(tt.name, "another ") && tt.name != "another mode and folder"; lost != (code(err) == socket.CodeAsk) {
				t.Errorf("error %v, lost %v", err, lost)
			}
			// What comes after it is of the new one.
			d.must(t, c, MethodUpdate, sessionUpdate(strings.Replace(announce, `"c"`, `"d"`, 1)))
			d.must(t, c, MethodRequestPermission, strings.Replace(tt.request, `"c"`, `"d"`, 1))
		})
	}
	for _, bad := range []string{"0", "3", "-1", `"2"`, "1.5", "true", "1e99"} {
		_, err := newDaemon(decisions.Allow).call(t, conn(1), native.MethodSession, `{"sessionId":"s","cwd":"/w","protocolVersion":`+bad+`}`)
		if code(err) != socket.CodeParams {
			t.Errorf("protocolVersion %s: error %v", bad, err)
		}
	}
}
