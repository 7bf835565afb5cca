package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/hookproc"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/hook"
	"github.com/permd/permd/socket/hook/hooktest"
)

// hookShell is a request about a shell command for each harness; COMMAND and CWD
// are replaced.
var hookShell = []struct{ name, harness, event, in string }{
	{"claude", "claude", "PreToolUse", `{"session_id":"s","cwd":"CWD","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"COMMAND"},"tool_use_id":"t"}`},
	{"claude, bypassPermissions", "claude", "PreToolUse", `{"session_id":"s","cwd":"CWD","permission_mode":"bypassPermissions","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"COMMAND"},"tool_use_id":"t"}`},
	{"claude, plan", "claude", "PreToolUse", `{"session_id":"s","cwd":"CWD","permission_mode":"plan","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"COMMAND"},"tool_use_id":"t"}`},
	{"claude, sub-agent", "claude", "PreToolUse", `{"session_id":"s","agent_id":"a","cwd":"CWD","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"COMMAND"},"tool_use_id":"t"}`},
	{"claude, asked", "claude", "PermissionRequest", `{"session_id":"s","cwd":"CWD","permission_mode":"default","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"COMMAND"}}`},
	{"codex", "codex", "PreToolUse", `{"session_id":"s","turn_id":"u","cwd":"CWD","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"COMMAND"},"tool_use_id":"t"}`},
	{"codex, asked", "codex", "PermissionRequest", `{"session_id":"s","turn_id":"u","cwd":"CWD","permission_mode":"default","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"COMMAND"}}`},
	{"gemini", "gemini", "BeforeTool", `{"session_id":"s","cwd":"CWD","hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"COMMAND"}}`},
	{"cursor", "cursor", "beforeShellExecution", `{"conversation_id":"s","workspace_roots":["CWD"],"hook_event_name":"beforeShellExecution","command":"COMMAND","cwd":"CWD"}`},
	{"copilot", "copilot", "PreToolUse", `{"sessionId":"s","cwd":"CWD","toolName":"bash","toolArgs":{"command":"COMMAND"}}`},
	{"copilot, text", "copilot", "PreToolUse", `{"sessionId":"s","cwd":"CWD","toolName":"bash","toolArgs":"{\"command\":\"COMMAND\"}"}`},
	{"copilot, asked", "copilot", "PermissionRequest", `{"sessionId":"s","cwd":"CWD","toolName":"bash","toolInput":{"command":"COMMAND"}}`},
	{"cline", "cline", "PreToolUse", `{"hookName":"PreToolUse","taskId":"s","workspaceRoots":["CWD"],"preToolUse":{"toolName":"execute_command","parameters":{"command":"COMMAND","requires_approval":"true"}}}`},
}

// hook runs permd hook as a harness does.
func (d *testDaemon) hook(t *testing.T, harness, in string, args ...string) hook.Output {
	t.Helper()
	cmd := d.command(append([]string{"hook", harness}, args...)...)
	cmd.Stdin = strings.NewReader(in)
	return runHook(t, cmd)
}

