package acp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
)

// TestRan: calls that have already run are decided for the record, by all updates
// about them.
func TestRan(t *testing.T) {
	of := map[string]decisions.Set{"make": decisions.SetDeny, "ls": decisions.SetAllow, "./": decisions.SetAllow}
	announce := func(input string) string {
		return sessionUpdate(`{"sessionUpdate":"tool_call","toolCallId":"c1","name":"Bash","kind":"execute","rawInput":{"command":"` + input + `"}}`)
	}
	cases := []struct {
		name, update, params, want string
	}{
		{"announced", announce("make all"), `{"sessionId":"s","toolCall":{"toolCallId":"c1","status":"completed"}}`, "claude-agent-acp deny unasked"},
		{"allowed", announce("ls"), `{"sessionId":"s","toolCall":{"toolCallId":"c1"}}`, "claude-agent-acp allow unasked"},
		{"in one message", "", `{"sessionId":"s","toolCall":{"sessionUpdate":"tool_call","toolCallId":"c1","name":"Bash","kind":"execute","rawInput":{"command":"make all"}}}`, "claude-agent-acp deny unasked"},
		{"nothing is known", "", `{"sessionId":"s","toolCall":{"toolCallId":"c1","status":"completed"}}`, "claude-agent-acp ask unasked"},
		{"denied before", announce("make all"), `{"sessionId":"s","toolCall":{"toolCallId":"c1"},"denied":true}`, "claude-agent-acp deny despite"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := newGates(t, of)
			con := conn(1)
			g.declare(t, con, "s", "claude-agent-acp")
			if c.update != "" {
				g.must(t, con, MethodUpdate, c.update)
			}
			d := g.must(t, con, MethodRan, c.params).(ranResult).Decision
			if diff := cmp.Diff([]string{c.want}, g.ran); diff != "" {
				t.Error(diff)
			}
			if d.Widths != nil || g.log.list[0].Decision.Outcome != d.Outcome {
				t.Errorf("recorded as %+v", g.log.list[0].Decision)
			}
		})
	}
	for _, params := range []string{`{"toolCall":{"toolCallId":"c"}}`, `{"sessionId":"s"}`, `{"sessionId":"s","toolCall":{}}`, `{"sessionId":"s","toolCall":{"toolCallId":"c","Kind":"x"}}`} {
		if _, err := newGates(t, nil).call(t, conn(1), MethodRan, params); code(err) != socket.CodeParams {
			t.Errorf("%s: %v", params, err)
		}
	}
}

// TestRanMovesShell: a call that ran without a request changes the shell's folder
// like any other.
func TestRanMovesShell(t *testing.T) {
	g := newGates(t, map[string]decisions.Set{"rm": decisions.SetAllow, "delete ./": decisions.SetAllow})
	c := conn(1)
	g.declare(t, c, "s", "claude-agent-acp")
	rm := permission(`{"toolCallId":"c2","name":"Bash","kind":"execute","rawInput":{"command":"rm a"}}`)
	if _, err := g.call(t, c, MethodRequestPermission, rm); err != nil {
		t.Fatalf("before: %v", err)
	}
	g.must(t, c, MethodRan, `{"sessionId":"s","toolCall":{"toolCallId":"c1","name":"Bash","kind":"execute","rawInput":{"command":"cd /etc"}}}`)
	if _, err := g.call(t, c, MethodRequestPermission, rm); code(err) != socket.CodeAsk {
		t.Errorf("after cd /etc: %v", err)
	}
}

// TestIncomplete: a request about a call whose updates were sent on another connection
// is left to the person; one about a call that was not mentioned there is not.
func TestIncomplete(t *testing.T) {
	g := newGates(t, map[string]decisions.Set{"ls": decisions.SetAllow, "./": decisions.SetAllow})
	c := conn(1)
	g.declare(t, c, "s", "claude-agent-acp")
	g.must(t, c, MethodIncomplete, `{"sessionId":"s","toolCallIds":["old"]}`)
	ask := func(id string) []string {
		_, err := g.call(t, c, MethodRequestPermission, permission(`{"toolCallId":"`+id+`","name":"Bash","kind":"execute","rawInput":{"command":"ls"}}`))
		if err == nil {
			return []string{"allow"}
		}
		return []string{"ask", g.log.list[len(g.log.list)-1].Decision.Reason}
	}
	if got := ask("old"); got[0] != "ask" || got[1] != "the call is not fully known: "+lostEarlier {
		t.Error(got)
	}
	if got := ask("new"); got[0] != "allow" {
		t.Error(got)
	}
	g.must(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"old","title":"x"}`))
	if got := ask("old"); got[0] != "ask" {
		t.Errorf("after an update: %v", got)
	}
	g.must(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call","toolCallId":"old","title":"ls","rawInput":{"command":"ls"}}`))
	if got := ask("old"); got[0] != "allow" {
		t.Errorf("announced anew: %v", got)
	}
	// A shell that stays alive keeps its folder.
	cat := permission(`{"toolCallId":"cat","name":"Bash","kind":"execute","rawInput":{"command":"ls ./x"}}`)
	if _, err := g.call(t, c, MethodRequestPermission, cat); err != nil {
		t.Errorf("before: %v", err)
	}
	g.must(t, c, MethodIncomplete, `{"sessionId":"s","toolCallIds":[],"state":true}`)
	if _, err := g.call(t, c, MethodRequestPermission, cat); code(err) != socket.CodeAsk {
		t.Errorf("after: %v", err)
	}
	// A message that cannot be read may have named any call.
	for _, params := range []string{`{"sessionId":"s","toolCallIds":"x"}`, `{"sessionId":"s","toolCallIds":[7]}`} {
		g := newGates(t, g.of)
		g.declare(t, c, "s", "claude-agent-acp")
		c := conn(2)
		if _, err := g.call(t, c, MethodIncomplete, params); code(err) != socket.CodeParams {
			t.Errorf("%s: %v", params, err)
		}
		g.declare(t, c, "s", "claude-agent-acp")
		if _, err := g.call(t, c, MethodRequestPermission, permission(`{"toolCallId":"new","name":"Bash","rawInput":{"command":"ls"}}`)); code(err) != socket.CodeAsk {
			t.Errorf("%s: %v", params, err)
		}
	}
}

