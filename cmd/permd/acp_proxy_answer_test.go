package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
)

// mirrored is a client of permd acp whose agent echoes its input: the test sends the
// agent's lines as the client, and reads what the agent received.
type mirrored struct {
	t      *testing.T
	in     io.WriteCloser
	out    *bufio.Reader
	stderr lockedBuffer
}

// mirror starts one, with a session named s in the project.
func (d *testDaemon) mirror(t *testing.T, project, agent string, version int) *mirrored {
	t.Helper()
	cmd := d.command("acp", "--", os.Args[0], asAgent, "echo")
	m := &mirrored{t: t}
	cmd.Stderr = &m.stderr
	m.in, m.out = started(t, cmd)
	watch := time.AfterFunc(eventually.Limit, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		m.in.Close()
		ended(t, cmd, &m.stderr, 0)
		watch.Stop()
	})
	for _, line := range []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":%d}}`, version),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":%d,"agentInfo":{"name":%q,"version":"1"},"info":{"name":%q,"version":"1"}}}`, version, agent, agent),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, project),
		`{"jsonrpc":"2.0","id":"n","result":{"sessionId":"s"}}`,
	} {
		m.passes(line)
	}
	return m
}

func (m *mirrored) say(line string) {
	m.t.Helper()
	if _, err := io.WriteString(m.in, line+"\n"); err != nil {
		m.t.Fatal(err, m.stderr.String())
	}
}

func (m *mirrored) hear() string {
	m.t.Helper()
	line, err := m.out.ReadString('\n')
	if err != nil {
		m.t.Fatal(err, m.stderr.String())
	}
	return strings.TrimSuffix(line, "\n")
}

// passes sends a line that comes back unchanged.
func (m *mirrored) passes(line string) {
	m.t.Helper()
	m.say(line)
	if got := m.hear(); got != line {
		m.t.Fatalf("said %s, and %s came back: %s", line, got, m.stderr.String())
	}
}

// shows sends a request of the agent that the person is shown.
func (m *mirrored) shows(request string) string {
	m.t.Helper()
	m.say(request)
	got := m.hear()
	if !strings.Contains(got, `"method"`) {
		m.t.Fatalf("%s was answered %s", request, got)
	}
	return got
}

// picks sends the person's answer to the request with that id, and returns the
// answer that the agent got.
func (m *mirrored) picks(id int, option string) string {
	m.t.Helper()
	m.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, id, option))
	return m.told()
}

// told returns the option in the answer that the agent got.
func (m *mirrored) told() string {
	m.t.Helper()
	var got struct {
		Result struct {
			Outcome struct{ Outcome, OptionID string }
			Action  string
			Content struct{ Persist string }
		}
		Error *struct{ Message string }
	}
	line := m.hear()
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		m.t.Fatal(err)
	}
	switch o := got.Result.Outcome; {
	case got.Error != nil:
		return "error"
	case got.Result.Action != "":
		return strings.TrimSpace(got.Result.Action + " " + got.Result.Content.Persist)
	case o.Outcome == "selected":
		return o.OptionID
	default:
		return o.Outcome
	}
}

// waitSays waits until permd has printed that on standard error.
func (m *mirrored) waitSays(want string) {
	m.t.Helper()
	eventually.Holds(m.t, fmt.Sprintf("permd says %q", want), func() bool { return strings.Contains(m.stderr.String(), want) }, m.stderr.String)
}

const mirrorOptions = `"options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]`

// mirrorAsks returns a request about a command.
func mirrorAsks(id int, command string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c%d","name":"Bash","title":%q,"kind":"execute","rawInput":{"command":%q}},%s}}`,
		id, id, command, command, mirrorOptions)
}