func runHook(t *testing.T, cmd *exec.Cmd) (out hook.Output) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return hook.Output{Stdout: stdout.Bytes(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

func wantHook(t *testing.T, name, harness, event string, out hook.Output, want string) {
	t.Helper()
	got, err := hooktest.Interpret(harness, event, out.Stdout, out.Stderr, out.Code)
	if err != nil || got != want {
		t.Errorf("%s: it %s, %v; want %s: %+v", name, got, err, want, out)
	}
}

// hookRules decide by the program, so that each row of the table can be asked
// for.
const hookRules = `
allow contains "welcome" if input.effect.program == "welcome"
deny contains "forbidden" if input.effect.program == "forbidden"
ask contains {"reason": "questioned", "remember": false} if input.effect.program == "questioned"`

// TestHook asks as each harness does, with a daemon.
func TestHook(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	project := d.project(t, nil)
	const runs, stops, asks, leaves = hooktest.Runs, hooktest.Stops, hooktest.Asks, hooktest.Leaves
	want := map[string][4]string{ // allow, deny, ask by a rule, ask by default
		"claude":                    {runs, stops, asks, leaves},
		"claude, bypassPermissions": {runs, stops, stops, stops},
		"claude, plan":              {leaves, stops, asks, leaves},
		"claude, sub-agent":         {runs, stops, asks, leaves},
		"claude, asked":             {runs, stops, leaves, leaves},
		"codex":                     {leaves, stops, stops, leaves},
		"codex, asked":              {runs, stops, leaves, leaves},
		"gemini":                    {runs, stops, asks, asks},
		"cursor":                    {runs, stops, stops, stops},
		"copilot":                   {runs, stops, stops, stops},
		"copilot, text":             {runs, stops, stops, stops},
		"copilot, asked":            {runs, stops, stops, stops},
		"cline":                     {runs, stops, stops, stops},
	}
	for _, s := range hookShell {
		for i, command := range []string{"welcome", "forbidden", "questioned", "whatever"} {
			if testing.Short() && strings.Contains(s.name, ",") {
				break // long: the further modes and events of a harness
			}
			out := d.hook(t, s.harness, hookInput(s.in, project, command))
			wantHook(t, s.name+": "+command, s.harness, s.event, out, want[s.name][i])
		}
	}
	// The journal has the harness that asked.
	recs := d.records(t)
	if r := recs[0]; r.Session.ID == "" || r.Agent.Name == "" || r.Client.Name != "permd hook" || r.Project != project {
		t.Errorf("the record is %+v", r)
	}
}

// TestHookTools: permd's profiles have the harness's names of its own tools, and
// tools of servers are identified by server and tool.
func TestHookTools(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the tools of all harnesses; TestHook is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", `
deny contains "secret read" if { input.effect.kind == "read"; endswith(input.effect.path, "/forbidden") }
deny contains "written" if { input.effect.kind == "write"; endswith(input.effect.path, "/forbidden") }
deny contains "host" if { input.effect.kind == "connect"; input.effect.host == "forbidden.example" }
deny contains "tool" if { input.effect.kind == "use"; input.effect.server == "tracker"; input.effect.tool == "close_issue" }
deny contains "command server" if { input.effect.kind == "use"; input.effect.server == "npx tracker-mcp" }`)
	d.start(t)
	project := d.project(t, nil)
	claude := func(tool, input string) string {
		return `{"session_id":"s","cwd":"CWD","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"` + tool + `","tool_input":` + input + `,"tool_use_id":"t"}`
	}
	codex := func(event, tool, input string) string {
		return strings.Replace(claude(tool, input), "PreToolUse", event, 1)
	}
	gemini := func(tool, input, more string) string {
		return `{"session_id":"s","cwd":"CWD","hook_event_name":"BeforeTool","tool_name":"` + tool + `","tool_input":` + input + more + `}`
	}
	cursor := func(event, more string) string {
		return `{"conversation_id":"s","workspace_roots":["CWD"],"hook_event_name":"` + event + `",` + more + `}`
	}
	copilot := func(tool, input string) string {
		return `{"sessionId":"s","cwd":"CWD","toolName":"` + tool + `","toolArgs":` + input + `}`
	}
	cline := func(tool, input string) string {
		return `{"hookName":"PreToolUse","taskId":"s","workspaceRoots":["CWD"],"preToolUse":{"toolName":"` + tool + `","parameters":` + input + `}}`
	}
	for _, c := range []struct{ harness, in string }{
		{"claude", claude("Read", `{"file_path":"CWD/forbidden"}`)},
		{"claude", claude("Write", `{"file_path":"CWD/forbidden","content":""}`)},
		{"claude", claude("WebFetch", `{"url":"https://forbidden.example/","prompt":"x"}`)},
		{"claude", claude("mcp__tracker__close_issue", `{}`)},
		{"codex", codex("PreToolUse", "apply_patch", `{"command":"*** Begin Patch\n*** Add File: forbidden\n+x\n*** End Patch\n"}`)},
		{"codex", codex("PreToolUse", "mcp__tracker__close_issue", `{}`)},
		{"codex", codex("PermissionRequest", "Bash", `{"command":"true","description":"network-access forbidden.example"}`)},
		{"gemini", gemini("read_file", `{"absolute_path":"CWD/forbidden"}`, "")},
		{"gemini", gemini("write_file", `{"file_path":"CWD/forbidden","content":"x"}`, "")},
		{"gemini", gemini("mcp_tracker_close_issue", `{}`, `,"mcp_context":{"server_name":"tracker","tool_name":"close_issue"}`)},
		{"cursor", cursor("beforeReadFile", `"file_path":"CWD/forbidden","content":"x"`)},
		{"cursor", cursor("beforeMCPExecution", `"tool_name":"close_issue","tool_input":"{}","command":"npx tracker-mcp"`)},
		{"cursor", cursor("preToolUse", `"tool_name":"Write","tool_input":{"file_path":"CWD/forbidden"},"cwd":""`)},
		{"copilot", copilot("view", `{"path":"CWD/forbidden"}`)},
		{"copilot", copilot("create", `{"path":"CWD/forbidden","file_text":"x"}`)},
		{"cline", cline("write_to_file", `{"path":"forbidden","content":"x"}`)},
		{"cline", cline("use_mcp_tool", `{"server_name":"tracker","tool_name":"close_issue","arguments":"{}"}`)},
	} {
		event := "PreToolUse"
		if strings.Contains(c.in, "PermissionRequest") {
			event = "PermissionRequest"
		}
		out := d.hook(t, c.harness, hookInput(c.in, project, ""))
		wantHook(t, c.harness+": "+c.in, c.harness, event, out, hooktest.Stops)
		if strings.Contains(string(out.Stdout), "permd allow") {
			t.Errorf("%s: it is asked about, and not denied: %s", c.in, out.Stdout)
		}
	}
	// Tools that only talk to the person are left to the harness, but not a server's
	// tool of the same name.
	for _, c := range []struct{ harness, in, want string }{
		{"claude", claude("AskUserQuestion", `{"questions":[]}`), hooktest.Leaves},
		{"claude", claude("TodoWrite", `{"todos":[]}`), hooktest.Runs},
		{"claude", claude("ExitPlanMode", `{"plan":"x"}`), hooktest.Asks},
		{"claude", strings.Replace(claude("ExitPlanMode", `{"plan":"x"}`), `"default"`, `"auto"`, 1), hooktest.Stops},
		{"gemini", gemini("ask_user", `{"questions":[]}`, ""), hooktest.Leaves},
		{"gemini", gemini("ask_user", `{"x":1}`, `,"mcp_context":{"server_name":"x","tool_name":"ask_user"}`), hooktest.Asks},
		{"copilot", copilot("ask_user", `{"question":"x"}`), hooktest.Leaves},
		{"cline", cline("ask_followup_question", `{"question":"x"}`), hooktest.Runs},
		{"cursor", cursor("preToolUse", `"tool_name":"MCP:Read","tool_input":{"file_path":"CWD/x"},"cwd":""`), hooktest.Stops},
		{"cursor", cursor("preToolUse", `"tool_name":"Read","tool_input":{"file_path":"CWD/x"},"cwd":""`), hooktest.Runs},
	} {
		wantHook(t, c.in, c.harness, "PreToolUse", d.hook(t, c.harness, hookInput(c.in, project, "")), c.want)
	}
}

// TestHookUsage: no wrong command line of a hook counts as an allow.
func TestHookUsage(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	for _, args := range testload.WithShort(t, 3, [][]string{
		{"hook"}, {"hook", "bogus"}, {"hook", "Claude"}, {"hook", ""}, {"hook", "claude", "more"}, {"hook", "claude", "--bogus"}, {"hook", "--bogus", "claude"},
		{"--bogus", "hook", "claude"}, {"hook", "codex", "--permission-prompt-tool"}, {"hook", "opencode"}, {"hok", "claude"},
	}) {
		out := runHook(t, d.command(args...))
		wantHook(t, strings.Join(args, " "), "claude", "", out, hooktest.Stops)
	}
	// Cline looks at the output alone.
	if out := runHook(t, d.command("hook", "cline", "--bogus")); !strings.Contains(string(out.Stdout), `"cancel":true`) {
		t.Errorf("cline: %+v", out)
	}
	// By another way to write it, the same.
	out := runHook(t, d.command("--json", "hook", "claude"))
	wantHook(t, "nothing on standard input", "claude", "", out, hooktest.Stops)
}

// TestHookClosedOutput: if standard output is not read, the exit code and standard
// error still show a deny, even if a broken pipe would end the process.
func TestHookClosedOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a process for each harness; TestHook is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	project := d.project(t, nil)
	for _, s := range hookShell {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd := d.command("hook", s.harness)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(hookInput(s.in, project, "forbidden")), w, &stderr
		_ = r.Close()
		_ = cmd.Run()
		_ = w.Close()
		if s.harness == "cline" {
			continue // it looks at the output alone
		}
		wantHook(t, s.name, s.harness, s.event, hook.Output{Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}, hooktest.Stops)
	}
}

// hookCallMember matches the members that identify the call.
var hookCallMember = regexp.MustCompile(`(?i)tool_?(name|input|args)|command|parameters`)

// TestHookMutants: with the real daemon, no mutant of a sample that is not allowed
// may run.
func TestHookMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("long: mutations of all samples; TestHook is the quick one")
	}
	d := newTestDaemon(t)
	// What is not denied below is allowed, so that what a mutant hides shows.
	d.policy(t, "hook.rego", `
deny contains "forbidden" if { input.effect.kind == "run"; input.effect.program == "forbidden" }
ask contains {"reason": "questioned", "remember": false} if { input.effect.kind == "run"; input.effect.program == "questioned" }`)
	d.start(t)
	project := d.project(t, nil)
	t.Setenv("HOME", d.home)
	t.Setenv("XDG_RUNTIME_DIR", d.run)
	t.Setenv("PERMD_SOCKET", "")
	for _, s := range hookShell {
		h := hook.ByName(s.harness)
		for _, command := range []string{"forbidden", "questioned"} {
			for _, m := range testload.WithRace(t, hooktest.Mutants([]byte(hookInput(s.in, project, command)))) {
				if strings.Contains(m.Name, "permission_mode") && command == "questioned" {
					continue // another mode is another call; socket/hook has the table
				}
				var stdout, stderr bytes.Buffer
				code := hookproc.Answer(t.Context(), h, hookproc.Options{}, bytes.NewReader(m.Text), &stdout, &stderr)
				got, err := hooktest.Interpret(s.harness, s.event, stdout.Bytes(), stderr.String(), code)
				if err != nil {
					if strings.Contains(err.Error(), "another event") {
						continue // the mutant is of the other event
					}
					t.Fatalf("%s: %s: %v", s.name, m.Name, err)
				}
				// Another command may be one that nothing but the default asks about.
				mayLeave := s.harness == "claude" || s.harness == "codex"
				if !hookCallMember.MatchString(m.Name) {
					mayLeave = command == "questioned" && s.event == "PermissionRequest"
				}
				if got == hooktest.Runs || got == hooktest.Leaves && !mayLeave || strings.Contains(stdout.String()+stderr.String(), "cannot decide") &&
					!hookCallMember.MatchString(m.Name) && len(m.Text) < 1<<14 {
					t.Errorf("%s, %s: %s: it %s: %s", s.name, command, m.Name, got, stdout.String())
				}
			}
		}
	}
}

