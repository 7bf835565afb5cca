package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/strictjson"
)

// TestMembers has inputs whose effects depend on a member that a careless reader
// would skip.
func TestMembers(t *testing.T) {
	gemini := func(tool, input string) *effects.Call { return agentCall("gemini-cli", tool, input) }
	claude := func(tool, input string) *effects.Call { return agentCall("claude", tool, input) }
	read := []string{"read ./a @rawInput.file_path"}
	write := []string{"write ./a @rawInput.file_path"}
	makeA := []string{"run make a @rawInput.command"}
	runToolCases(t, []toolCase{
		{name: "patterns beside paths", call: gemini("read_many_files", `{"paths":["docs/a"],"include":["/home/ana/.ssh/*"]}`),
			want: []string{"read ./docs/a/** @rawInput.paths[0]", "read /home/ana/.ssh/** @rawInput.include[0]"}},
		{name: "patterns as paths", call: gemini("read_many_files", `{"paths":["src/**/*.ts"]}`), want: []string{"read ./src/** @rawInput.paths[0]"}},
		{name: "pattern that goes up", call: gemini("read_many_files", `{"paths":["docs/*/../../.env"]}`), want: []string{"unknown - @rawInput.paths[0]"}},
		{name: "filter", call: claude("Grep", `{"pattern":"x","path":"docs","glob":"*.{md,txt}"}`), want: []string{"read ./docs/** @rawInput.path"}},
		{name: "filter that leaves out", call: claude("Grep", `{"pattern":"x","path":"docs","glob":"!vendor/**"}`), want: []string{"read ./docs/** @rawInput.path"}},
		{name: "filter that goes up", call: gemini("search_file_content", `{"pattern":"x","dir_path":"docs","include":"../.env"}`),
			want: []string{"read ./docs/** @rawInput.dir_path", "unknown - @rawInput.include"}},
		{name: "filter from the root", call: claude("Grep", `{"pattern":"x","path":"docs","glob":"/etc/*"}`),
			want: []string{"read ./docs/** @rawInput.path", "unknown - @rawInput.glob"}},
		{name: "filter by git's words", call: claude("Grep", `{"pattern":"x","path":"docs","glob":":!/etc"}`),
			want: []string{"read ./docs/** @rawInput.path", "unknown - @rawInput.glob"}},

		{name: "environment", call: claude("Bash", `{"command":"make a","env":{"PATH":"."}}`), want: makeA, defects: []string{"contradiction @rawInput.env"}},
		{name: "further arguments", call: claude("Bash", `{"command":"make a","extraArgs":["b"]}`), want: makeA, defects: []string{"contradiction @rawInput.extraArgs"}},
		{name: "standard input", call: claude("Bash", `{"command":"make a","stdin":"x"}`), want: makeA, defects: []string{"contradiction @rawInput.stdin"}},
		{name: "switch that is on", call: claude("Bash", `{"command":"make a","run_as_root":true}`), want: makeA, defects: []string{"contradiction @rawInput.run_as_root"}},
		{name: "switch that is off", call: claude("Bash", `{"command":"make a","run_as_root":false}`), want: makeA},
		{name: "nothing in it", call: claude("Bash", `{"command":"make a","env":{},"args":[],"stdin":"","script":null}`), want: makeA},
		{name: "numbers", call: claude("Bash", `{"command":"make a","max_output_tokens":5,"session_id":7}`), want: makeA, defects: []string{"contradiction @rawInput.max_output_tokens", "contradiction @rawInput.session_id"}},
		{name: "words of no weight", call: claude("Bash", `{"command":"make a","description":"x","timeout":5,"run_in_background":true}`), want: makeA},
		{name: "words of another agent's shell", call: claude("Bash", `{"command":"make a","block_until_ms":5,"wait_for_previous":true}`), want: makeA,
			defects: []string{"contradiction @rawInput.block_until_ms", "contradiction @rawInput.wait_for_previous"}},
		{name: "words of its tools for files", call: claude("Bash", `{"command":"make a","content":"x","new_string":"y","prompt":"z"}`), want: makeA,
			defects: []string{"contradiction @rawInput.content", "contradiction @rawInput.new_string", "contradiction @rawInput.prompt"}},
		{name: "words that nobody knows", call: claude("Bash", `{"command":"make a","labels":["x"]}`), want: makeA, defects: []string{"contradiction @rawInput.labels"}},
		{name: "target of a link", call: claude("Write", `{"file_path":"a","content":"x","target":"/etc"}`), want: write, defects: []string{"contradiction @rawInput.target"}},
		{name: "other name", call: claude("Edit", `{"file_path":"a","rename_to":"/etc/x"}`), want: write, defects: []string{"contradiction @rawInput.rename_to"}},
		{name: "dash for an underscore", call: claude("Edit", `{"file_path":"a","file-path":"/etc/x"}`), want: write, defects: []string{"contradiction @rawInput.file-path"}},
		{name: "what real tools take", call: claude("Grep", `{"pattern":"x","path":"docs","output_mode":"content","-n":true,"head_limit":5,"type":"go"}`),
			want: []string{"read ./docs/** @rawInput.path"}},
		{name: "a server's tool takes what it likes", call: claude("mcp__x__y", `{"target":"b","args":["c"]}`), want: []string{"use x:y @tool"}},
		{name: "a tool of the conversation", call: claude("Task", `{"prompt":"x","script":"y"}`), want: []string{"use :Task of agent @tool"},
			defects: []string{"contradiction @rawInput.script"}},

		{name: "edits that are no list", call: claude("MultiEdit", `{"file_path":"a","edits":{"file_path":"/etc/hosts"}}`),
			want: append(write[:1:1], "unknown - @rawInput.edits"), defects: []string{"dropped @rawInput.edits"}},
		{name: "edit as text", call: claude("Read", `{"file_path":"a","replace_all":true}`), want: read},

		{name: "permissions wanted as words", call: agentCall("codex", "exec_command", `{"cmd":"make a","sandbox_permissions":"require_escalated"}`),
			want: []string{"run make a @rawInput.cmd", "mode - @rawInput.sandbox_permissions"}},
		{name: "permissions as ever", call: agentCall("codex", "exec_command", `{"cmd":"make a","sandbox_permissions":"use_default"}`),
			want: []string{"run make a @rawInput.cmd"}},
		{name: "permissions wanted by a switch", call: agentCall("codex", "shell", `{"command":["make","a"],"with_escalated_permissions":true}`),
			want: []string{"run make a @rawInput.command", "mode - @rawInput.with_escalated_permissions"}},
		{name: "permissions wanted as a list", call: agentCall("cursor", "Shell", `{"command":"make a","required_permissions":["all"]}`),
			want: []string{"run make a @rawInput.command", "mode - @rawInput.required_permissions"}},

		{name: "change that goes elsewhere", call: agentCall("codex", "apply_patch", `{"changes":{"a":{"type":"update","new_path":"/etc/x"}}}`),
			want: []string{"write ./a @rawInput.changes.a"}, defects: []string{"contradiction @rawInput.changes.a.new_path"}},
		{name: "change as it is", call: agentCall("codex", "apply_patch", `{"changes":{"a":{"type":"update","unified_diff":"x","move_path":null}}}`),
			want: []string{"write ./a @rawInput.changes.a"}},
		{name: "patch in a command", call: agentCall("codex", "apply_patch", `{"input":"cd /etc\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"}`),
			want: []string{"write ./a @rawInput.input", "unknown - @rawInput.input"}},
		{name: "patch and a command", call: agentCall("codex", "apply_patch", `{"input":"*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nrm -rf b"}`),
			want: []string{"write ./a @rawInput.input", "unknown - @rawInput.input"}},
		{name: "patch as if a shell read it", call: agentCall("codex", "apply_patch", `{"input":"<<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF\n"}`),
			want: []string{"write ./a @rawInput.input"}},

		{name: "blank at the end of a path", call: claude("Read", `{"file_path":".env "}`), want: []string{"unknown - @rawInput.file_path"}},
		{name: "blank of another width", call: claude("Read", `{"file_path":"\u3000.env"}`), want: []string{"unknown - @rawInput.file_path"}},
		{name: "blank within a path", call: claude("Read", `{"file_path":"a b"}`), want: []string{"read ./a b @rawInput.file_path"}},
	})
}

