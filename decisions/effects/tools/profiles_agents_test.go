package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/strictjson"
)

// shapeExamples are inputs for the shapes, each with the kinds of effects that it
// must have.
var shapeExamples = map[string]struct {
	input string
	kinds []effects.Kind
}{
	"shell":           {`{"command":"make a"}`, []effects.Kind{effects.KindRun}},
	"cwd_shell":       {`{"command":"make a","cwd":"src"}`, []effects.Kind{effects.KindRun}},
	"crush_shell":     {`{"command":"make a","working_dir":"src"}`, []effects.Kind{effects.KindRun}},
	"gemini_shell":    {`{"command":"make a","directory":"src"}`, []effects.Kind{effects.KindRun}},
	"opencode_shell":  {`{"command":"make a","workdir":"src"}`, []effects.Kind{effects.KindRun}},
	"codex_shell":     {`{"command":["bash","-lc","make a"]}`, []effects.Kind{effects.KindRun}},
	"copilot_shell":   {`{"command":"make a","commands":["make a"]}`, []effects.Kind{effects.KindRun}},
	"commands":        {`{"commands":["make a","make b"]}`, []effects.Kind{effects.KindRun, effects.KindRun}},
	"live_shell":      {`{"command":"make a"}`, []effects.Kind{effects.KindRun}},
	"feed":            {`{"chars":"make a\n","session_id":1}`, []effects.Kind{effects.KindUse, effects.KindUnknown, effects.KindRun}},
	"code":            {`{"code":"print(1)"}`, []effects.Kind{effects.KindUnknown}},
	"read":            {`{"path":"a.go"}`, []effects.Kind{effects.KindRead}},
	"read_globs":      {`{"paths":["src/*.go"]}`, []effects.Kind{effects.KindRead}},
	"tree":            {`{"path":"src"}`, []effects.Kind{effects.KindRead}},
	"glob":            {`{"pattern":"src/*.go"}`, []effects.Kind{effects.KindRead}},
	"write":           {`{"path":"a.go","content":"x"}`, []effects.Kind{effects.KindWrite}},
	"delete":          {`{"path":"a.go"}`, []effects.Kind{effects.KindDelete}},
	"editor":          {`{"command":"create","path":"a.go","file_text":"x"}`, []effects.Kind{effects.KindWrite}},
	"patch":           {`{"input":"*** Begin Patch\n*** Delete File: a.go\n*** End Patch"}`, []effects.Kind{effects.KindDelete}},
	"fetch":           {`{"url":"https://a.example/"}`, []effects.Kind{effects.KindConnect}},
	"fetch_text":      {`{"prompt":"read https://a.example/ and tell"}`, []effects.Kind{effects.KindConnect}},
	"download":        {`{"url":"https://a.example/","file_path":"a.bin"}`, []effects.Kind{effects.KindConnect, effects.KindWrite}},
	"external":        {`{"filepath":"/etc/hosts"}`, []effects.Kind{effects.KindWrite}},
	"internal":        {`{"content":"x"}`, []effects.Kind{effects.KindUse}},
	"subagent":        {`{"prompt":"x"}`, []effects.Kind{effects.KindUse}},
	"completion":      {`{"result":"x","command":"make a"}`, []effects.Kind{effects.KindUse, effects.KindRun}},
	"server_call":     {`{"server_name":"github","tool_name":"merge","arguments":{"n":1}}`, []effects.Kind{effects.KindUse}},
	"plain":           {`{"name":"x"}`, []effects.Kind{effects.KindUse}},
	"server_resource": {`{"server":"x"}`, []effects.Kind{effects.KindUse}},
	"browser":         {`{"url":"https://a.example/"}`, []effects.Kind{effects.KindUse, effects.KindConnect}},
	"question":        {`{"question":"x"}`, []effects.Kind{effects.KindQuestion}},
	"mode":            {`{"plan":"x"}`, []effects.Kind{effects.KindMode}},
	"internal_plan":   {`{}`, []effects.Kind{effects.KindUse}},
	"plan_mode":       {`{}`, []effects.Kind{effects.KindMode}},
	"build_mode":      {`{}`, []effects.Kind{effects.KindMode}},
	"act_mode":        {`{}`, []effects.Kind{effects.KindMode}},
	"permissions":     {`{"permissions":{"network":{"enabled":true}}}`, []effects.Kind{effects.KindMode}},
}

