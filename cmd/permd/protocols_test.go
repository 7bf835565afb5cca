package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/otc"
	"github.com/permd/permd/socket/rap"
)

// oneCall is a tool call, whatever protocol brings it.
type oneCall struct {
	server string // "" for a tool of the agent's own
	tool   string
	input  string // JSON; ~ stands for the home
}

// speaker is one connection to a daemon over which every protocol is spoken.
type speaker struct {
	*wire
	http *httpClient
	dir  string
	n    int
}

// protocols ask about a call, and return the verdict and the decider; "refused" for a
// call that the protocol cannot express.
var protocols = map[string]func(s *speaker, t *testing.T, c oneCall) string{
	"permd/decide": func(s *speaker, t *testing.T, c oneCall) string {
		r := s.say(t, "permd/decide", map[string]any{"sessionId": "s1", "calls": []any{c.native(s.id())}})
		return verdictOf(r.Result.Decisions...)
	},
	"HTTP calls": func(s *speaker, t *testing.T, c oneCall) string {
		a := s.http.send(t, "POST", "/v1/calls", encoded(t, map[string]any{"calls": []any{c.native(s.id())}, "session": httpSession(s.dir)}))
		return verdictOf(s.read(t, `{"result":`+a.Body+`}`).Result.Decisions...)
	},
	"HTTP data": func(s *speaker, t *testing.T, c oneCall) string {
		call := c.native(s.id())
		a := s.http.decide(t, map[string]any{"tool": call["tool"], "args": call["input"], "session": httpSession(s.dir)})
		for verdict, word := range httpWords {
			if word == a.Decision {
				return verdict // who decided is not said there
			}
		}
		return a.Body
	},
	"ACP": func(s *speaker, t *testing.T, c oneCall) string {
		name, call := c.tool, map[string]any{"toolCallId": s.id(), "kind": "other", "rawInput": raw(c.input)}
		if c.server != "" {
			name = "mcp__" + c.server + "__" + c.tool
		}
		call["title"], call["_meta"] = name, map[string]any{"claudeCode": map[string]string{"toolName": name}}
		var in struct {
			Command string `json:"command"`
		}
		if _ = json.Unmarshal([]byte(c.input), &in); c.tool == "Bash" {
			call["title"], call["kind"] = in.Command, "execute"
		}
		r := s.say(t, "session/request_permission", map[string]any{"sessionId": "s1", "toolCall": call, "options": acpOptions})
		if r.Error.Code == -32050 {
			return verdictOf(r.Error.Data)
		}
		if verdict := r.Result.Meta.Permd.Verdict; (verdict == "allow") != (r.Result.Outcome.OptionID == "allow-once") {
			t.Errorf("%+v: %s, and the option %s", c, verdict, r.Result.Outcome.OptionID)
		}
		return verdictOf(r.Result.Meta.Permd)
	},
	"AAP": func(s *speaker, t *testing.T, c oneCall) string {
		params := map[string]any{"sessionId": "aap", "agent": map[string]any{"name": "helper"}, "tools": []any{}}
		tools := []any{map[string]string{"name": c.tool}}
		if params["tools"] = tools; c.server != "" {
			params["agent"], params["tools"] = map[string]any{"name": c.server, "tools": tools}, []any{}
		}
		params["turn"] = map[string]any{"events": []any{
			map[string]any{"event": "turn_start"},
			map[string]any{"event": "tool_call", "toolCallId": s.id(), "name": c.tool, "input": raw(c.input)},
			map[string]any{"event": "turn_stop", "stopReason": "tool_use"},
		}}
		r := s.say(t, "aap/permissions", params)
		if len(r.Result.Calls) != 1 {
			return "refused"
		}
		d := r.Result.Calls[0].Decision
		if outcome := r.Result.Calls[0].Outcome; map[string]string{"granted": "allow", "execute": "allow", "denied": "deny", "ask": "ask"}[outcome] != d.Verdict {
			t.Errorf("%+v: %s, and %s", c, d.Verdict, outcome)
		}
		return verdictOf(d)
	},
	"RAP": func(s *speaker, t *testing.T, c oneCall) string {
		r := s.say(t, "rap/invoke", map[string]any{
			"sessionId": "s1", "operation": c.tool, "arguments": raw(c.input), "id": s.id(), "group_id": "g", "thread_ancestors": []string{},
			"toolset": map[string]any{"name": c.serverOr("machine"), "tools": []any{map[string]string{"name": c.tool}}},
		})
		return r.outcome(t, c, string(rap.Run))
	},
	"OTC": func(s *speaker, t *testing.T, c oneCall) string {
		r := s.say(t, "otc/call", map[string]any{"sessionId": "s1", "call_id": s.id(), "tool_id": c.serverOr("machine") + "." + c.tool, "input": raw(c.input)})
		return r.outcome(t, c, string(otc.Run))
	},
}