// TestAdapterInput: a member that one agent's shell takes counts for no other agent's
// shell, and those of file tools count for no shell at all.
func TestAdapterInput(t *testing.T) {
	w := toolWorld(t)
	names := map[string]bool{}
	for _, p := range w.Profiles.agents {
		for _, s := range p.tools {
			if s.shell() {
				for m := range s.harmless {
					names[m] = true
				}
			}
		}
	}
	for m := range w.Profiles.harmless {
		names[m] = true
	}
	tried, believed := 0, 0
	for _, p := range w.Profiles.agents {
		party := partyOf(t, w.Profiles, p)
		for tool, s := range p.tools {
			if !s.shell() {
				continue
			}
			for m := range names {
				if s.members[m] != roleNone || w.Profiles.roleOf(m) != roleNone {
					continue // it means something
				}
				tried++
				c := agentCall(party.Name, tool, `{"command":"make a","`+m+`":"x"}`)
				c.Agent = party
				r := w.Effects(c)
				if len(r.Defects) == 0 {
					believed++
				}
				if got, want := len(r.Defects) == 0, s.harmless[m]; got != want {
					t.Errorf("%s %s: %s is believed: %v, want %v", p.id, tool, m, got, want)
				}
			}
		}
	}
	if tried < 1000 || believed < 50 || believed*4 > tried {
		t.Errorf("%d members, %d of them believed", tried, believed)
	}
}