// TestEveryTool calls every tool of every profile by its name: it has the effects
// of its shape, and no other agent has the tool.
func TestEveryTool(t *testing.T) {
	w := toolWorld(t)
	used := map[string]bool{}
	for _, p := range w.Profiles.agents {
		party := partyOf(t, w.Profiles, p)
		if len(p.tools) == 0 {
			t.Errorf("%s has no tools", p.id)
		}
		for name, s := range p.tools {
			used[s.name] = true
			ex, ok := shapeExamples[s.name]
			if !ok {
				t.Errorf("%s %s: there is no example of shape %s", p.id, name, s.name)
				continue
			}
			c := agentCall(party.Name, name, ex.input)
			c.Agent = party
			r := w.Effects(c)
			var kinds []effects.Kind
			for i := range r.Effects {
				// A run has further reads and writes.
				if e := &r.Effects[i]; e.Via == nil {
					kinds = append(kinds, e.Kind)
				}
				if e := &r.Effects[i]; e.Use != nil && s.use == "" && !s.wraps {
					t.Errorf("%s %s: is taken for a tool of somebody else", p.id, name)
				}
			}
			if p.onlyQuestions {
				kinds = slices.DeleteFunc(kinds, func(k effects.Kind) bool { return k == effects.KindQuestion })
			}
			if !slices.Equal(kinds, ex.kinds) || len(r.Defects) > 0 {
				t.Errorf("%s %s (%s): %v, want %v; defects %+v", p.id, name, s.name, kinds, ex.kinds, r.Defects)
			}
		}
	}
	for name := range shapeExamples {
		if !used[name] {
			t.Errorf("no tool is of shape %s", name)
		}
	}
}

// partyOf returns an agent that has the profile.
func partyOf(t *testing.T, all *Profiles, p *profile) effects.Party {
	t.Helper()
	for name, list := range all.byName {
		if !slices.Contains(list, p) {
			continue
		}
		for _, v := range []string{"", "0.13.0", "1", "99"} {
			if a := (effects.Party{Name: name, Version: v}); all.of(a) == p {
				return a
			}
		}
	}
	t.Fatalf("no agent has the profile %s", p.id)
	return effects.Party{}
}

