package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/strictjson"
)

// acp returns the call of an ACP request, which names no tool.
func acp(agent string, change func(c *effects.Call)) *effects.Call {
	c := agentCall(agent, "", "")
	change(c)
	return c
}

// TestACP has calls that agents are known to send, and the same from unknown
// agents.
func TestACP(t *testing.T) {
	in := func(s string) strictjson.Value { return strictjson.Value(s) }
	runToolCases(t, []toolCase{
		{name: "claude, older", call: acp("claude-code-acp", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "`git status`", in(`{"command":"git status"}`)
		}), want: []string{"run git status @rawInput.command"}},
		{name: "claude, older, server's tool", call: acp("claude-code-acp", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "other", "mcp__github__merge", in(`{"n":1}`)
		}), want: []string{"?use github:merge @title"}},
		{name: "claude names the tool in _meta", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "other", "Explore", in(`{"prompt":"x"}`)
			c.Claims.Meta = in(`{"claudeCode":{"toolName":"Task"}}`)
		}), want: []string{"use :Task of agent @_meta.claudeCode.toolName"}},
		{name: "claude names the server in _meta", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Input = "mcp__github__merge", in(`{"n":1}`)
			c.Claims.Meta = in(`{"claudeCode":{"mcpServer":{"name":"github","source":"project"}}}`)
		}), want: []string{"use github:merge of project @tool"}},
		{name: "claude writes outside", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Claims.Title = "Write", "edit", "Write /home/ana/.bashrc"
			c.Input = in(`{"file_path":"/home/ana/.bashrc","content":"x"}`)
			c.Claims.Diffs = []effects.Diff{{Path: "/home/ana/.bashrc", From: "content[0]"}}
			c.Claims.Locations = []effects.Location{{Path: "/home/ana/.bashrc", From: "locations[0].path"}, {Path: "/home/ana", From: "locations[1].path"}}
		}), want: []string{"write /home/ana/.bashrc @rawInput.file_path"}},
		{name: "codex command beside the input", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.Claims.Kind, c.Input = "1.6.2", "execute", in(`null`)
			c.Claims.Meta = in(`{"codex":{"params":{"itemId":"x","command":"bash -lc 'make a'","cwd":"/tmp"}}}`)
		}), want: []string{"run make a @_meta.codex.params.command"}},
		{name: "codex command in both places", call: acp("codex-acp", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "execute", in(`{"command":"make a","cwd":"/tmp"}`)
			c.Claims.Meta = in(`{"codex":{"params":{"command":"bash -lc 'make a'","cwd":"/tmp","networkApprovalContext":{"host":"pypi.org","protocol":"https"}}}}`)
		}), want: []string{"run make a @rawInput.command", "connect pypi.org send @_meta.codex.params.networkApprovalContext.host"}},
		{name: "codex commands differ", call: acp("codex-acp", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "execute", in(`{"command":"make a"}`)
			c.Claims.Meta = in(`{"codex":{"params":{"command":"bash -lc 'make b'"}}}`)
		}), want: []string{"run make a @rawInput.command"}, defects: []string{"contradiction @_meta.codex.params.command"}},
		{name: "codex wrapper that is more than a wrapper", call: acp("codex-acp", func(c *effects.Call) {
			c.Claims.Kind = "execute"
			c.Claims.Meta = in(`{"codex":{"params":{"command":"X=1 bash -lc 'make a'"}}}`)
		}), want: []string{"state - @_meta.codex.params.command", "run bash -lc make a @_meta.codex.params.command", "run make a @_meta.codex.params.command"}},
		{name: "codex network without a host", call: acp("codex-acp", func(c *effects.Call) {
			c.Claims.Kind = "execute"
			c.Claims.Meta = in(`{"codex":{"params":{"networkApprovalContext":{"Host":"a"}}}}`)
		}), want: []string{"unknown - @_meta.codex.params.networkApprovalContext"}, defects: []string{"dropped @_meta.codex.params.networkApprovalContext"}},
		{name: "codex network", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.Claims.Kind, c.Claims.Title = "2.6.0", "execute", "https network access to pypi.org"
			c.Input = in(`{"command":"make a","cwd":"` + effectstest.Cwd + `","url":"https://pypi.org"}`)
		}), want: []string{"run make a @rawInput.command", "connect pypi.org get @rawInput.url"}},
		{name: "codex file change by location", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.Claims.Kind, c.Claims.Title = "2.6.0", "edit", "Edit files"
			c.Claims.Locations = []effects.Location{{Path: effectstest.Cwd + "/src/vat.ts", From: "locations[0].path"}}
		}), want: []string{"?write ./src/vat.ts @locations[0].path"}},
		{name: "codex file change by diff", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.Claims.Kind, c.Claims.Title = "2.6.0", "edit", "Edit files"
			c.Claims.Diffs = []effects.Diff{{Path: "a", OldPath: "b", Operation: "move", From: "content[0]"}, {Path: "c", Operation: "delete", From: "content[1]"}}
			c.Claims.Locations = []effects.Location{{Path: "a", From: "locations[0].path"}, {Path: "d", From: "locations[1].path"}}
		}), want: []string{"?write ./a @content[0].path", "?read ./b @content[0].oldPath", "?delete ./b @content[0].oldPath",
			"?delete ./c @content[1].path", "?write ./d @locations[1].path"}},
		{name: "codex bare file change", call: acp("codex-acp", func(c *effects.Call) { c.Claims.Kind = "edit" }),
			want: []string{"unknown - @rawInput"}, missing: true},
		{name: "codex server's tool, merged", call: acp("codex-acp", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title = "execute", "mcp.github.create_issue"
			c.Input = in(`{"server":"github","tool":"create_issue","arguments":{"owner":"acme","path":"docs"}}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true}`)
		}), want: []string{"use github:create_issue @rawInput.tool", "^read ./docs @rawInput.arguments.path", "^write ./docs @rawInput.arguments.path"}},
		{name: "codex server's tool, with its arguments", call: acp("codex-acp", func(c *effects.Call) {
			c.Input = in(`{"server":"github","tool":"create_issue","arguments":{"n":[1,{"a":1.0,"b":"\u00e9"}],"owner":"acme"}}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true,"tool_params":{"owner": "acme","n":[1,{"b":"é","a":1.0}]}}`)
		}), want: []string{"use github:create_issue @rawInput.tool"}},
		{name: "codex server's tool, without arguments", call: acp("codex-acp", func(c *effects.Call) {
			c.Input = in(`{"server":"github","tool":"list","arguments":null}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true,"tool_params":{}}`)
		}), want: []string{"use github:list @rawInput.tool"}},
		{name: "codex server's tool, with arguments of another call", call: acp("codex-acp", func(c *effects.Call) {
			c.Input = in(`{"server":"github","tool":"create_issue","arguments":{"n":1}}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true,"tool_params":{"n":1.0}}`)
		}), want: []string{"use github:create_issue @rawInput.tool"}, defects: []string{"contradiction @_meta.tool_params"}},
		{name: "codex server's tool, with arguments that the call has not", call: acp("codex-acp", func(c *effects.Call) {
			c.Input = in(`{"server":"github","tool":"create_issue"}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true,"tool_params":{"n":1}}`)
		}), want: []string{"use github:create_issue @rawInput.tool"}, defects: []string{"contradiction @_meta.tool_params"}},
		{name: "codex server's tool, asked for by name", call: acp("codex-acp", func(c *effects.Call) {
			c.Input = in(`{"server":"github","tool":"list"}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true,"approval_message":"Allow the github MCP server to run tool \"list\"?"}`)
		}), want: []string{"use github:list @rawInput.tool"}},
		{name: "codex server's tool, asked for at the end", call: acp("codex-acp", func(c *effects.Call) {
			c.Input = in(`{"server":"github","tool":"list"}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true,"approval_message":"Allow github to run list?"}`)
		}), want: []string{"use github:list @rawInput.tool"}},
		{name: "codex server's tool, asked for another", call: acp("codex-acp", func(c *effects.Call) {
			c.Input = in(`{"server":"github","tool":"list"}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true,"approval_message":"Allow list to run tool \"merge\"?"}`)
		}), want: []string{"use github:list @rawInput.tool"}, defects: []string{"contradiction @_meta.approval_message"}},
		{name: "codex server's tool, asked for a longer name", call: acp("codex-acp", func(c *effects.Call) {
			c.Input = in(`{"server":"github","tool":"list"}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true,"approval_message":"Allow github to run tool \"full_list\"?"}`)
		}), want: []string{"use github:list @rawInput.tool"}, defects: []string{"contradiction @_meta.approval_message"}},
		{name: "codex server's tool, asked for by nothing", call: acp("codex-acp", func(c *effects.Call) {
			c.Input = in(`{"server":"github","tool":"list"}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true,"approval_message":"list"}`)
		}), want: []string{"use github:list @rawInput.tool"}, defects: []string{"contradiction @_meta.approval_message"}},
		{name: "codex server's tool, asked for in other words", call: acp("codex-acp", func(c *effects.Call) {
			c.Input = in(`{"server":"github","tool":"list"}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true,"approval_message":""}`)
		}), want: []string{"use github:list @rawInput.tool"}, defects: []string{"contradiction @_meta.approval_message"}},
		{name: "codex server's tool, bare", call: acp("codex-acp", func(c *effects.Call) {
			c.Claims.Kind = "execute"
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true}`)
		}), want: []string{"unknown - @rawInput", "use : @_meta"}, missing: true},
		{name: "codex permissions", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.Claims.Kind, c.Claims.Title = "1.6.2", "other", "Need network"
			c.Input = in(`{"threadId":"t","cwd":"/x","reason":"r","permissions":{"network":{"enabled":true}}}`)
		}), want: []string{"mode - @rawInput.permissions"}},
		{name: "codex in Rust labels a command read", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.Claims.Kind, c.Claims.Title = "0.13.0", "read", "rm -rf build, Read notes.txt"
			c.Claims.Locations = []effects.Location{{Path: effectstest.Cwd + "/notes.txt", From: "locations[0].path"}}
			c.Input = in(`{"call_id":"x","command":["bash","-lc","rm build && ls"],"cwd":"` + effectstest.Cwd + `","parsed_cmd":[{"type":"read","cmd":"cat"}],"reason":null}`)
		}), want: []string{"run rm build @rawInput.command", "delete ./build @rawInput.command", "run ls @rawInput.command"}},
		{name: "codex in Rust patches", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.Claims.Kind, c.Claims.Title = "0.13.0", "edit", "Edit a"
			c.Claims.Diffs = []effects.Diff{{Path: effectstest.Cwd + "/a", From: "content[0]"}}
			c.Input = in(`{"changes":{"` + effectstest.Cwd + `/a":{"type":"add","content":"x"}},"grant_root":null}`)
		}), want: []string{`write ./a @rawInput.changes["` + effectstest.Cwd + `/a"]`}},
		{name: "gemini's command is the title", call: acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title = "run_shell_command__9c41", "execute", "make a"
			c.Claims.Texts = []string{"[current working directory " + effectstest.Cwd + "] (Build)"}
		}), want: []string{"?run make a @title"}},
		{name: "gemini's command in another folder", call: acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title = "run_shell_command__9c41", "execute", "rm x"
			c.Claims.Texts = []string{"Build", "[in docs] (Build)"}
		}), want: []string{"?run rm x @title", "?delete ./docs/x @title"}},
		{name: "gemini's command in a folder that is not closed", call: acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title = "run_shell_command__9c41", "execute", "rm x"
			c.Claims.Texts = []string{"[in docs"}
		}), want: []string{"?run rm x @title", "?unknown - @title"}},
		{name: "gemini edits", call: acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title = "replace__1", "edit", "a: x => y"
			c.Claims.Diffs = []effects.Diff{{Path: effectstest.Cwd + "/a", Operation: "modify", From: "content[0]"}}
			c.Claims.Locations = []effects.Location{{Path: effectstest.Cwd + "/a", From: "locations[0].path"}}
		}), want: []string{"?write ./a @content[0].path"}},
		{name: "gemini reads", call: acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title = "read_file__1", "read", "a"
			c.Claims.Locations = []effects.Location{{Path: "/etc/hosts", From: "locations[0].path"}}
		}), want: []string{"?read /etc/hosts @locations[0].path"}},
		{name: "gemini's title is a server's argument", call: acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title = "mcp_prod_exec__11f0", "other", "git status"
		}), want: []string{"use :mcp_prod_exec @toolCallId"}},
		{name: "gemini reads outside of the workspace", call: acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title = "resolve-prompt-/home/ana/notes.txt-1f0e", "read", "Allow access to absolute path: /home/ana/notes.txt"
		}), want: []string{"?mode - @title", "?read /home/ana/notes.txt @title"}},
		{name: "opencode before its input", call: acp("opencode", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "bash", in(`{}`)
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "opencode edits", call: acp("opencode", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "edit", "src/vat.ts", in(`{"filepath":"`+effectstest.Cwd+`/src/vat.ts","diff":"x"}`)
			c.Claims.Diffs = []effects.Diff{{Path: effectstest.Cwd + "/src/vat.ts", From: "content[0]"}}
		}), want: []string{"write ./src/vat.ts @rawInput.filepath"}},
		{name: "opencode asks for a folder", call: acp("opencode", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "other", "external_directory", in(`{"filepath":"/etc/hosts","parentDir":"/etc/hosts"}`)
		}), want: []string{"?write /etc/hosts @rawInput.filepath", "?write /etc/hosts @rawInput.parentDir"}},
		{name: "opencode server's tool", call: acp("opencode", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "other", "github_get_issue", in(`{}`)
		}), want: []string{"?use :github_get_issue @title"}},
		{name: "opencode title that looks like a harmless tool", call: acp("opencode", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "search", "todowrite", in(`{"pattern":"x","path":"/etc"}`)
		}), want: []string{"read /etc/** @rawInput.path"}},
		{name: "docker's title may be anybody's words", call: acp("docker-agent", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "shell", in(`{"cmd":"make a","cwd":"."}`)
		}), want: []string{"?run make a @rawInput.cmd"}},
		{name: "docker's unread input", call: acp("cagent", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "shell", in(`{"raw":"{"}`)
		}), want: []string{"?unknown - @rawInput"}, defects: []string{"contradiction @rawInput.raw"}, missing: true},
		{name: "docker's limit", call: acp("docker-agent", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title = "execute", "max_iterations"
		}), want: []string{"?question - @title"}},
		{name: "goose", call: acp("goose", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "other", "Developer: Shell", in(`{"command":"make a"}`)
		}), want: []string{"run make a @rawInput.command"}},
		{name: "cline", call: acp("cline CLI", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "run_commands: make a", in(`{"commands":["make a","make b"]}`)
		}), want: []string{"run make a @rawInput.commands[0]", "run make b @rawInput.commands[1]"}},
		{name: "kimi shortens its command", call: acp("kimi-cli", func(c *effects.Call) { c.Claims.Title = "Shell: make deploy" }),
			want: []string{"unknown - @rawInput"}, missing: true},
		{name: "kimi asks", call: acp("kimi-code", func(c *effects.Call) { c.Claims.Title = "AskUserQuestion" }), want: []string{"question - @title"}},
		{name: "qwen", call: acp("qwen-code", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "run_shell_command: make a", in(`{"command":"make a"}`)
		}), want: []string{"run make a @rawInput.command"}},
		{name: "qwen asks", call: acp("qwen-code", func(c *effects.Call) {
			c.Claims.Title, c.Claims.Meta = "Which?", in(`{"qwenInteractionKind":"user_question"}`)
		}), want: []string{"question - @_meta.qwenInteractionKind"}},
		{name: "openhands says nothing", call: acp("OpenHands-CLI", func(c *effects.Call) { c.Claims.Kind, c.Claims.Title = "other", "Confirm Agent Actions" }),
			want: []string{"unknown - @rawInput"}, missing: true},
		{name: "copilot", call: acp("GitHub Copilot CLI", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "Search it all", in(`{"command":"make a; make b","commands":["make a; make b"]}`)
		}), want: []string{"run make a @rawInput.command", "run make b @rawInput.command"}},

		{name: "stranger's command", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "make a", in(`{"command":"make a","cwd":"`+effectstest.Cwd+`"}`)
		}), want: []string{"?run make a @rawInput.command"}},
		{name: "stranger's command in a folder", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "make a", in(`{"command":"make a","cwd":"/tmp"}`)
		}), want: []string{"?run make a @rawInput.command", "unknown - @rawInput"}, missing: true},
		{name: "stranger's command over another protocol", call: acp("nobody", func(c *effects.Call) {
			c.Protocol, c.Input = "permd", in(`{"command":"make a"}`)
		}), want: []string{"?run make a @rawInput.command", "unknown - @rawInput"}, missing: true},
		{name: "stranger's argv", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "execute", in(`{"command":["make","a"]}`)
		}), want: []string{"?run make a @rawInput.command"}},
		{name: "stranger's argv with what means something to a shell", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "execute", in(`{"command":["make","a;rm b"]}`)
		}), want: []string{"?run make a;rm b @rawInput.command"}},
		{name: "stranger's argv in a shell", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "execute", in(`{"command":["bash","-lc","make a && make b"]}`)
		}), want: []string{"?run bash -lc make a && make b @rawInput.command", "?run make a @rawInput.command", "?run make b @rawInput.command"}},
		{name: "argv of a tool server with what means something to a shell", call: acp("codex", func(c *effects.Call) {
			c.Tool.Server, c.Tool.Name, c.Input = "box", "run", in(`{"command":["make","a;make b"]}`)
		}), want: []string{
			"use box:run @tool", "run make a;make b @rawInput.command", "run make a @rawInput.command", "run make b @rawInput.command",
		}},
		{name: "argv of a tool server that as text is the same command", call: acp("codex", func(c *effects.Call) {
			c.Tool.Server, c.Tool.Name, c.Input = "box", "run", in(`{"command":["make","a"]}`)
		}), want: []string{"use box:run @tool", "run make a @rawInput.command"}},
		{name: "argv of an agent whose commands are text", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Input = "Bash", in(`{"command":["make","a;rm b"]}`)
		}), want: []string{"run make a;rm b @rawInput.command"}, defects: []string{"contradiction @rawInput.command"}},
		{name: "argv that as text is the same command", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Input = "Bash", in(`{"command":["make","a"]}`)
		}), want: []string{"run make a @rawInput.command"}},
		{name: "codex sends argv", call: acp("codex", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "execute", in(`{"command":["make","a;rm b"]}`)
		}), want: []string{"run make a;rm b @rawInput.command"}},
		{name: "addresses that are none", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Input = "WebFetch", in(`{"url":[]}`)
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "stranger's command and more", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "execute", in(`{"command":"make a","path":"/etc/hosts"}`)
		}), want: []string{"?run make a @rawInput.command", "?read /etc/hosts @rawInput.path", "?write /etc/hosts @rawInput.path", "unknown - @rawInput"}, missing: true},
		{name: "stranger's server tool by title", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "mcp.prod.exec", in(`{"command":"make a"}`)
		}), want: []string{"?use prod:exec @title", "run make a @rawInput.command"}},
		{name: "stranger reads", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "read", "Read a.go", in(`{"file_path":"a.go","limit":5}`)
			c.Claims.Locations = []effects.Location{{Path: effectstest.Cwd + "/a.go", From: "locations[0].path"}}
		}), want: []string{"?read ./a.go @rawInput.file_path"}},
		{name: "stranger reads with a member nobody knows", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "read", in(`{"file_path":"a.go","then":"send"}`)
		}), want: []string{"read ./a.go @rawInput.file_path", "write ./a.go @rawInput.file_path", "unknown - @rawInput"}, missing: true},
		{name: "stranger reads with content", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "read", in(`{"file_path":"a.go","content":"x"}`)
		}), want: []string{"?write ./a.go @rawInput.file_path"}, defects: []string{"contradiction @kind"}},
		{name: "stranger moves", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "move", in(`{"source":"a","destination":"/home/ana/.ssh/authorized_keys"}`)
		}), want: []string{"?read ./a @rawInput.source", "?delete ./a @rawInput.source", "?write /home/ana/.ssh/authorized_keys @rawInput.destination"}},
		{name: "stranger fetches", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "fetch", in(`{"url":"https://a.example/"}`)
		}), want: []string{"?connect a.example get @rawInput.url"}},
		{name: "stranger's path of no kind", call: acp("nobody", func(c *effects.Call) { c.Input = in(`{"path":"/etc/hosts"}`) }),
			want: []string{"read /etc/hosts @rawInput.path", "write /etc/hosts @rawInput.path", "unknown - @rawInput"}, missing: true},
		{name: "stranger's edit by what it claims", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title = "edit", "Edit a.go"
			c.Claims.Locations = []effects.Location{{Path: effectstest.Cwd + "/a.go", From: "locations[0].path"}}
			c.Claims.Diffs = []effects.Diff{{Path: "/home/ana/.bashrc", From: "content[0]"}}
		}), want: []string{"?write /home/ana/.bashrc @content[0].path", "?write ./a.go @locations[0].path"}},
		{name: "stranger's edit with texts", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "edit", in(`{"old_string":"a","new_string":"b"}`)
			c.Claims.Diffs = []effects.Diff{{Path: "a.go", From: "content[0]"}}
		}), want: []string{"?write ./a.go @content[0].path"}},
		{name: "stranger's edit with a member that is not known", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "edit", in(`{"new_string":"b","also":"x"}`)
			c.Claims.Diffs = []effects.Diff{{Path: "a.go", From: "content[0]"}}
		}), want: []string{"unknown - @rawInput"}, defects: []string{"contradiction @content[0]"}, missing: true},
		{name: "stranger's edit of another file than its input", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "edit", in(`{"path":"b.go","content":"x"}`)
			c.Claims.Diffs = []effects.Diff{{Path: "a.go", From: "content[0]"}}
		}), want: []string{"?write ./b.go @rawInput.path"}, defects: []string{"contradiction @content[0]"}},
		{name: "stranger's move by a diff", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind = "move"
			c.Claims.Diffs = []effects.Diff{{Path: "b", OldPath: "a", Operation: "move", From: "content[0]"}}
			c.Claims.Locations = []effects.Location{{Path: "b", From: "locations[0].path"}}
		}), want: []string{"?write ./b @content[0].path", "?read ./a @content[0].oldPath", "?delete ./a @content[0].oldPath"}},
		{name: "stranger's move of one of two", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind = "move"
			c.Claims.Locations = []effects.Location{{Path: "b", From: "locations[0].path"}}
		}), want: []string{"?read ./b @locations[0].path", "?delete ./b/** @locations[0].path", "?write ./b @locations[0].path"}},
		{name: "stranger's delete", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Locations = "delete", []effects.Location{{Path: "b", From: "locations[0].path"}}
		}), want: []string{"?delete ./b/** @locations[0].path"}},
		{name: "stranger's read", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Locations, c.Input = "read", []effects.Location{{Path: "b", From: "locations[0].path"}}, in(`{"offset":1}`)
		}), want: []string{"?read ./b @locations[0].path"}},
		{name: "stranger's read that changes a file", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Locations = "read", []effects.Location{{Path: "b", From: "locations[0].path"}}
			c.Claims.Diffs = []effects.Diff{{Path: "b", From: "content[0]"}}
		}), want: []string{"unknown - @rawInput"}, defects: []string{"contradiction @kind"}, missing: true},
		{name: "stranger's read with new content", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Locations, c.Input = "read", []effects.Location{{Path: "b", From: "locations[0].path"}}, in(`{"content":"x"}`)
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "stranger's command that is only shown", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Claims.Texts = "execute", "git status", []string{"git status"}
			c.Claims.Locations = []effects.Location{{Path: "b", From: "locations[0].path"}}
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "stranger's address that is only shown", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title = "fetch", "https://docs.python.org/3/"
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "claims of an agent with a profile", call: acp("cline", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Locations = "edit", []effects.Location{{Path: "b", From: "locations[0].path"}}
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "nothing at all", call: acp("nobody", func(*effects.Call) {}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "input that is text", call: acp("nobody", func(c *effects.Call) { c.Input = in(`"ls -la"`) }),
			want: []string{"unknown - @rawInput"}, defects: []string{"dropped @rawInput"}},
		{name: "mode switch by kind", call: acp("nobody", func(c *effects.Call) {
			c.Claims.Kind, c.Input = "switch_mode", in(`{"plan":"x"}`)
		}), want: []string{"mode - @kind"}},
		{name: "marks", call: acp("nobody", func(c *effects.Call) {
			c.Marks = []effects.Mark{{Kind: effects.KindQuestion, Why: "all options are of one kind", From: "options"}, {Kind: effects.KindMode, Why: "x", From: "options"}}
		}), want: []string{"question - @options", "mode - @options"}},
		{name: "incomplete", call: acp("nobody", func(c *effects.Call) {
			c.Incomplete, c.Input = "the input was cut", in(`{"command":"make a"}`)
		}), want: []string{"?run make a @rawInput.command"}, missing: true},
		{name: "turn-based protocols have no own tools", call: acp("claude-code", func(c *effects.Call) {
			c.Protocol, c.Tool.Name, c.Input = "aap", "Bash", in(`{"command":"make a"}`)
		}), want: []string{"use :Bash @tool", "run make a @rawInput.command"}},
	})
}

// Only Codex wraps each of its commands in a shell. For other agents, the model
// asked for the wrapper.
func TestShellByArgvKeepsItsWrapper(t *testing.T) {
	w := toolWorld(t)
	for agent, claimed := range map[string]string{"nobody": "?", "opencode": ""} {
		c := agentCall(agent, "", `{"command":["bash","-lc","make a"]}`)
		c.Claims.Kind = "execute"
		got := lines(w.Effects(c))
		for _, want := range []string{claimed + "run bash -lc make a @rawInput.command", claimed + "run make a @rawInput.command"} {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %q misses %q", agent, got, want)
			}
		}
	}
}

func TestLiveShellHasNoFolder(t *testing.T) {
	w := toolWorld(t)
	c := agentCall("claude-code", "Bash", `{"command":"rm build"}`)
	c.LiveShell = true
	r := w.Effects(c)
	if !strings.Contains(strings.Join(lines(r), "\n"), "unknown") {
		t.Errorf("a relative path in a shell whose folder is not known: %q", lines(r))
	}
	if !w.Profiles.LiveShell(effects.Party{Name: "claude-code"}) || w.Profiles.LiveShell(effects.Party{Name: "codex"}) {
		t.Error("live shells are not those of the profiles")
	}
}

func TestFolder(t *testing.T) {
	w := toolWorld(t)
	tests := []struct {
		name, input, cwd string
	}{
		{"session", `{"cmd":"make"}`, effectstest.Cwd},
		{"absolute", `{"cmd":"make","workdir":"/tmp"}`, "/tmp"},
		{"relative", `{"cmd":"make","workdir":"docs"}`, effectstest.Cwd + "/docs"},
		{"behind a link", `{"cmd":"make","workdir":"out"}`, "/etc"},
		{"null", `{"cmd":"make","workdir":null}`, effectstest.Cwd},
		{"another type", `{"cmd":"make","workdir":7}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := w.Effects(agentCall("codex", "exec_command", tt.input))
			run := r.Effects[len(r.Effects)-1]
			if run.Kind != effects.KindRun || run.Run.Cwd != tt.cwd {
				t.Errorf("cwd %+v, want %q", run.Run, tt.cwd)
			}
			if inside := strings.HasPrefix(tt.cwd, effectstest.Cwd); tt.cwd != "" && run.Tags.Has(effects.Outside) == inside {
				t.Errorf("tags %v", run.Tags.Names())
			}
		})
	}
}