// serverOr returns the call's server. RAP and OTC have no tools of the agent itself, so
// a server is made up for them.
func (c *oneCall) serverOr(other string) string {
	if c.server == "" {
		return other
	}
	return c.server
}

func (c *oneCall) native(id string) map[string]any {
	return map[string]any{"callId": id, "tool": map[string]string{"name": c.tool, "server": c.server}, "input": raw(c.input)}
}

func (s *speaker) id() string { s.n++; return fmt.Sprint("call-", s.n) }

type spokenDecision struct {
	ID      string `json:"decisionId"`
	Verdict string `json:"verdict"`
	By      string `json:"decidedBy"`
	Widths  []struct {
		ID   string `json:"id"`
		Rule string `json:"rule"`
	} `json:"widths"`
}

// spoken is an answer in any protocol.
type spoken struct {
	Result struct {
		Decisions []spokenDecision
		Calls     []struct {
			Outcome  string
			Decision spokenDecision
		}
		Meta struct {
			Permd spokenDecision `json:"permd"`
		} `json:"_meta"`
		Outcome  struct{ OptionID string }
		Decision spokenDecision
		OneWord  string
	}
	Error struct {
		Code    int
		Message string
		Data    spokenDecision
	}
}

func (s *speaker) say(t *testing.T, method string, params any) spoken {
	t.Helper()
	if err := s.SetDeadline(time.Now().Add(eventually.Limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(s.wire, request(method, params)); err != nil {
		t.Fatal(err)
	}
	line, err := s.lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return s.read(t, line)
}

func (s *speaker) read(t *testing.T, line string) (r spoken) {
	t.Helper()
	// An outcome is a word in RAP and OTC, an object in ACP.
	for _, word := range []string{"run", "ask", "denied", "unmet", "invalid"} {
		line = strings.Replace(line, `"result":{"outcome":"`+word+`"`, `"result":{"oneWord":"`+word+`"`, 1)
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return r
}

// outcome checks that the word fits the verdict.
func (r *spoken) outcome(t *testing.T, c oneCall, run string) string {
	t.Helper()
	if r.Error.Code != 0 {
		return "refused"
	}
	d := r.Result.Decision
	if map[string]string{run: "allow", "denied": "deny", "ask": "ask"}[r.Result.OneWord] != d.Verdict {
		t.Errorf("%+v: %s, and %s", c, d.Verdict, r.Result.OneWord)
	}
	return verdictOf(d)
}

func verdictOf(list ...spokenDecision) string {
	if len(list) != 1 || list[0].Verdict == "" {
		return "refused"
	}
	return list[0].Verdict + " by " + list[0].By
}

// sameRules are one policy: lists, and rules about arguments.
var sameRules = map[string]string{
	"rules.yaml": `allow:
  use: ["shop:list_*", "shop:call_tool"]
ask:
  use: ["shop:list_salaries"]
deny:
  use: ["*:purge_*"]
  read: ["~/vault/**"]
  connect: ["*.evil.example"]
`,
	"same.rego": `package permd.user
import rego.v2
allow contains "that many" if { input.effect.kind == "use"; input.effect.tool == "count"; input.effect.arguments.n == 9007199254740993 }
allow contains "in these letters" if { input.effect.kind == "use"; input.effect.tool == "name"; input.effect.arguments.text == "Zoë 名前 🙂" }
deny contains "no such order" if { input.effect.kind == "use"; input.effect.tool == "order"; input.effect.arguments.items[_].sku == "X-1" }
`,
}

// TestOneToolManyProtocols: one policy and one remembered choice give a tool call
// the same verdict in every protocol.
func TestOneToolManyProtocols(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one call over each protocol")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.listensHTTP(t, "unix")
	for name, text := range sameRules {
		writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", name), text)
	}
	project := d.project(t, map[string]string{"main.go": "package main\n"})
	d.start(t)
	s := &speaker{wire: d.session(t, project), http: d.http(t), dir: project}

	// In AAP, an agent's own tools are those of the client.
	s.say(t, "permd/session", map[string]any{"sessionId": "aap", "cwd": project, "client": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"}})
	// One of them asked what is remembered.
	r := s.say(t, "permd/decide", map[string]any{"sessionId": "s1", "calls": []any{(&oneCall{"shop", "move", `{"bin":"C-17","n":9007199254740993}`}).native("first")}})
	if len(r.Result.Decisions) != 1 || len(r.Result.Decisions[0].Widths) == 0 {
		t.Fatalf("%+v", r)
	}
	s.say(t, "permd/choose", map[string]any{
		"decisionId": r.Result.Decisions[0].ID, "verdict": "allow", "width": r.Result.Decisions[0].Widths[0].ID, "scope": "user",
	})

	const (
		allowed    = "allow by policy"
		remembered = "allow by memory"
		asked      = "ask by policy"
		denied     = "deny by policy"
	)
	// Differences by design, with the reason.
	noOwnTools := map[string]string{"RAP": asked, "OTC": asked} // they only have tools of servers: nobody's shell or file tool is looked into for an allow
	notAWord := map[string]string{"OTC": "refused"}             // its names are letters, digits and _
	tests := []struct {
		name string
		call oneCall
		want string
		but  map[string]string
	}{
		{"a list allows", oneCall{"shop", "list_items", `{}`}, allowed, nil},
		{"a list denies", oneCall{"shop", "purge_items", `{}`}, denied, nil},
		{"a list denies on every server", oneCall{"other", "purge_items", `{"a":1}`}, denied, nil},
		{"a list asks", oneCall{"shop", "list_salaries", `{}`}, asked, nil},
		{"nothing speaks", oneCall{"shop", "paint", `{"colour":"red"}`}, asked, nil},
		{"another server", oneCall{"shop2", "list_items", `{}`}, asked, nil},
		{"a tool in other letters", oneCall{"shop", "List_items", `{}`}, asked, nil},
		{"a tool of nearly that name", oneCall{"shop", "list", `{}`}, asked, nil},
		{"a tool in letters that look alike", oneCall{"shop", "lіst_items", `{}`}, asked, notAWord},
		{"a name with a dash", oneCall{"shop", "list_all-items", `{}`}, allowed, notAWord},
		{"a name that hides a letter", oneCall{"shop", "list_\u200bitems", `{}`}, asked, notAWord},

		{"a path that is denied", oneCall{"shop", "list_items", `{"path":"~/vault/plan"}`}, denied, nil},
		{"a path that leads there", oneCall{"shop", "list_items", `{"path":"~/project/../vault/plan"}`}, denied, nil},
		{"a path of permd", oneCall{"shop", "list_items", `{"path":"~/.config/permd/policy.d/rules.yaml","content":"allow: {}"}`}, "", nil},
		{"a path of the project", oneCall{"shop", "list_items", `{"path":"~/project/main.go"}`}, allowed, nil},
		{"a command that is denied", oneCall{"shop", "list_items", `{"command":"rm -rf /"}`}, denied, nil},
		{"a host that is denied", oneCall{"shop", "list_items", `{"url":"https://a.evil.example/?q=1"}`}, denied, nil},
		{"a tool behind the tool", oneCall{"shop", "call_tool", `{"name":"purge_all","arguments":{}}`}, denied, nil},
		{"another tool behind the tool", oneCall{"shop", "call_tool", `{"name":"list_items","arguments":{}}`}, asked, nil},
		{"a member in two cases", oneCall{"shop", "list_items", `{"command":"ls","Command":"rm -rf /"}`}, "", nil},
		{"members that say two things", oneCall{"shop", "list_items", `{"path":"~/project/main.go","file_path":"~/vault/plan"}`}, denied, nil},

		{"a number to the last digit", oneCall{"shop", "count", `{"n":9007199254740993}`}, allowed, nil},
		{"the number that a double makes of it", oneCall{"shop", "count", `{"n":9007199254740992}`}, asked, nil},
		{"the number as a text", oneCall{"shop", "count", `{"n":"9007199254740993"}`}, asked, nil},
		{"letters of the world", oneCall{"shop", "name", `{"text":"Zoë 名前 🙂"}`}, allowed, nil},
		{"the same, escaped", oneCall{"shop", "name", `{"text":"Zo\u00eb \u540d\u524d \ud83d\ude42"}`}, allowed, nil},
		{"composed otherwise", oneCall{"shop", "name", `{"text":"Zoe\u0308 名前 🙂"}`}, asked, nil},
		{"deep arguments", oneCall{"shop", "order", `{"items":[{"sku":"A-1"},{"sku":"X-1"}]}`}, denied, nil},
		{"other deep arguments", oneCall{"shop", "order", `{"items":[{"sku":"A-1"}]}`}, asked, nil},

		{"what is remembered", oneCall{"shop", "move", `{"bin":"C-17","n":9007199254740993}`}, remembered, nil},
		{"the same with spaces", oneCall{"shop", "move", `{ "bin" : "C-17", "n":9007199254740993 }`}, remembered, nil},
		{"other arguments", oneCall{"shop", "move", `{"bin":"C-18","n":9007199254740993}`}, asked, nil},
		{"another number", oneCall{"shop", "move", `{"bin":"C-17","n":9007199254740992}`}, asked, nil},
		{"the number in other digits", oneCall{"shop", "move", `{"bin":"C-17","n":9007199254740993.0}`}, asked, nil},
		{"more arguments", oneCall{"shop", "move", `{"bin":"C-17","n":9007199254740993,"force":true}`}, asked, nil},
		{"of another server", oneCall{"shop2", "move", `{"bin":"C-17","n":9007199254740993}`}, asked, nil},

		{"the agent's own shell", oneCall{"", "Bash", `{"command":"git status"}`}, allowed, noOwnTools},
		{"its shell, denied", oneCall{"", "Bash", `{"command":"rm -rf /"}`}, denied, nil},
		{"its shell, a path that is denied", oneCall{"", "Bash", `{"command":"cat ~/vault/plan"}`}, denied, nil},
		{"its file tool", oneCall{"", "Read", `{"file_path":"~/project/main.go"}`}, allowed, noOwnTools},
		{"its file tool, denied", oneCall{"", "Read", `{"file_path":"~/vault/plan"}`}, denied, nil},
		{"a shell of a server", oneCall{"shop", "Bash", `{"command":"git status"}`}, asked, nil},
	}
	seen := map[string]int{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.call
			c.input = strings.ReplaceAll(c.input, `"~/`, `"`+d.home+`/`)
			c.input = strings.ReplaceAll(c.input, ` ~/`, ` `+d.home+`/`)
			said := map[string]string{}
			for name, ask := range protocols {
				said[name] = ask(s, t, c)
				seen[strings.Fields(said[name])[0]]++
			}
			wanted := tt.want
			if wanted == "" {
				// Not allowed, with the same verdict in all protocols.
				if wanted = said["permd/decide"]; strings.HasPrefix(wanted, "allow") {
					t.Errorf("permd/decide says %s", wanted)
				}
			}
			for name, got := range said {
				want := wanted
				if but, ok := tt.but[name]; ok {
					want = but
				}
				if name == "HTTP data" {
					want, _, _ = strings.Cut(want, " ")
				}
				if got != want {
					t.Errorf("%s says %s, want %s", name, got, want)
				}
			}
		})
	}
	if seen["allow"] < 60 || seen["ask"] < 80 || seen["deny"] < 80 || seen["refused"] != 3 {
		t.Errorf("the verdicts are %v", seen)
	}
	spoke := map[string]bool{}
	for _, rec := range d.records(t) {
		spoke[rec.Protocol] = true
	}
	want(t, "protocols in the log", []string{"aap", "acp", "otc", "permd", "rap"}, slices.Sorted(maps.Keys(spoke)))
}
