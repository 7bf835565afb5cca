package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// same compares JSON texts, ignoring white space.
func same(t *testing.T, got, want []byte) {
	t.Helper()
	g, w := jsontext.Value(got).Clone(), jsontext.Value(want).Clone()
	if err := g.Compact(); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if err := w.Compact(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(w), string(g)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestRead reads every sample of what harnesses write.
func TestRead(t *testing.T) {
	claudeSession, codexSession := "b7d2c1f0-3f0e-4b53-a3d4-0c9a5f9f2b11", "0199a2f4-77aa-7c10-8b6e-1f2d3c4b5a60"
	conversation := "a3c6c8ad-20b8-4a55-8d5c-5a39e7d2e1aa"
	app := []string{"/srv/app"}
	want := map[string]Request{
		"claude/01-PreToolUse.Bash.stdin.json": {
			Event: "PreToolUse", Session: claudeSession, Cwd: "/srv/app", Mode: "default", AtShell: true, canAsk: true, ownRules: true,
			Call: toolCall{ID: "toolu_01Zk1", Name: "Bash", Input: jsontext.Value(`{"command":"rm -rf build && make","description":"Clean build","timeout":120000}`)},
		},
		"claude/02-PreToolUse.Write.stdin.json": {
			Event: "PreToolUse", Session: claudeSession, Cwd: "/srv/app", Mode: "default", AtShell: true, canAsk: true, ownRules: true,
			Call: toolCall{ID: "toolu_01Zk2", Name: "Write", Input: jsontext.Value(`{"file_path":"/srv/app/.env","content":"TOKEN=placeholder\n"}`)},
		},
		"claude/03-PreToolUse.mcp.subagent.stdin.json": {
			Event: "PreToolUse", Session: claudeSession + "/agent-4", Parent: claudeSession, Cwd: "/srv/app", Mode: "default", AtShell: true, canAsk: true, ownRules: true,
			Call: toolCall{ID: "toolu_01Zk3", Name: "mcp__github__merge_pull_request", Server: "github", Source: "user", Input: jsontext.Value(`{"owner":"acme","repo":"app","pull_number":77}`)},
		},
		"claude/07-PermissionRequest.stdin.json": {
			Event: "PermissionRequest", Session: claudeSession, Cwd: "/srv/app", Mode: "default", AtShell: true, canAsk: true, ownRules: true,
			Call: toolCall{ID: "1", Name: "Bash", Input: jsontext.Value(`{"command":"npm install left-pad","description":"Install a package"}`)},
		},
		"codex/01-hook.PreToolUse.stdin.json": {
			Event: "PreToolUse", Session: codexSession, Cwd: "/srv/app", Mode: "default", ownRules: true,
			Call: toolCall{ID: "call_c1", Name: "Bash", Input: jsontext.Value(`{"command":"cargo publish"}`)},
		},
		"codex/02-hook.PreToolUse.apply_patch.stdin.json": {
			Event: "PreToolUse", Session: codexSession, Cwd: "/srv/app", Mode: "default", ownRules: true,
			Call: toolCall{ID: "call_c2", Name: "apply_patch", Input: jsontext.Value(`{"command":"*** Begin Patch\n*** Update File: src/lib.rs\n@@\n-1\n+2\n*** End Patch\n"}`)},
		},
		"codex/04-hook.PermissionRequest.stdin.json": {
			Event: "PermissionRequest", Session: codexSession + "/agent-2", Parent: codexSession, Cwd: "/srv/app", Mode: "default", canAsk: true, ownRules: true,
			Call: toolCall{ID: "1", Name: "Bash", Input: jsontext.Value(`{"command":"curl -sSf https://example.org/install.sh","description":"network-access example.org","networkApprovalContext":{"host":"example.org"}}`)},
		},
		"gemini/01-BeforeTool.run_shell_command.stdin.json": {
			Event: "BeforeTool", Session: "2c1f7a90", Cwd: "/srv/app", canAsk: true,
			Call: toolCall{ID: "1", Name: "run_shell_command", Input: jsontext.Value(`{"command":"terraform apply","description":"Apply the plan"}`)},
		},
		"gemini/02-BeforeTool.mcp.stdin.json": {
			Event: "BeforeTool", Session: "2c1f7a90", Cwd: "/srv/app", canAsk: true,
			Call: toolCall{ID: "1", Name: "close_issue", Server: "tracker", Input: jsontext.Value(`{"issue":"WEB-9"}`)},
		},
		"cursor/01-beforeShellExecution.stdin.json": {
			Event: "beforeShellExecution", Session: conversation, Cwd: "/srv/app", Roots: app,
			Call: toolCall{ID: "1", Name: "Shell", Input: jsontext.Value(`{"command":"docker system prune -af"}`)},
		},
		"cursor/02-beforeMCPExecution.stdin.json": {
			Event: "beforeMCPExecution", Session: conversation, Cwd: "/srv/app", Roots: app,
			Call: toolCall{ID: "1", Name: "close_issue", Server: "npx tracker-mcp", Input: jsontext.Value(`{"issue":"WEB-9"}`)},
		},
		"cursor/03-beforeReadFile.stdin.json": {
			Event: "beforeReadFile", Session: conversation, Cwd: "/srv/app", Roots: app,
			Call: toolCall{ID: "1", Name: "Read", Input: jsontext.Value(`{"file_path":"/srv/app/.env"}`)},
		},
		"cursor/04-preToolUse.stdin.json": {
			Event: "preToolUse", Session: conversation, Cwd: "/srv/app", Roots: app,
			Call: toolCall{ID: "d024a132-85b4-4c79-80f0-6b2e2fffc1fe", Name: "Shell", Input: jsontext.Value(`{"command":"docker system prune -af","cwd":"/srv/app","timeout":30000}`)},
		},
		"copilot/01-preToolUse.stdin.json": {
			Event: "PreToolUse", Session: "6f1d", Cwd: "/srv/app",
			Call: toolCall{ID: "1", Name: "bash", Input: jsontext.Value(`{"command":"kubectl delete ns demo","description":"Remove namespace"}`)},
		},
		"copilot/02-PreToolUse.vscode-shape.stdin.json": {
			Event: "PreToolUse", Session: "6f1d", Cwd: "/srv/app",
			Call: toolCall{ID: "1", Name: "Bash", Input: jsontext.Value(`{"command":"kubectl delete ns demo"}`)},
		},
		"cline/01-PreToolUse.stdin.json": {
			Event: "PreToolUse", Session: "1795500000123", Cwd: "/srv/app", Roots: app,
			Call: toolCall{ID: "1", Name: "execute_command", Input: jsontext.Value(`{"command":"helm uninstall shop","requires_approval":"true"}`)},
		},
	}
	for _, name := range stdins(t) {
		w, ok := want[name]
		if !ok {
			t.Errorf("%s: no expectation", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			got, err := harness(name).Read(sample(t, name))
			if err != nil {
				t.Fatal(err)
			}
			input := got.Call.Input.Clone()
			if err := input.Compact(); err != nil {
				t.Fatal(err)
			}
			got.Call.Input = input
			if diff := cmp.Diff(&w, got, cmp.AllowUnexported(Request{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// stdins are the samples of what harnesses write before a tool runs.
func stdins(t testing.TB) (names []string) {
	t.Helper()
	all, err := filepath.Glob("testdata/*/*.stdin.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if strings.Contains(path, "Notification") {
			continue // it waits for no answer
		}
		names = append(names, strings.TrimPrefix(filepath.ToSlash(path), "testdata/"))
	}
	if len(names) < 16 {
		t.Fatalf("only %d samples", len(names))
	}
	return names
}

func harness(sample string) *Harness { return ByName(strings.Split(sample, "/")[0]) }

// TestSays compares every answer with a sample that its harness reads.
func TestSays(t *testing.T) {
	for _, c := range []struct {
		asked   string
		verdict decisions.Verdict
		reason  string
		want    string
	}{
		{"claude/01-PreToolUse.Bash.stdin.json", "allow", "matches org policy build.clean", "claude/04-PreToolUse.allow.stdout.json"},
		{"claude/02-PreToolUse.Write.stdin.json", "deny", "secrets files are written by the operator only", "claude/05-PreToolUse.deny.stdout.json"},
		{"claude/03-PreToolUse.mcp.subagent.stdin.json", "ask", "merging is confirmed by a person", "claude/06-PreToolUse.ask.stdout.json"},
		{"claude/07-PermissionRequest.stdin.json", "allow", "", "claude/08-PermissionRequest.allow.stdout.json"},
		{"claude/07-PermissionRequest.stdin.json", "deny", "new dependencies need a review", "claude/10-PermissionRequest.deny.stdout.json"},
		{"codex/01-hook.PreToolUse.stdin.json", "deny", "publishing is done by CI", "codex/03-hook.PreToolUse.deny.stdout.json"},
		{"codex/04-hook.PermissionRequest.stdin.json", "allow", "", "codex/05-hook.PermissionRequest.allow.stdout.json"},
		{"codex/04-hook.PermissionRequest.stdin.json", "deny", "example.org is not on the egress list", "codex/06-hook.PermissionRequest.deny.stdout.json"},
		{"gemini/01-BeforeTool.run_shell_command.stdin.json", "deny", "terraform apply runs in CI only", "gemini/03-BeforeTool.deny.stdout.json"},
		{"gemini/01-BeforeTool.run_shell_command.stdin.json", "ask", "this needs your confirmation (rule org.iac.apply)", "gemini/04-BeforeTool.ask.stdout.json"},
		{"gemini/01-BeforeTool.run_shell_command.stdin.json", "allow", "", "gemini/05-BeforeTool.allow.stdout.json"},
		{"cursor/01-beforeShellExecution.stdin.json", "allow", "", "cursor/05-allow.stdout.json"},
		{"cursor/01-beforeShellExecution.stdin.json", "deny", "docker prune is blocked by org policy (rule org.docker.prune)", "cursor/06-deny.stdout.json"},
		{"copilot/01-preToolUse.stdin.json", "deny", "namespaces are deleted by the platform team", "copilot/03-preToolUse.deny.stdout.json"},
		{"cline/01-PreToolUse.stdin.json", "deny", "helm uninstall is blocked (rule org.helm)", "cline/02-PreToolUse.block.stdout.json"},
		{"cline/01-PreToolUse.stdin.json", "allow", "", "cline/03-PreToolUse.pass.stdout.json"},
	} {
		t.Run(c.want, func(t *testing.T) {
			h := harness(c.asked)
			r, err := h.Read(sample(t, c.asked))
			if err != nil {
				t.Fatal(err)
			}
			got := h.Answer(r, &decisions.Decision{ID: "d1", Verdict: c.verdict, Needed: decisions.NeededByRule, Reason: c.reason})
			if got.Code != 0 || got.Stderr != "" {
				t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
			}
			// Not all samples name permd or have the same text for person and
			// model, so only their form is compared.
			begins := map[decisions.Verdict]string{decisions.Allow: "permd: ", decisions.Ask: "permd asks: ", decisions.Deny: "permd denies: "}[c.verdict]
			if text := `"` + begins + c.reason; c.verdict != decisions.Allow && strings.Contains(string(got.Stdout), c.reason) && !strings.Contains(string(got.Stdout), text) {
				t.Errorf("the output is %s, without %s", got.Stdout, text)
			}
			want := strings.ReplaceAll(string(sample(t, c.want)), `"permd: `, `"`)
			want = strings.ReplaceAll(want, "Blocked by policy org.docker.prune. Do not retry.", c.reason)
			same(t, []byte(strings.ReplaceAll(string(got.Stdout), `"`+begins, `"`)), []byte(want))
		})
	}
}

// TestCopilotPermissionRequest: Copilot's documentation has only the names of the
// members.
func TestCopilotPermissionRequest(t *testing.T) {
	h := ByName("copilot")
	r, err := h.Read([]byte(`{"sessionId":"6f1d","cwd":"/srv/app","toolName":"bash","toolInput":{"command":"kubectl delete ns demo"}}`))
	if err != nil {
		t.Fatal(err)
	}
	same(t, h.Answer(r, &decisions.Decision{Verdict: "allow"}).Stdout, sample(t, "copilot/06-permissionRequest.allow.stdout.json"))
	deny := h.Answer(r, &decisions.Decision{Verdict: "deny", Reason: "namespaces are deleted by the platform team"})
	same(t, []byte(strings.Replace(string(deny.Stdout), "permd denies: ", "", 1)), sample(t, "copilot/05-permissionRequest.deny.stdout.json"))
}

var byRule = &decisions.Decision{ID: "d1", Verdict: decisions.Ask, Needed: decisions.NeededByRule, Reason: "why"}

// TestPrompt goes through a conversation with Claude Code's permission-prompt
// tool.
func TestPrompt(t *testing.T) {
	p := &Prompt{Session: "s", Cwd: "/srv/app", Version: "1"}
	line := func(in, want string) {
		t.Helper()
		answer, call := p.Line([]byte(in))
		if call != nil {
			t.Fatalf("%s is a call", in)
		}
		if got := strings.TrimSuffix(string(answer), "\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	line(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`,
		`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"permd","version":"1"}}}`)
	line(`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2099-01-01"}}`,
		`{"jsonrpc":"2.0","id":"a","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"permd","version":"1"}}}`)
	line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``)
	line(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	line(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":2,"result":`+string(promptTools)+`}`)
	line(`{"jsonrpc":"2.0","id":3,"method":"resources/list"}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"method not found"}}`)
	line(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"other"}}`, `{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"no such tool"}}`)
	line(`{"jsonrpc":"2.0","id":4,"id":5,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not readable in one way"}}`)
	line(`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a message of JSON-RPC 2.0"}}`)
	line(`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"an id must be a string or a number"}}`)

	arguments := string(sample(t, "claude/11-permission-prompt-tool.call.arguments.json"))
	ask := func() *PromptCall {
		t.Helper()
		in := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"approve","arguments":` + strings.ReplaceAll(arguments, "\n", " ") + `}}`
		answer, call := p.Line([]byte(in))
		if call == nil {
			t.Fatalf("no call, but %s", answer)
		}
		return call
	}
	text := func(line []byte) []byte {
		t.Helper()
		var m struct {
			ID     int `json:"id"`
			Result struct {
				Content []struct{ Type, Text string } `json:"content"`
			} `json:"result"`
		}
		decode(t, line, &m)
		if m.ID != 7 || len(m.Result.Content) != 1 || m.Result.Content[0].Type != "text" {
			t.Fatalf("the answer is %s", line)
		}
		return []byte(m.Result.Content[0].Text)
	}
	r := ask().Request
	if r.Session != "s" || r.Cwd != "/srv/app" || r.Call.Name != "Bash" || r.Call.ID != "toolu_01Zk4" || r.AtShell {
		t.Errorf("the request is %+v", r)
	}
	same(t, text(ask().Answer(&decisions.Decision{Verdict: "allow"})), sample(t, "claude/12-permission-prompt-tool.result-text.allow.json"))
	deny := text(ask().Answer(&decisions.Decision{Verdict: "deny", Reason: "new dependencies need a review"}))
	same(t, []byte(strings.Replace(string(deny), "permd denies: ", "", 1)), sample(t, "claude/13-permission-prompt-tool.result-text.deny.json"))
	same(t, text(ask().Answer(byRule)), []byte(`{"behavior":"deny","message":"permd asks: why; a person must allow this in a terminal of their own: permd allow d1 (then try again)"}`))
	same(t, text(ask().Failed("no daemon")), []byte(`{"behavior":"deny","message":"permd: no daemon"}`))
	// What cannot be read is denied in the form of the tool's result, so that
	// Claude Code reads it as an answer.
	for _, bad := range []string{`{}`, `null`, `7`, `{"tool_name":"Bash"}`, `{"tool_name":"Bash","input":"ls"}`, `{"tool_name":7,"input":{}}`, `{"tool_name":"","input":{}}`, `{"Tool_name":"Bash","tool_name":"Bash","input":{}}`} {
		answer, call := p.Line([]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"approve","arguments":` + bad + `}}`))
		if call != nil || !strings.HasPrefix(string(text(answer)), `{"behavior":"deny","message":"permd: reading the call: `) {
			t.Errorf("%s: %s", bad, answer)
		}
	}
}

// TestSaysWhatToDo: a question shows the rule's message after its reason, and a deny the
// message alone, which says what to do instead.
func TestSaysWhatToDo(t *testing.T) {
	r, err := harness("claude/01-PreToolUse.Bash.stdin.json").Read(sample(t, "claude/01-PreToolUse.Bash.stdin.json"))
	if err != nil {
		t.Fatal(err)
	}
	for verdict, want := range map[decisions.Verdict]string{
		decisions.Ask:  `"permd asks: pushes are looked at; leave the push to me"`,
		decisions.Deny: `"permd denies: leave the push to me"`,
	} {
		d := &decisions.Decision{ID: "d1", Verdict: verdict, Needed: decisions.NeededByRule, Reason: "pushes are looked at", Message: "leave the push to me"}
		if got := harness("claude/01-PreToolUse.Bash.stdin.json").Answer(r, d); !strings.Contains(string(got.Stdout), want) {
			t.Errorf("%s: the output is %s, without %s", verdict, got.Stdout, want)
		}
	}
}
