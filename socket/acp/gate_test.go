package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// rules is a policy: the entries that are part of an effect's text fire.
type rules struct {
	world  *tools.World
	digest string
	of     map[string]decisions.Set // by a part of the effect's text
}

func (r *rules) Snapshot(uint32, string) (decisions.Snapshot, error) { return r, nil }
func (r *rules) Digest() string                                      { return r.digest }
func (r *rules) Table() *programs.Table                              { return r.world.Table }
func (r *rules) Profiles() *tools.Profiles                           { return r.world.Profiles }
func (r *rules) OnFailure() decisions.Verdict                        { return decisions.Ask }
func (r *rules) Trusted() bool                                       { return false }
func (r *rules) Evaluate(_ context.Context, in *decisions.Input) (f decisions.Findings, err error) {
	for part, set := range r.of {
		if strings.Contains(in.Effect.Text, part) {
			f.Fired = append(f.Fired, decisions.Finding{Rule: decisions.RuleRef{ID: "user/" + part, At: "x:1", Layer: decisions.User}, Set: set, Reason: part})
		}
	}
	return f, nil
}

type noMemory struct{}

func (noMemory) Match(*decisions.MemoryQuery) (_, _ *decisions.Choice, _ error) { return nil, nil, nil }

type records struct{ list []*decisions.Record }

func (r *records) Append(_ context.Context, recs ...*decisions.Record) error {
	r.list = append(r.list, recs...)
	return nil
}

// gates returns the methods with the real engine and the shipped table and
// profiles.
type gates struct {
	daemon
	*rules
	log   *records
	clock time.Time
	asks  bool
	ran   []string
}