// TestChangingKind has calls of a read-only tool whose kind claims a change or a run.
func TestChangingKind(t *testing.T) {
	kind := func(agent, tool, input, kind string) *effects.Call {
		c := agentCall(agent, tool, input)
		c.Claims.Kind = kind
		return c
	}
	read := []string{"read ./a @rawInput.file_path"}
	contradicts := []string{"contradiction @kind"}
	runToolCases(t, []toolCase{
		{name: "delete", call: kind("claude", "Read", `{"file_path":"a"}`, "delete"), want: read, defects: contradicts},
		{name: "edit", call: kind("claude", "Read", `{"file_path":"a"}`, "edit"), want: read, defects: contradicts},
		{name: "execute", call: kind("claude", "Read", `{"file_path":"a"}`, "execute"), want: read, defects: contradicts},
		{name: "other", call: kind("claude", "Read", `{"file_path":"a"}`, "other"), want: read},
		{name: "execute that runs", call: kind("claude", "Bash", `{"command":"make a"}`, "execute"), want: []string{"run make a @rawInput.command"}},
		{name: "edit that writes", call: kind("claude", "Write", `{"file_path":"a"}`, "edit"), want: []string{"write ./a @rawInput.file_path"}},
		{name: "agent whose kind is a hint", call: kind("codex", "read_file", `{"path":"a"}`, "execute"), want: []string{"read ./a @rawInput.path"}},
	})
}

// TestUnnamedTool has commands that name no tool: they are for the agent's
// shell only if the agent does not say that they are something else.
func TestUnnamedTool(t *testing.T) {
	w := toolWorld(t)
	for kind, want := range map[string]bool{"": true, "execute": true, "search": true, "other": false, "think": false, "fetch": false, "edit": false, "x": false} {
		c := agentCall("somebody", "", `{"command":"ls docs"}`)
		c.Claims.Kind, c.Claims.Title = kind, "Deploy: Run"
		if r := w.Effects(c); (r.Missing == "") != want {
			t.Errorf("kind %q: missing %q, effects %q", kind, r.Missing, lines(r))
		}
	}
}