// TestProxyAnswersLogged: the decision log has the person's answers.
func TestProxyAnswersLogged(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it answers in every way and reads the log; TestProxyWithSDK is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.start(t)
	project := d.project(t, nil)
	logged := func() map[string]string {
		got := map[string]string{}
		for _, r := range d.records(t) {
			if r.Decision.Verdict != decisions.Ask {
				continue
			}
			said := "nothing"
			if a := r.Answer; a != nil {
				said = fmt.Sprintf("%s %d", a.Verdict, len(a.Choices))
			}
			got[r.Decision.CallID] = said
		}
		return got
	}
	v1 := d.mirror(t, project, "claude-agent-acp", 1)
	for i, a := range []struct{ result, told string }{
		1: {`"result":{"outcome":{"outcome":"selected","optionId":"yes"}}`, "yes"},
		2: {`"result":{"outcome":{"outcome":"selected","optionId":"no"}}`, "no"},
		3: {`"result":{"outcome":{"outcome":"selected","optionId":"permd-width-w1"}}`, "yes"},
		4: {`"result":{"outcome":{"outcome":"cancelled"}}`, "cancelled"},
		5: {`"error":{"code":-32601,"message":"cannot ask"}`, "error"},
		6: {`"result":{"outcome":{"outcome":"cancelled"}}`, "cancelled"}, // of a turn that is over
		7: {`"result":{"outcome":{"outcome":"selected","optionId":"yes"}}`, "yes"},
	} {
		if i == 0 {
			continue
		}
		v1.shows(mirrorAsks(i, fmt.Sprint("frob ", i)))
		if i == 6 {
			v1.passes(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
		}
		v1.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i, a.result))
		if got := v1.told(); got != a.told {
			t.Errorf("%d: the agent got %q, want %q: %s", i, got, a.told, v1.stderr.String())
		}
	}
	// The last answer was a yes, so permd got all of them.
	want := map[string]string{"c1": "allow 0", "c2": "deny 0", "c3": "allow 1", "c4": "deny 0", "c5": "nothing", "c6": "nothing", "c7": "allow 0"}
	if d := cmp.Diff(want, logged()); d != "" {
		t.Errorf("the log (-want +got):\n%s", d)
	}

	v2 := d.mirror(t, project, "claude-agent-acp", 2)
	for i, option := range []string{"", "no", "", "permd-width-w1", "yes"} {
		call := fmt.Sprint("d", i)
		shown := v2.shows(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s","title":"Run?","subject":{"type":"tool_call","toolCall":{"toolCallId":%q,"name":"Bash","kind":"execute","rawInput":{"command":"quux %d"}}},%s}}`, i, call, i, mirrorOptions))
		if !strings.Contains(shown, "permd-width-w1") || !strings.Contains(shown, `"description":"permd asks: `) || strings.Contains(shown, `"always"`) {
			t.Errorf("shown %s", shown)
		}
		if option == "" {
			v2.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"cancelled"}}}`, i)) // declined
			v2.told()
			continue
		}
		told := strings.Replace(option, "permd-width-w1", "yes", 1)
		if got := v2.picks(i, option); got != told {
			t.Errorf("%s: the agent got %q, want %q", call, got, told)
		}
	}
	for id, said := range map[string]string{"d0": "deny 0", "d1": "deny 0", "d2": "deny 0", "d3": "allow 1", "d4": "allow 0"} {
		want[id] = said
	}
	if d := cmp.Diff(want, logged()); d != "" {
		t.Errorf("the log (-want +got):\n%s", d)
	}
}

// TestProxyForms: permd decides the forms with which Codex asks about tools of
// servers.
func TestProxyForms(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for forms alone; TestProxyWithSDK is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "forms.rego", `
allow contains "reading" if { input.effect.kind == "use"; input.effect.tool == "get" }
deny contains "no merging" if { input.effect.kind == "use"; input.effect.tool == "merge" }`)
	d.start(t)
	m := d.mirror(t, d.project(t, nil), "codex-acp", 1)
	n := 0
	form := func(tool, message, announced, asked string) string {
		n++
		call := fmt.Sprint("f", n)
		m.passes(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":%q,"title":"mcp.github.%s","kind":"execute","status":"in_progress","rawInput":{"server":"github","tool":%q,"arguments":%s}}}}`, call, tool, tool, announced))
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"sessionId":"s","toolCallId":%q,"message":"Allow the github MCP server to run tool \"%s\"?","_meta":{"codex_approval_kind":"mcp_tool_call","persist":["session","always"],"tool_params":%s},"mode":"form",`+
			`"requestedSchema":{"type":"object","properties":{"persist":{"type":"string","title":"Approval scope","oneOf":[{"const":"once","title":"Allow once"},{"const":"session","title":"Allow for this session"},{"const":"always","title":"Allow and don't ask again"}],"default":"once"}},"required":["persist"]}}}`, n, call, message, asked)
	}
	for _, c := range []struct{ name, tool, announced, asked, person, told, message string }{
		{name: "allowed", tool: "get", announced: `{"a":1,"b":2}`, asked: `{"b":2,"a":1}`, told: "accept once"},
		{name: "denied", tool: "merge", announced: `{}`, asked: `{}`, told: "decline"},
		{name: "about another call", tool: "get", announced: `{"a":1}`, asked: `{"a":2}`, person: `{"action":"decline"}`, told: "decline"},
		{name: "about another tool", tool: "get", message: "delete", announced: `{}`, asked: `{}`, person: `{"action":"decline"}`, told: "decline"},
		{name: "declined", tool: "put", announced: `{"a":1}`, asked: `{"a":1}`, person: `{"action":"decline"}`, told: "decline"},
		{name: "dismissed", tool: "put", announced: `{"a":1}`, asked: `{"a":1}`, person: `{"action":"cancel"}`, told: "cancel"},
		{name: "once", tool: "put", announced: `{"a":1}`, asked: `{"a":1}`, person: `{"action":"accept","content":{"persist":"once"}}`, told: "accept once"},
		{name: "for the session", tool: "put", announced: `{"a":1}`, asked: `{"a":1}`, person: `{"action":"accept","content":{"persist":"session"}}`, told: "accept once"},
		{name: "remembered", tool: "put", announced: `{"a":1}`, asked: `{"a":1}`, told: "accept once"},
		{name: "not of other arguments", tool: "put", announced: `{"a":2}`, asked: `{"a":2}`, person: `{"action":"accept","content":{"persist":"always"}}`, told: "accept once"},
		{name: "remembered as well", tool: "put", announced: `{"a":2}`, asked: `{"a":2}`, told: "accept once"},
	} {
		message := c.message
		if message == "" {
			message = c.tool
		}
		line := form(c.tool, message, c.announced, c.asked)
		if c.person == "" {
			m.say(line)
		} else {
			m.passes(line) // the person sees the form as it is
			m.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, n, c.person))
		}
		if got := m.told(); got != c.told {
			t.Fatalf("%s: the agent got %q, want %q: %s", c.name, got, c.told, m.stderr.String())
		}
	}
	got := map[string]string{}
	for _, r := range d.records(t) {
		if r.Decision.Verdict == decisions.Ask && r.Answer != nil {
			got[r.Decision.CallID] = fmt.Sprintf("%s %d", r.Answer.Verdict, len(r.Answer.Choices))
		}
	}
	if d := cmp.Diff(map[string]string{"f3": "deny 0", "f4": "deny 0", "f5": "deny 0", "f6": "deny 0", "f7": "allow 0", "f8": "allow 1", "f10": "allow 1"}, got); d != "" {
		t.Errorf("the log (-want +got):\n%s", d)
	}
	for _, says := range []string{"remembered: allow use github:put", "(session)", "(project)"} {
		if !strings.Contains(m.stderr.String(), says) {
			t.Errorf("permd did not say %q: %s", says, m.stderr.String())
		}
	}
	line := form("put", "put", `{"a":3}`, `{"a":3}`)
	m.passes(line)
	d.policy(t, "late.rego", `deny contains "frozen" if input.effect.kind == "use"`)
	d.reload(t)
	m.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"action":"accept","content":{"persist":"always"}}}`, n))
	if got := m.told(); got != "decline" {
		t.Errorf("a late deny: the agent got %q", got)
	}
}
