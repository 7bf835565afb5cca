package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// The tool that a gateway calls is a use of its own: allowing the gateway does not
// allow it.
func TestGateway(t *testing.T) {
	claude := func(tool, input string) *effects.Call { return agentCall("claude-code", tool, input) }
	runToolCases(t, []toolCase{
		{name: "by its name", call: claude("mcp__hub__call_tool", `{"name":"delete_mail","arguments":{"id":"7"}}`),
			want: []string{"use hub:call_tool @tool", "use ?:delete_mail @rawInput.name"}},
		{name: "in camel case", call: claude("mcp__hub__executeTool", `{"toolName":"delete_mail"}`),
			want: []string{"use hub:executeTool @tool", "use ?:delete_mail @rawInput.toolName"}},
		{name: "in capitals", call: claude("mcp__hub__RUN_TOOL", `{"tool_slug":"MAIL_DELETE","args":{}}`),
			want: []string{"use hub:RUN_TOOL @tool", "use ?:MAIL_DELETE @rawInput.tool_slug"}},
		{name: "by its members", call: claude("mcp__hub__go", `{"server_name":"mail","tool_name":"delete","arguments":{}}`),
			want: []string{"use hub:go @tool", "use mail:delete @rawInput.tool_name"}},
		{name: "the tool's full name", call: claude("mcp__hub__run_tool", `{"tool":"mcp__mail__delete","arguments":{}}`),
			want: []string{"use hub:run_tool @tool", "use mail:delete @rawInput.tool"}},
		{name: "several", call: claude("mcp__hub__execute_tools", `{"tools":[{"tool_slug":"a"},{"tool_slug":"b","arguments":{}}]}`),
			want: []string{"use hub:execute_tools @tool", "use ?:a @rawInput.tools[0].tool_slug", "use ?:b @rawInput.tools[1].tool_slug"}},
		{name: "one behind another", call: claude("mcp__hub__call_tool", `{"name":"invoke_tool","arguments":{"name":"delete_mail"}}`),
			want: []string{"use hub:call_tool @tool", "use ?:invoke_tool @rawInput.name", "use ?:delete_mail @rawInput.arguments.name"}},
		{name: "arguments as text", call: claude("mcp__hub__call_tool", `{"name":"invoke_tool","arguments":"{\"name\":\"x\"}"}`),
			want: []string{"use hub:call_tool @tool", "use ?:invoke_tool @rawInput.name", "use ?:x @rawInput.arguments.name"}},
		{name: "nothing named", call: claude("mcp__hub__call_tool", `{"arguments":{}}`),
			want: []string{"use hub:call_tool @tool", "unknown - @rawInput"}},
		{name: "nothing sent", call: claude("mcp__hub__call_tool", ``),
			want: []string{"use hub:call_tool @tool", "unknown - @rawInput"}},
		{name: "an item that names nothing", call: claude("mcp__hub__execute_tools", `{"tools":[7]}`),
			want: []string{"use hub:execute_tools @tool", "unknown - @rawInput.tools[0]"}},
		{name: "two names", call: claude("mcp__hub__call_tool", `{"tool":"a","tool_name":"b"}`),
			want: []string{"use hub:call_tool @tool", "use ?:a @rawInput.tool"}, defects: []string{"contradiction @rawInput"}},
		{name: "a command behind", call: claude("mcp__hub__call_tool", `{"name":"sh","arguments":{"command":"make a"}}`),
			want: []string{"use hub:call_tool @tool", "run make a @rawInput.arguments.command", "use ?:sh @rawInput.name"}},
		{name: "no gateway", call: claude("mcp__tracker__create_issue", `{"name":"x","params":{"a":1},"action":"b"}`),
			want: []string{"use tracker:create_issue @tool"}},
		{name: "a tool in words", call: claude("mcp__ci__lint", `{"tool":"ruff","args":["--fix"]}`), want: []string{"use ci:lint @tool"}},
	})
}

// Starting a sub-agent is only the start if the session itself may do all that its
// sub-agents may. In a confined session its effects are unknown.
func TestSubAgentOfConfinedSession(t *testing.T) {
	w := toolWorld(t)
	for _, tt := range []struct{ agent, tool, input string }{
		{"claude-code", "Task", `{"prompt":"x","subagent_type":"builder"}`},
		{"opencode", "task", `{"prompt":"x"}`},
		{"codex", "spawn_agent", `{"prompt":"x"}`},
		{"nobody", "Task", `{"prompt":"x"}`},
		{"claude-code", "mcp__crew__spawn_agent", `{"prompt":"x"}`},
		{"claude-code", "mcp__hub__call_tool", `{"name":"spawn_agent"}`},
	} {
		t.Run(tt.agent+" "+tt.tool, func(t *testing.T) {
			for _, confined := range []string{"", "its mode only looks"} {
				c := agentCall(tt.agent, tt.tool, tt.input)
				c.Confined = confined
				got := lines(w.Effects(c))
				unknown := slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, "unknown") })
				if unknown != (confined != "") {
					t.Errorf("confined %q: %q", confined, got)
				}
			}
		})
	}
	c := agentCall("claude-code", "TodoWrite", `{"todos":[]}`)
	c.Confined = "its mode only looks"
	if got := lines(w.Effects(c)); len(got) != 1 {
		t.Errorf("a tool that starts nothing: %q", got)
	}
}

func TestFetchOfOtherSchemes(t *testing.T) {
	fetch := func(url string) *effects.Call {
		return agentCall("claude-code", "WebFetch", `{"url":"`+url+`","prompt":"x"}`)
	}
	runToolCases(t, []toolCase{
		{name: "web", call: fetch("http://a.example/"), want: []string{"connect a.example get @rawInput.url"}},
		{name: "no scheme", call: fetch("a.example/x"), want: []string{"connect a.example get @rawInput.url"}},
		{name: "ftp", call: fetch("ftp://a.example/x"), want: []string{"connect a.example get @rawInput.url", "unknown - @rawInput.url"}},
		{name: "gopher", call: fetch("gopher://a.example:6379/_x"), want: []string{"connect a.example send @rawInput.url", "unknown - @rawInput.url"}},
		{name: "data", call: fetch("data:text/html,x"), want: []string{"unknown - @rawInput.url"}},
		{name: "in free text", call: agentCall("gemini-cli", "web_fetch", `{"prompt":"read ftp://a.example/x"}`),
			want: []string{"connect a.example get @rawInput.prompt", "unknown - @rawInput.prompt"}},
	})
}

func TestToolsOfOpenHands(t *testing.T) {
	hands := func(tool, input string) *effects.Call { return agentCall("openhands", tool, input) }
	runToolCases(t, []toolCase{
		{name: "run", call: hands("run", `{"command":"make a"}`), want: []string{"run make a @rawInput.command"}},
		{name: "typed", call: hands("run", `{"command":"y","is_input":true}`), want: []string{"run y @rawInput.command", "unknown - @rawInput.is_input"}},
		{name: "read", call: hands("read", `{"path":"a.c"}`), want: []string{"read ./a.c @rawInput.path"}},
		{name: "view", call: hands("edit", `{"command":"view","path":"a.c"}`), want: []string{"read ./a.c @rawInput.path"}},
		{name: "change", call: hands("edit", `{"command":"str_replace","path":"a.c","old_str":"a","new_str":"b"}`), want: []string{"write ./a.c @rawInput.path"}},
		{name: "write", call: hands("write", `{"path":"a.c","content":"x"}`), want: []string{"write ./a.c @rawInput.path"}},
	})
}