// TestUnnamedToolMembers has calls without a tool that have members besides the command:
// those not known to be harmless need a person.
func TestUnnamedToolMembers(t *testing.T) {
	w := toolWorld(t)
	for input, at := range map[string]string{
		`{"command":"ls docs","env":{"GIT_EXTERNAL_DIFF":"./x"}}`:       "rawInput.env",
		`{"command":"ls docs","variables":["PATH=."]}`:                  "rawInput.variables",
		`{"command":"ls docs","preexec":"./x"}`:                         "rawInput.preexec",
		`{"command":"ls docs","elevated":true}`:                         "rawInput.elevated",
		`{"command":"ls docs","session":7}`:                             "rawInput.session",
		`{"command":"ls docs","Description":"x"}`:                       "rawInput.Description",
		`{"commands":[{"command":"ls docs","args":["/etc"]}]}`:          "rawInput.commands[0].args",
		`{"commands":[{"command":"ls docs","cwd":"/etc"}]}`:             "rawInput.commands[0].cwd",
		`{"commands":["ls docs",{"command":"ls src","env":{"A":"b"}}]}`: "rawInput.commands[1].env",

		`{"command":"ls docs"}`: "",
		`{"command":"ls docs","description":"List","timeout":5000,"run_in_background":false,"explanation":"x"}`: "",
		`{"cmd":"ls docs","workdir":"docs","yield_time_ms":1000,"max_output_tokens":200}`:                       "",
		`{"command":"ls docs","env":{},"variables":null,"elevated":false,"preexec":""}`:                         "",
		`{"commands":["ls docs",{"command":"ls src","description":"x"}]}`:                                       "",
	} {
		c := agentCall("somebody", "", input)
		c.Claims.Kind = "execute"
		r := w.Effects(c)
		var got string
		for _, d := range r.Defects {
			got = d.At
		}
		if got != at || len(r.Defects) > 1 {
			t.Errorf("%s: defects %+v, want one at %q; effects %q", input, r.Defects, at, lines(r))
		}
	}
}