// TestAgents has calls that each agent really sends, in addition to those in
// acp_test.go.
func TestAgents(t *testing.T) {
	in := func(s string) strictjson.Value { return strictjson.Value(s) }
	at := func(paths ...string) (list []effects.Location) {
		for i, p := range paths {
			list = append(list, effects.Location{Path: p, From: "locations[" + string(rune('0'+i)) + "].path"})
		}
		return list
	}
	runToolCases(t, []toolCase{
		{name: "claude for a client that shows terminals", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Claims.Title, c.Input = "Bash", "execute", "make a", in(`{"command":"make a","description":"Build"}`)
		}), want: []string{"run make a @rawInput.command"}},
		{name: "claude's title is another command", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Claims.Title, c.Input = "Bash", "execute", "make a", in(`{"command":"make b"}`)
		}), want: []string{"run make b @rawInput.command"}, defects: []string{"contradiction @title"}},
		{name: "claude for JetBrains, a file's text left out", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "edit", "Edit a.go", in(`{"file_path":"a.go"}`)
			c.Claims.Diffs = []effects.Diff{{Path: effectstest.Cwd + "/a.go", From: "content[0]"}}
			c.Claims.Meta = in(`{"jetbrains":{"air":{"permission":{"title":"Edit"}}}}`)
		}), want: []string{"write ./a.go @rawInput.file_path"}},
		{name: "claude edits a notebook under another kind", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Input = "NotebookEdit", "other", in(`{"notebook_path":"a.ipynb","new_source":"x"}`)
		}), want: []string{"write ./a.ipynb @rawInput.notebook_path"}},
		{name: "claude asks for a skill", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Input = "Skill", "other", in(`{"skill":"deploy"}`)
		}), want: []string{"use :Skill @tool"}},
		{name: "claude leaves planning", call: acp("claude-code-acp", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "switch_mode", "Approve Plan", in(`{"plan":"x"}`)
		}), want: []string{"mode - @kind"}},
		{name: "codex summarises its command", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.Claims.Kind, c.Claims.Title = "2.6.0", "execute", "Search vat in src"
			c.Input = in(`{"command":"make a","cwd":"` + effectstest.Cwd + `"}`)
			c.Claims.Locations = at(effectstest.Cwd + "/src")
		}), want: []string{"run make a @rawInput.command"}},
		{name: "codex asks for more than a command", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.Tool.Name, c.Claims.Kind = "2.6.0", "exec_command", "execute"
			c.Input = in(`{"command":"make a","additionalPermissions":{"network":{"enabled":true}}}`)
		}), want: []string{"run make a @rawInput.command", "mode - @rawInput.additionalPermissions"}},
		{name: "codex asks for a root", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.Claims.Kind = "1.6.2", "edit"
			c.Claims.Locations = at(effectstest.Cwd + "/a")
			c.Claims.Meta = in(`{"codex":{"params":{"grantRoot":"/var"}}}`)
		}), want: []string{"?write ./a @locations[0].path", "?mode - @_meta.codex.params.grantRoot"}},
		{name: "codex for a server's tool that stands alone", call: acp("codex-acp", func(c *effects.Call) {
			c.ID, c.Agent.Version, c.Claims.Kind, c.Claims.Title = "elicitation-1", "2.6.0", "execute", "MCP tool call approval"
			c.Input = in(`{"serverName":"github","schema":{},"description":"x"}`)
			c.Claims.Meta = in(`{"is_mcp_tool_approval":true}`)
		}), want: []string{"unknown - @rawInput", "use github: @rawInput.tool"}, missing: true},
		{name: "codex moves a file, of which it names only the target", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.Claims.Kind, c.Claims.Title = "2.6.0", "edit", "Edit files"
			c.Claims.Locations = at(effectstest.Cwd + "/new")
		}), want: []string{"?write ./new @locations[0].path"}},
		{name: "gemini writes", call: acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title = "write_file__1", "edit", "Writing to a.go"
			c.Claims.Diffs = []effects.Diff{{Path: effectstest.Cwd + "/a.go", Operation: "add", From: "content[0]"}}
			c.Claims.Locations = at(effectstest.Cwd + "/a.go")
		}), want: []string{"?write ./a.go @content[0].path"}},
		{name: "gemini fetches", call: acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title = "web_fetch__1", "fetch", "Processing URLs"
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "gemini leaves planning", call: acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title = "exit_plan_mode__1", "other", "Plan"
		}), want: []string{"mode - @toolCallId"}},
		{name: "gemini's tool of a server with words as arguments", call: acp("gemini-cli", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title = "mcp_github_merge__1", "other", "merge (github MCP Server)"
			c.Claims.Texts = []string{`{"n":1}`}
		}), want: []string{"use :mcp_github_merge @toolCallId"}},
		{name: "qwen edits", call: acp("qwen-code", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "edit", "edit: a.go", in(`{"file_path":"a.go","old_string":"x","new_string":"y"}`)
			c.Claims.Diffs = []effects.Diff{{Path: effectstest.Cwd + "/a.go", From: "content[0]"}}
		}), want: []string{"write ./a.go @rawInput.file_path"}},
		{name: "qwen leaves planning", call: acp("qwen-code", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "switch_mode", "exit_plan_mode", in(`{"plan":"x"}`)
		}), want: []string{"mode - @title"}},
		{name: "opencode fetches", call: acp("OpenCode", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "fetch", "webfetch", in(`{"url":"https://a.example/"}`)
		}), want: []string{"connect a.example get @rawInput.url"}},
		{name: "opencode's command in time", call: acp("OpenCode", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "bash", in(`{"command":"make a","description":"Build"}`)
		}), want: []string{"run make a @rawInput.command"}},
		{name: "opencode goes in circles", call: acp("OpenCode", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "other", "doom_loop", in(`{"tool":"bash"}`)
		}), want: []string{"?question - @title"}},
		{name: "goose's extension", call: acp("goose", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "other", "Github: Merge", in(`{"n":1}`)
		}), want: []string{"?use :Github: Merge @title"}},
		{name: "goose's extension by its name", call: acp("goose", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "other", "github__merge", in(`{"n":1}`)
		}), want: []string{"?use github:merge @title"}},
		{name: "goose edits", call: acp("goose", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "other", "Developer: Text Editor", in(`{"command":"write","path":"a.go","file_text":"x"}`)
		}), want: []string{"write ./a.go @rawInput.path"}},
		{name: "kimi-cli writes", call: acp("Kimi Code CLI", func(c *effects.Call) {
			c.ID, c.Claims.Title = "5c1b/call_1", "WriteFile: a.go"
			c.Claims.Diffs = []effects.Diff{{Path: effectstest.Cwd + "/a.go", From: "content[0]"}}
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "kimi-code runs", call: acp("kimi-code", func(c *effects.Call) {
			c.ID, c.Claims.Title, c.Claims.Texts = "12:call_7", "Bash", []string{"Requesting approval to run `make a`"}
		}), want: []string{"unknown - @rawInput"}, missing: true},
		{name: "kimi-code leaves planning", call: acp("kimi-code", func(c *effects.Call) { c.Claims.Title = "ExitPlanMode" }), want: []string{"mode - @title"}},
		{name: "vibe with its input as text", call: acp("@mistralai/mistral-vibe", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Input = "bash", "execute", in(`"{\"command\":\"make a\"}"`)
		}), want: []string{"run make a @rawInput.command"}},
		{name: "vibe moves the session", call: acp("@mistralai/mistral-vibe", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Claims.Meta = "execute", "Push?", in(`{"teleport":{"stage":"push_required"}}`)
		}), want: []string{"question - @_meta.teleport"}},
		{name: "docker writes under the kind of a command", call: acp("docker-agent", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "write_file", in(`{"path":"a.go","content":"x"}`)
		}), want: []string{"?write ./a.go @rawInput.path"}},
		{name: "cline edits", call: acp("cline", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "edit", "write_to_file: a.go", in(`{"path":"a.go","content":"x"}`)
		}), want: []string{"write ./a.go @rawInput.path"}},
		{name: "cline hands a call to a server", call: acp("cline", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "other", "use_mcp_tool: merge", in(`{"server_name":"github","tool_name":"merge","arguments":{"n":1}}`)
		}), want: []string{"use github:merge @rawInput.tool"}},
		{name: "openhands by name", call: acp("OpenHands CLI ACP Agent", func(c *effects.Call) {
			c.Tool.Name, c.Input = "terminal", in(`{"command":"make a","is_input":"false"}`)
		}), want: []string{"run make a @rawInput.command"}},
		{name: "openhands types at a program", call: acp("OpenHands CLI ACP Agent", func(c *effects.Call) {
			c.Tool.Name, c.Input = "terminal", in(`{"command":"y","is_input":true}`)
		}), want: []string{"run y @rawInput.command", "unknown - @rawInput.is_input"}},
		{name: "copilot reads", call: acp("copilot", func(c *effects.Call) {
			c.Tool.Name, c.Claims.Kind, c.Claims.Title, c.Input = "view", "read", "Viewing a.go", in(`{"path":"a.go"}`)
		}), want: []string{"read ./a.go @rawInput.path"}},
		{name: "cursor without a kind", call: acp("cursor-agent", func(c *effects.Call) {
			c.Claims.Title, c.Input = "write", in(`{"file_path":"a.go","content":"x"}`)
		}), want: []string{"read ./a.go @rawInput.file_path", "write ./a.go @rawInput.file_path", "unknown - @rawInput"}, missing: true},
		{name: "cursor runs", call: acp("cursor-agent", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "`make a`", in(`{"command":"make a"}`)
		}), want: []string{"run make a @rawInput.command"}},
		{name: "devin", call: acp("devin", func(c *effects.Call) {
			c.Claims.Kind, c.Claims.Title, c.Input = "execute", "`make a`", in(`{"command":"make a"}`)
		}), want: []string{"run make a @rawInput.command"}},
		{name: "pi asks", call: acp("pi-acp", func(c *effects.Call) {
			c.ID, c.Claims.Kind, c.Claims.Title, c.Input = "pi-ui-1", "other", "Allow rm?", in(`{"method":"confirm","title":"Allow rm?","message":"rm -rf x"}`)
		}), want: []string{"question - @agent"}},

		{name: "a command as the subject of a request", call: acp("codex-acp", func(c *effects.Call) {
			c.Agent.Version, c.InputFrom, c.Claims.Kind, c.Input = "3.0.0", "subject", "execute", in(`{"command":"bash -lc 'make a'","cwd":"`+effectstest.Cwd+`"}`)
		}), want: []string{"run bash -lc make a @subject.command", "run make a @subject.command"}},
		{name: "a command under a tool of the conversation", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.InputFrom, c.Claims.Kind, c.Input = "Task", "subject", "think", in(`{"command":"make a","cwd":"`+effectstest.Cwd+`"}`)
		}), want: []string{"use :Task of agent @tool", "run make a @subject.command"},
			defects: []string{"contradiction @subject.cwd", "contradiction @subject.command", "contradiction @kind"}},
		{name: "a command of a server's tool", call: acp("claude-agent-acp", func(c *effects.Call) {
			c.Tool.Name, c.InputFrom, c.Claims.Kind, c.Input = "mcp__prod__exec", "subject", "execute", in(`{"command":"make a","cwd":"`+effectstest.Cwd+`"}`)
		}), want: []string{"use prod:exec @tool", "run make a @subject.command", "^read . @subject.cwd", "^write . @subject.cwd"}},
		{name: "words for the person that hide some", call: acp("nobody", func(c *effects.Call) {
			c.InputFrom, c.Claims.Kind, c.Input, c.Claims.Prompt = "subject", "execute", in(`{"command":"make a"}`), "Run\n\u202eit?"
		}), want: []string{"?run make a @subject.command"}, defects: []string{"characters @title"}},
	})
}

// TestOnceOption: if an agent offers several options of one kind, the profile names
// the one that allows one call.
func TestOnceOption(t *testing.T) {
	w := toolWorld(t)
	for name, want := range map[string]string{"OpenHands CLI ACP Agent": "accept", "openhands": "accept", "claude-agent-acp": "", "": "", "nobody": ""} {
		if got := w.Profiles.OnceOption(effects.Party{Name: name}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if strings.Contains((*Profiles)(nil).OnceOption(effects.Party{Name: "openhands"}), "a") {
		t.Error("no profiles name an option")
	}
}