// TestRanThroughGates: a call that passed a gate was decided there. If an agent
// does by itself what a gate denied, that is recorded.
func TestRanThroughGates(t *testing.T) {
	write := func(path string) string {
		return `{"sessionId":"s","method":"fs/write_text_file","params":{"path":"/home/ana/src/shop/` + path + `"}}`
	}
	ran := func(tool, input, more string) string {
		return `{"sessionId":"s","toolCall":{"toolCallId":"c1","name":"` + tool + `","rawInput":` + input + `}` + more + `}`
	}
	edit := `{"file_path":"/home/ana/src/shop/a"}`
	deny := map[string]decisions.Set{"./a": decisions.SetDeny, "make": decisions.SetDeny}
	ask := map[string]decisions.Set{"./a": decisions.SetAsk}
	cases := []struct {
		name string
		of   map[string]decisions.Set
		do   func(t *testing.T, g *gates, c *socket.Conn)
		ran  string
		want decisions.Outcome
	}{
		{name: "nothing came through", ran: ran("Write", edit, `,"done":true`), want: decisions.RanUnprompted},
		{name: "it came through", ran: ran("Write", edit, `,"done":true`), want: decisions.Gated, do: func(t *testing.T, g *gates, c *socket.Conn) { g.through(t, c, write("a")) }},
		{name: "something else came through", ran: ran("Write", edit, `,"done":true`), want: decisions.RanUnprompted, do: func(t *testing.T, g *gates, c *socket.Conn) { g.through(t, c, write("b")) }},
		{name: "a part of it came through", ran: ran("Bash", `{"command":"make; ls > a"}`, `,"done":true`), want: decisions.RanUnprompted, do: func(t *testing.T, g *gates, c *socket.Conn) { g.through(t, c, write("a")) }},
		{name: "all of it came through", ran: ran("Bash", `{"command":"make all"}`, `,"done":true`), want: decisions.Gated, do: func(t *testing.T, g *gates, c *socket.Conn) { g.through(t, c, terminal("make all")) }},
		{name: "denied there, and it failed", of: deny, ran: ran("Write", edit, ""), want: decisions.Gated, do: func(t *testing.T, g *gates, c *socket.Conn) { g.through(t, c, write("a")) }},
		{name: "denied there, and it is done", of: deny, ran: ran("Write", edit, `,"done":true`), want: decisions.RanDespiteDeny, do: func(t *testing.T, g *gates, c *socket.Conn) { g.through(t, c, write("a")) }},
		{name: "the person said no, and it is done", of: ask, ran: ran("Write", edit, `,"done":true`), want: decisions.RanDespiteDeny, do: func(t *testing.T, g *gates, c *socket.Conn) {
			_, d := g.through(t, c, write("a"))
			g.must(t, c, "permd/choose", `{"decisionId":"`+d.ID+`","verdict":"deny"}`)
		}},
		{name: "the person said yes, and it is done", of: ask, ran: ran("Write", edit, `,"done":true`), want: decisions.Gated, do: func(t *testing.T, g *gates, c *socket.Conn) {
			_, d := g.through(t, c, write("a"))
			g.must(t, c, "permd/choose", `{"decisionId":"`+d.ID+`","verdict":"allow"}`)
		}},
		{name: "denied when the agent asked, and done", of: deny, ran: ran("Bash", `{"command":"make all"}`, `,"done":true,"denied":true`), want: decisions.RanDespiteDeny},
		{name: "in another session", ran: ran("Write", edit, ""), want: decisions.RanUnprompted, do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.through(t, c, `{"sessionId":"s2","method":"fs/write_text_file","params":{"path":"/home/ana/src/shop/a"}}`)
		}},
		{name: "long ago", ran: ran("Write", edit, ""), want: decisions.RanUnprompted, do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.through(t, c, write("a"))
			g.clock = g.clock.Add(approvalLifetime)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := newGates(t, c.of)
			con := conn(1)
			g.declare(t, con, "s", "claude-agent-acp")
			g.declare(t, con, "s2", "claude-agent-acp")
			if c.do != nil {
				c.do(t, g, con)
			}
			d := g.must(t, con, MethodRan, c.ran).(ranResult).Decision
			if d.Outcome != c.want {
				t.Errorf("%s, %s: %+v", d.Verdict, d.Outcome, d.Effects)
			}
			if counted := len(g.ran) > 0; counted != (c.want != decisions.Gated) {
				t.Errorf("counted: %v", g.ran)
			}
		})
	}
}