var allowedBy = regexp.MustCompile(`permd allow ([0-9a-f-]{36})`)

// TestHookAllow: the command that a deny names allows this call, once.
func TestHookAllow(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a process for each step of each harness; TestHook is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	project := d.project(t, nil)
	cursor := func(session, command string) hook.Output {
		t.Helper()
		in := strings.Replace(hookShell[8].in, `"s"`, `"`+session+`"`, 1)
		return d.hook(t, "cursor", hookInput(in, project, command))
	}
	refused := func(session, command string) string {
		t.Helper()
		m := allowedBy.FindSubmatch(cursor(session, command).Stdout)
		if m == nil {
			t.Fatal("no way to allow it is named")
		}
		return string(m[1])
	}
	runs := func(session, command string) bool {
		t.Helper()
		return string(cursor(session, command).Stdout) == `{"permission":"allow"}`+"\n"
	}
	id := refused("one", "questioned --all")
	if out := d.permd(t, "allow"); !strings.Contains(out, id) || !strings.Contains(out, "questioned --all") {
		t.Errorf("the list is %s", out)
	}
	if out := d.permd(t, "allow", id); !strings.Contains(out, "allowed once") {
		t.Errorf("the answer is %s", out)
	}
	if runs("two", "questioned --all") || runs("one", "questioned --more") {
		t.Error("another call runs")
	}
	if !runs("one", "questioned --all") {
		t.Error("the call does not run")
	}
	if runs("one", "questioned --all") {
		t.Error("the call ran two times")
	}
	if runs("one", "forbidden") {
		t.Error("what is denied runs")
	}
	// Remembering needs an option; here for the session, which all processes of the
	// hook share.
	id = refused("one", "whatever a")
	if out := d.permd(t, "allow", id, "--width", "w1", "--scope", "session"); !strings.Contains(out, "remembered: allow run whatever a (session)") {
		t.Errorf("the answer is %s", out)
	}
	for range 2 {
		if !runs("one", "whatever a") {
			t.Error("what is remembered does not run")
		}
	}
	if runs("two", "whatever a") {
		t.Error("it runs in another session")
	}
	for _, args := range [][]string{{"allow", id}, {"allow", "nobody"}, {"allow", id, "--scope", "user"}, {"allow", id, "--width", "w1", "--for", "1ms"}} {
		if out, err := d.command(args...).CombinedOutput(); err == nil {
			t.Errorf("%v: %s", args, out)
		}
	}
	recs := d.records(t)
	answered := 0
	for _, r := range recs {
		if r.Answer != nil && r.Answer.Verdict == "allow" {
			answered++
		}
	}
	if answered != 2 {
		t.Errorf("%d answers are in the journal", answered)
	}
}