// TestServerMarks has calls with the name of a tool of the agent that also say that
// they call a server's tool.
func TestServerMarks(t *testing.T) {
	w := toolWorld(t)
	for name, tt := range map[string]struct {
		meta   string
		remote bool
	}{
		"server":             {`{"claudeCode":{"mcpServer":{"name":"x"}}}`, true},
		"server as text":     {`{"claudeCode":{"mcpServer":"x"}}`, true},
		"server as a list":   {`{"claudeCode":{"mcpServer":["x"]}}`, true},
		"server as a switch": {`{"claudeCode":{"mcpServer":true}}`, true},
		"no server":          {`{"claudeCode":{"mcpServer":null}}`, false},
		"approval":           {`{"is_mcp_tool_approval":true}`, true},
		"no approval":        {`{"is_mcp_tool_approval":false}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := agentCall("claude", "Read", `{"file_path":"a"}`)
			c.Claims.Meta = strictjson.Value(tt.meta)
			got := lines(w.Effects(c))
			if remote := strings.HasPrefix(got[0], "use "); remote != tt.remote {
				t.Errorf("effects %q, want a server's: %v", got, tt.remote)
			}
		})
	}
}

// TestBefore has calls after others that move the files at their paths.
func TestBefore(t *testing.T) {
	w := toolWorld(t)
	file := func(tool, path string) *effects.Call { return agentCall("claude", tool, `{"file_path":"`+path+`"}`) }
	move := agentCall("openhands", "move", "")
	for name, tt := range map[string]struct {
		before effects.Disturbance
		call   *effects.Call
		known  bool
	}{
		"nothing":                {effects.Disturbance{}, file("Read", "docs/a"), true},
		"that file":              {effects.Disturbance{Paths: []string{effectstest.Cwd + "/docs/a"}}, file("Read", "docs/a"), false},
		"a folder on the way":    {effects.Disturbance{Paths: []string{effectstest.Cwd + "/docs"}}, file("Write", "docs/a"), false},
		"another file":           {effects.Disturbance{Paths: []string{effectstest.Cwd + "/docs/b"}}, file("Read", "docs/a"), true},
		"all below a folder":     {effects.Disturbance{Trees: []string{effectstest.Cwd + "/docs"}}, file("Read", "docs/a"), false},
		"all below another":      {effects.Disturbance{Trees: []string{effectstest.Cwd + "/src"}}, file("Read", "docs/a"), true},
		"it cannot be told what": {effects.UnknownDisturbance(), file("Read", "docs/a"), false},
	} {
		t.Run(name, func(t *testing.T) {
			tt.call.Before = tt.before
			r := w.Effects(tt.call)
			if known := r.Effects[0].Kind != effects.KindUnknown; known != tt.known {
				t.Errorf("effects %q, want known %v", lines(r), tt.known)
			}
		})
	}
	t.Run("is passed on", func(t *testing.T) {
		move.Tool.Name, move.Input = "", strictjson.Value(`{"source":"docs/a","destination":"src/b"}`)
		move.Claims.Kind = "move"
		r := w.Effects(move)
		c := file("Read", "src/b")
		c.Before = r.After
		if got := lines(w.Effects(c)); !strings.HasPrefix(got[0], "unknown") {
			t.Errorf("after %q: %q", lines(r), got)
		}
	})
}

// TestUnlistedMembers adds an unknown member to calls of each agent's tools:
// whatever its name, the call is not understood.
func TestUnlistedMembers(t *testing.T) {
	w := toolWorld(t)
	names := []string{"prefix", "setup", "then", "wrapper", "user", "container", "program", "redirect", "tee", "envs", "vars", "init", "profile", "rcfile",
		"code", "network", "auto_approve", "yolo", "frob", "_simulatedSedEdit"}
	for _, p := range w.Profiles.agents {
		party := partyOf(t, w.Profiles, p)
		for tool, s := range p.tools {
			example := shapeExamples[s.name].input
			if !s.listsAll() || s.wraps {
				continue
			}
			for i, name := range names {
				if testing.Short() && i%4 != len(tool)%4 {
					continue
				}
				if s.members[name] != roleNone || s.harmless[name] {
					continue
				}
				for _, value := range []string{`"rm x"`, `["rm x"]`, `{"x":"rm x"}`, `7`, `true`} {
					c := agentCall(party.Name, tool, strings.TrimSuffix(example, "}")+`,"`+name+`":`+value+`}`)
					c.Agent = party
					if r := w.Effects(c); !slices.ContainsFunc(r.Defects, func(d effects.Defect) bool { return d.At == "rawInput."+name }) {
						t.Errorf("%s %s (%s) takes %s: %s, defects %+v", p.id, tool, s.name, name, value, r.Defects)
					}
				}
			}
		}
	}
}

// TestListedMembers has calls as agents make them, with all members that their
// tools declare.
func TestListedMembers(t *testing.T) {
	w := toolWorld(t)
	for _, tt := range []struct{ agent, tool, input string }{
		{"claude", "Bash", `{"command":"make a","description":"Build","timeout":5000,"run_in_background":true,"dangerouslyDisableSandbox":false}`},
		{"claude", "Read", `{"file_path":"a.pdf","offset":1,"limit":5,"pages":"1-5"}`},
		{"claude", "Grep", `{"pattern":"x","path":"docs","glob":"*.md","output_mode":"content","-A":1,"-B":1,"-C":1,"-i":true,"-n":true,"context":1,"type":"go","head_limit":5,"offset":1,"multiline":true}`},
		{"claude", "NotebookEdit", `{"notebook_path":"a.ipynb","cell_id":"x","cell_type":"code","edit_mode":"insert","new_source":"x"}`},
		{"claude", "MultiEdit", `{"file_path":"a","edits":[{"old_string":"a","new_string":"b","replace_all":true}]}`},
		{"claude", "Task", `{"description":"x","prompt":"y","subagent_type":"z","model":"m","run_in_background":true,"resume":"r","isolation":"worktree","name":"n","team_name":"t","mode":"plan"}`},
		{"codex", "exec_command", `{"cmd":"make a","workdir":"docs","yield_time_ms":1,"max_output_tokens":5,"login":true,"justification":"x","prefix_rule":["make"],"sandbox_permissions":"use_default"}`},
		{"codex", "shell", `{"command":["make","a"],"workdir":"docs","timeout_ms":1}`},
		{"gemini-cli", "run_shell_command", `{"command":"make a","description":"x","dir_path":"docs","is_background":false,"wait_for_previous":true}`},
		{"gemini-cli", "replace", `{"file_path":"a","instruction":"x","old_string":"a","new_string":"b","expected_replacements":2,"allow_multiple":true}`},
		{"opencode", "bash", `{"command":"make a","timeout":1,"workdir":"docs","description":"x"}`},
		{"opencode", "Task", `{"description":"x","prompt":"y","subagent_type":"z","command":"/x"}`},
		{"opencode", "webfetch", `{"url":"https://a.example/","format":"markdown","timeout":5}`},
		{"cursor", "Shell", `{"command":"make a","block_until_ms":5,"description":"x"}`},
		{"copilot", "bash", `{"command":"make a","description":"x","initial_wait":5}`},
		{"copilot", "view", `{"path":"a","view_range":[1,5]}`},
		{"cline", "replace_in_file", `{"path":"a","diff":"x","task_progress":"y"}`},
		{"crush", "bash", `{"command":"make a","description":"x","run_in_background":true,"auto_background_after":60}`},
		{"openhands", "terminal", `{"command":"make a","timeout":5,"security_risk":"LOW","summary":"x"}`},
		{"docker-agent", "shell", `{"cmd":"make a","cwd":"docs","timeout":5}`},
		{"codex", "spawn_agent", `{"message":"x","agent_type":"y","fork_context":true,"reasoning_effort":"high"}`},
	} {
		c := agentCall(tt.agent, tt.tool, tt.input)
		if r := w.Effects(c); len(r.Defects) > 0 || r.Missing != "" {
			t.Errorf("%s %s %s: defects %+v, missing %q", tt.agent, tt.tool, tt.input, r.Defects, r.Missing)
		}
	}
}

// TestSubagentMembers has members that give a sub-agent more permissions than its
// prompt.
func TestSubagentMembers(t *testing.T) {
	w := toolWorld(t)
	for _, p := range w.Profiles.agents {
		party := partyOf(t, w.Profiles, p)
		for tool, s := range p.tools {
			if !w.Profiles.agentStarters[tool] || s.name == "plain" {
				continue
			}
			if s.name != "subagent" {
				t.Errorf("%s %s starts a sub-agent, and is of shape %s", p.id, tool, s.name)
			}
			for _, more := range []string{`"tools":["Bash"]`, `"capabilities":["all"]`, `"mcpServers":{"x":{"command":"evil"}}`, `"hooks":{"PreToolUse":"x"}`,
				`"env":{"A":"b"}`, `"cwd":"/etc"`, `"isolation":"none"`, `"isolation":{"kind":"none"}`, `"agents":{"x":{"prompt":"y"}}`, `"path":"/etc"`} {
				c := agentCall(party.Name, tool, `{"prompt":"x",`+more+`}`)
				c.Agent = party
				r := w.Effects(c)
				mode := slices.ContainsFunc(r.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindMode })
				if len(r.Defects) == 0 && !mode {
					t.Errorf("%s %s takes %s: effects %q", p.id, tool, more, lines(r))
				}
			}
		}
	}
}