func newGates(t *testing.T, of map[string]decisions.Set) *gates {
	t.Helper()
	world := shippedWorld(t)
	g := &gates{rules: &rules{world, "digest", of}, log: &records{}, clock: time.Unix(1_700_000_000, 0)}
	n := 0
	engine, err := decisions.NewEngine(decisions.Config{
		Policy: g.rules, Memory: noMemory{}, Journal: g.log, FS: world.FS, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return g.clock }, NewID: func() string { n++; return fmt.Sprint("d", n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	g.daemon = daemon{nil, socket.Methods{}, new(decisions.Sessions)}
	users := func(uid uint32) effects.User { return effects.User{UID: uid, Home: "/home/ana"} }
	live := func(a effects.Party) bool { return world.Profiles.LiveShell(a) }
	deps := native.Deps{
		Sessions: g.sessions, Decider: engine, Users: users, LiveShell: live, AskGates: func() bool { return g.asks },
		Now: func() time.Time { return g.clock }, HarmlessEnv: func(name, value string) bool { return name == "NO_COLOR" },
		Ran: func(a effects.Party, d *decisions.Decision) {
			g.ran = append(g.ran, fmt.Sprintf("%s %s %s", a.Name, d.Verdict, d.Outcome))
		},
		Rules: func(uint32, string) string { return g.digest },
	}
	Register(g.methods, deps)
	native.Register(g.methods, deps)
	return g
}

// through sends a gate and returns its result.
func (g *gates) through(t *testing.T, c *socket.Conn, params string) (string, *decisions.Decision) {
	t.Helper()
	res, err := g.call(t, c, MethodGate, params)
	if d := asked(t, err); d != nil {
		return "asks", d
	}
	if err != nil {
		return fmt.Sprint("error ", code(err)), nil
	}
	r := res.(gateResult)
	if r.Passes != (r.Decision.Verdict != decisions.Deny) {
		t.Errorf("passes is %v: %+v", r.Passes, r.Decision)
	}
	return strings.TrimSpace(string(r.Decision.Verdict) + " " + string(r.Decision.Outcome)), r.Decision
}

// asked returns the question in an error, nil if there is none.
func asked(t *testing.T, err error) *decisions.Decision {
	t.Helper()
	e, ok := errors.AsType[*socket.Error](err)
	if !ok || e.Code != socket.CodeAsk {
		return nil
	}
	d := new(decisions.Decision)
	if err := strictjson.Unmarshal(e.Data, d); err != nil {
		t.Fatal(err)
	}
	return d
}

func terminal(text string) string {
	return `{"sessionId":"s","method":"terminal/create","params":{"command":` + quote(text) + `}}`
}

func quote(s string) string { return strings.ReplaceAll(fmt.Sprintf("%q", s), `\x00`, `\u0000`) }

// TestGateCalls checks the effects of each gate.
func TestGateCalls(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, method, params string
		want                 []string
	}{
		{"shell text", "terminal/create", `{"command":"make | sh"}`, []string{"run make", "run sh", "unknown"}},
		{"words", "terminal/create", `{"command":"make","args":["a | sh"]}`, []string{"run make 'a | sh'"}},
		{"no words behind it", "terminal/create", `{"command":"make | sh","args":[]}`, []string{"run make", "run sh", "unknown"}},
		{"a folder", "terminal/create", `{"command":"make","cwd":"/etc","env":null,"args":null}`, []string{"run make"}},
		{"the environment of words", "terminal/create", `{"command":"git","args":["status"],"env":[{"name":"LD_PRELOAD","value":"/tmp/x.so"}]}`,
			[]string{"state LD_PRELOAD='/tmp/x.so'", "run git status"}},
		{"a harmless one", "terminal/create", `{"command":"git","args":["status"],"env":[{"name":"NO_COLOR","value":"1"}]}`, []string{"run git status"}},
		{"the environment of text", "terminal/create", `{"command":"git status | cat","env":[{"name":"GIT_DIR","value":"it's"}]}`,
			[]string{`state GIT_DIR='it'\''s'`, "run git status", "run cat"}},
		{"one that the text names", "terminal/create", `{"command":"cat $NO_COLOR","env":[{"name":"NO_COLOR","value":"/etc/shadow"}]}`,
			[]string{"state NO_COLOR='/etc/shadow'", "run cat /etc/shadow", "read /etc/shadow"}},
		{"a function in the environment", "terminal/create", `{"command":"ls","env":[{"name":"BASH_FUNC_ls%%","value":"() { id; }"}]}`,
			[]string{"unknown", "state export 'BASH_FUNC_ls%%=() { id; }'", "run ls", "read ./", "unknown"}},
		{"a text that ends the quotes", "terminal/create", `{"command":"ls","env":[{"name":"A","value":"'; rm -rf / #"}]}`,
			[]string{`state A=''\''; rm -rf / #'`, "run ls", "read ./"}},
		{"a write", "fs/write_text_file", `{"path":"/home/ana/src/shop/a","content":"x"}`, []string{"write ./a"}},
		{"a read", "fs/read_text_file", `{"path":"/home/ana/.ssh/id_ed25519"}`, []string{"read ~/.ssh/id_ed25519"}},
		{"a mode", "session/set_mode", `{"modeId":"yolo"}`, []string{"mode"}},
		{"an option", "session/set_config_option", `{"configId":"mode","value":"yolo"}`, []string{"mode"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := newGates(t, nil)
			con := conn(1)
			g.declare(t, con, "s", "gemini-cli")
			_, d := g.through(t, con, `{"sessionId":"s","method":"`+c.method+`","params":`+c.params+`}`)
			if d == nil {
				t.Fatal("no decision")
			}
			var got []string
			for _, e := range d.Effects {
				if e.Claimed {
					t.Errorf("%s is only claimed", e.Text)
				}
				text := e.Text
				switch e.Kind {
				case effects.KindUnknown, effects.KindMode:
					text = string(e.Kind)
				case effects.KindState:
					text = "state " + text
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if r := g.log.list[0]; r.Agent.Name != "gemini-cli" || r.Tool != c.method || r.Session.ID != "s" {
				t.Errorf("recorded as %s of %s in %s", r.Tool, r.Agent.Name, r.Session.ID)
			}
		})
	}
}

// TestGateRefuses has gates that could be read in two ways, and messages that are
// no gates.
func TestGateRefuses(t *testing.T) {
	t.Parallel()
	for _, params := range []string{
		`{"sessionId":"s","method":"session/prompt","params":{}}`,
		`{"sessionId":"s","method":"terminal/create","params":{}}`,
		`{"sessionId":"s","method":"terminal/create","params":{"command":["ls"]}}`,
		`{"sessionId":"s","method":"terminal/create","params":{"command":"ls","args":"x"}}`,
		`{"sessionId":"s","method":"terminal/create","params":{"command":"ls","args":[1]}}`,
		`{"sessionId":"s","method":"terminal/create","params":{"command":"ls","env":{}}}`,
		`{"sessionId":"s","method":"terminal/create","params":{"command":"ls","env":[{"name":"A","Name":"B","value":""}]}}`,
		`{"sessionId":"s","method":"terminal/create","params":{"command":"ls","Command":"rm"}}`,
		`{"sessionId":"s","method":"terminal/create","params":{"command":"ls","cwd":7}}`,
		`{"sessionId":"s","method":"fs/write_text_file","params":{"path":7}}`,
		`{"sessionId":"s","method":"fs/write_text_file"}`,
		`{"method":"fs/read_text_file","params":{"path":"/a"}}`,
	} {
		g := newGates(t, nil)
		if _, err := g.call(t, conn(1), MethodGate, params); code(err) != socket.CodeParams {
			t.Errorf("%s: %v", params, err)
		}
	}
}

// TestGateAsks: a gate asks if a rule or a setting says so, and not about what was
// just allowed.
func TestGateAsks(t *testing.T) {
	t.Parallel()
	request := func(id, tool, input string) string {
		return permission(`{"toolCallId":"` + id + `","name":"` + tool + `","title":"t","rawInput":` + input + `}`)
	}
	make1 := request("c1", "run_shell_command", `{"command":"make all"}`)
	asks := map[string]decisions.Set{"make": decisions.SetAsk, "write": decisions.SetAsk, "read": decisions.SetAllow}
	cases := []struct {
		name string
		of   map[string]decisions.Set
		asks bool
		do   func(t *testing.T, g *gates, c *socket.Conn)
		gate string
		want string
	}{
		{name: "only a deny stops it", gate: terminal("make all"), want: "ask passed"},
		{name: "denied", of: map[string]decisions.Set{"make": decisions.SetDeny}, gate: terminal("make all"), want: "deny"},
		{name: "a rule asks", of: asks, gate: terminal("make all"), want: "asks"},
		{name: "the settings ask", asks: true, gate: terminal("make all"), want: "asks"},
		{name: "the proxy asks", gate: `{"sessionId":"s","method":"terminal/create","params":{"command":"make all"},"ask":true}`, want: "asks"},
		{name: "the settings ask, allowed", of: map[string]decisions.Set{"make": decisions.SetAllow}, asks: true, gate: terminal("make all"), want: "allow"},
		{name: "the person was asked", of: asks, gate: terminal("make all"), want: "ask approved", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
		}},
		{name: "they said no", of: asks, gate: terminal("make all"), want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.answer(t, c, make1, "n")
		}},
		{name: "they were asked and said nothing", of: asks, gate: terminal("make all"), want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			_, _ = g.call(t, c, MethodRequestPermission, make1)
		}},
		{name: "used up", of: asks, gate: terminal("make all"), want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
			if got, _ := g.through(t, c, terminal("make all")); got != "ask approved" {
				t.Error(got)
			}
		}},
		{name: "of another command", of: asks, gate: terminal("make all install"), want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
		}},
		{name: "of less", of: asks, gate: terminal("make all; ls"), want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
		}},
		{name: "in another folder", of: asks, gate: `{"sessionId":"s","method":"terminal/create","params":{"command":"make all","cwd":"/tmp"}}`, want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
		}},
		{name: "with an environment", of: asks, gate: `{"sessionId":"s","method":"terminal/create","params":{"command":"make all","env":[{"name":"MAKEFLAGS","value":"x"}]}}`, want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
		}},
		{name: "code by a pipe, of another text", of: map[string]decisions.Set{"sh": decisions.SetAsk, "echo": decisions.SetAllow}, gate: terminal("echo a | sh"), want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, request("c1", "run_shell_command", `{"command":"echo a; echo b | sh"}`))
		}},
		{name: "in another session", of: asks, gate: `{"sessionId":"s2","method":"terminal/create","params":{"command":"make all"}}`, want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.declare(t, c, "s2", "gemini-cli")
			g.yes(t, c, make1)
		}},
		{name: "too long ago", of: asks, gate: terminal("make all"), want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
			g.clock = g.clock.Add(approvalLifetime)
		}},
		{name: "the clock went back", of: asks, gate: terminal("make all"), want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
			g.clock = g.clock.Add(-time.Second)
		}},
		{name: "the call is over", of: asks, gate: terminal("make all"), want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
			g.must(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}`))
		}},
		{name: "another call is over", of: asks, gate: terminal("make all"), want: "ask approved", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
			g.must(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"c2","status":"completed"}`))
		}},
		{name: "the turn is over", of: asks, gate: terminal("make all"), want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
			g.must(t, c, MethodCancel, `{"sessionId":"s"}`)
		}},
		{name: "the rules have changed", of: asks, gate: terminal("make all"), want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
			g.digest = "another"
		}},
		{name: "a rule denies it now", of: asks, gate: terminal("make all"), want: "deny", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, make1)
			g.of = map[string]decisions.Set{"make": decisions.SetDeny}
		}},
		{name: "a file, by another tool's words", of: asks, gate: `{"sessionId":"s","method":"fs/write_text_file","params":{"path":"/home/ana/src/shop/src/../a"}}`, want: "ask approved", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, request("c1", "write_file", `{"file_path":"/home/ana/src/shop/a","content":"x"}`))
		}},
		{name: "another file", of: asks, gate: `{"sessionId":"s","method":"fs/write_text_file","params":{"path":"/home/ana/src/shop/b"}}`, want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, request("c1", "write_file", `{"file_path":"/home/ana/src/shop/a","content":"x"}`))
		}},
		{name: "a file that was to be read", of: map[string]decisions.Set{"write": decisions.SetAsk, "read": decisions.SetAsk}, gate: `{"sessionId":"s","method":"fs/write_text_file","params":{"path":"/home/ana/src/shop/a"}}`, want: "asks", do: func(t *testing.T, g *gates, c *socket.Conn) {
			g.yes(t, c, request("c1", "read_file", `{"file_path":"/home/ana/src/shop/a"}`))
		}},
		{name: "a mode is the person's own", asks: true, gate: `{"sessionId":"s","method":"session/set_mode","params":{"modeId":"yolo"},"ask":true}`, want: "ask passed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := newGates(t, c.of)
			g.asks = c.asks
			con := conn(1)
			g.declare(t, con, "s", "gemini-cli")
			if c.do != nil {
				c.do(t, g, con)
			}
			got, _ := g.through(t, con, c.gate)
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// answer sends a request that the person is asked about, and their answer.
func (g *gates) answer(t *testing.T, c *socket.Conn, params, option string) {
	t.Helper()
	_, err := g.call(t, c, MethodRequestPermission, params)
	d := asked(t, err)
	if d == nil {
		t.Fatalf("the request was not asked about: %v", err)
	}
	g.must(t, c, native.MethodChoose, `{"decisionId":"`+d.ID+`","optionId":"`+option+`"}`)
}

func (g *gates) yes(t *testing.T, c *socket.Conn, params string) {
	t.Helper()
	g.answer(t, c, params, "y")
}

// TestGateAnswer: a gate's question is answered like others.
func TestGateAnswer(t *testing.T) {
	g := newGates(t, map[string]decisions.Set{"make": decisions.SetAsk})
	c := conn(1)
	g.declare(t, c, "s", "gemini-cli")
	_, d := g.through(t, c, terminal("make all"))
	if _, err := g.call(t, c, native.MethodChoose, `{"decisionId":"`+d.ID+`","optionId":"x"}`); code(err) != socket.CodeParams {
		t.Errorf("an option: %v", err)
	}
	g.must(t, c, native.MethodChoose, `{"decisionId":"`+d.ID+`","verdict":"allow"}`)
	if _, err := g.call(t, c, native.MethodChoose, `{"decisionId":"`+d.ID+`","verdict":"allow"}`); err == nil {
		t.Error("it was answered two times")
	}
	// A yes under other rules does not count.
	_, d = g.through(t, c, terminal("make all"))
	g.digest = "another"
	if _, err := g.call(t, c, native.MethodChoose, `{"decisionId":"`+d.ID+`","verdict":"allow"}`); err == nil {
		t.Error("the rules have changed, and the yes counted")
	}
}
