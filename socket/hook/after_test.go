package hook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadAfter reads what harnesses write after a tool.
func TestReadAfter(t *testing.T) {
	for name, tt := range map[string]struct {
		harness, in string
		want        *Finished // nil if there is nothing to tell
		must        bool
	}{
		"claude": {
			"claude", `{"session_id":"s","cwd":"/w","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"make"},"tool_response":{"stdout":""},"tool_use_id":"t1"}`,
			&Finished{Session: "s", Call: &FinishedCall{"t1", "Bash", "", []byte(`{"command":"make"}`)}}, false,
		},
		"claude, a tool that failed": {
			"claude", `{"session_id":"s","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"make"},"error":"exit 2","tool_use_id":"t1"}`,
			&Finished{Session: "s", Call: &FinishedCall{"t1", "Bash", "", []byte(`{"command":"make"}`)}}, false,
		},
		"claude, a sub-agent": {
			"claude", `{"session_id":"s","agent_id":"a","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{},"tool_use_id":"t1"}`,
			&Finished{Session: "s/a", Parent: "s", Call: &FinishedCall{"t1", "Bash", "", []byte(`{}`)}}, false,
		},
		"claude, a tool of a server": {
			"claude", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__x__close","tool_input":{},"tool_use_id":"t1","mcp_server":{"name":"x"}}`,
			&Finished{Session: "s", Call: &FinishedCall{"t1", "mcp__x__close", "x", []byte(`{}`)}}, false,
		},
		"claude, the end of a turn":                   {"claude", `{"session_id":"s","permission_mode":"default","hook_event_name":"Stop"}`, &Finished{Session: "s", TurnEnded: true}, false},
		"claude, the end of a turn that asked nobody": {"claude", `{"session_id":"s","permission_mode":"dontAsk","hook_event_name":"Stop"}`, nil, false},
		"claude, an event before a tool":              {"claude", `{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`, nil, true},
		"claude, another event":                       {"claude", `{"session_id":"s","hook_event_name":"Notification"}`, nil, false},
		"claude, no session":                          {"claude", `{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{}}`, nil, false},
		"claude, a name that is too long":             {"claude", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"` + strings.Repeat("x", 2000) + `","tool_input":{}}`, nil, false},
		"not JSON":                                    {"claude", `{`, nil, false},
		"too long":                                    {"claude", strings.Repeat(" ", MaxInput+1), nil, false},
		"codex": {
			"codex", `{"session_id":"s","turn_id":"1","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"make"},"tool_response":"","tool_use_id":"c1"}`,
			&Finished{Session: "s", Call: &FinishedCall{"c1", "Bash", "", []byte(`{"command":"make"}`)}}, false,
		},
		"codex, an event before a tool": {"codex", `{"session_id":"s","cwd":"/w","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{}}`, nil, true},
		"gemini": {
			"gemini", `{"session_id":"s","cwd":"/w","hook_event_name":"AfterTool","tool_name":"run_shell_command","tool_input":{"command":"make"},"tool_response":{"llmContent":""}}`,
			&Finished{Session: "s", Call: &FinishedCall{"", "run_shell_command", "", []byte(`{"command":"make"}`)}}, false,
		},
		"gemini, a tool of a server": {
			"gemini", `{"session_id":"s","hook_event_name":"AfterTool","tool_name":"mcp_x_close","tool_input":{},"mcp_context":{"server_name":"x","tool_name":"close"}}`,
			&Finished{Session: "s", Call: &FinishedCall{"", "close", "x", []byte(`{}`)}}, false,
		},
		"gemini, an event before a tool": {"gemini", `{"session_id":"s","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"x","tool_input":{}}`, nil, true},
		"copilot": {
			"copilot", `{"sessionId":"s","timestamp":1,"cwd":"/w","toolName":"bash","toolArgs":{"command":"make"},"toolResult":{"resultType":"success"}}`,
			&Finished{Session: "s", Call: &FinishedCall{"", "bash", "", []byte(`{"command":"make"}`)}}, false,
		},
		"copilot, arguments as text": {
			"copilot", `{"sessionId":"s","cwd":"/w","toolName":"bash","toolArgs":"{\"command\":\"make\"}","error":"exit 2"}`,
			&Finished{Session: "s", Call: &FinishedCall{"", "bash", "", []byte(`{"command":"make"}`)}}, false,
		},
		"copilot, as Claude Code writes it": {
			"copilot", `{"hook_event_name":"PostToolUse","session_id":"s","cwd":"/w","tool_name":"bash","tool_input":{"command":"make"},"tool_response":{"stdout":""}}`,
			&Finished{Session: "s", Call: &FinishedCall{"", "bash", "", []byte(`{"command":"make"}`)}}, false,
		},
		"copilot, a tool that failed, as Claude Code writes it": {
			"copilot", `{"hook_event_name":"PostToolUseFailure","session_id":"s","cwd":"/w","tool_name":"bash","tool_input":{"command":"make"}}`,
			&Finished{Session: "s", Call: &FinishedCall{"", "bash", "", []byte(`{"command":"make"}`)}}, false,
		},
		"copilot, the end of a turn":      {"copilot", `{"hook_event_name":"Stop","session_id":"s","cwd":"/w"}`, nil, false},
		"copilot, a prompt":               {"copilot", `{"hook_event_name":"UserPromptSubmit","session_id":"s","cwd":"/w","tool_name":"bash","tool_input":{}}`, nil, false},
		"copilot, permission":             {"copilot", `{"hook_event_name":"PermissionRequest","session_id":"s","cwd":"/w","tool_name":"bash","tool_input":{},"tool_response":{}}`, nil, true},
		"copilot, an event before a tool": {"copilot", `{"sessionId":"s","cwd":"/w","toolName":"bash","toolArgs":{"command":"make"}}`, nil, true},
		"copilot, another event before":   {"copilot", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"bash","tool_input":{},"tool_result":{}}`, nil, true},
		"cursor, shell": {
			"cursor", `{"conversation_id":"s","hook_event_name":"afterShellExecution","command":"make","output":"","duration":3}`,
			&Finished{Session: "s", Call: &FinishedCall{"", "Shell", "", []byte(`{"command":"make"}`)}}, false,
		},
		"cursor, a server": {
			"cursor", `{"conversation_id":"s","hook_event_name":"afterMCPExecution","tool_name":"close","tool_input":"{\"issue\":1}","url":"https://x.example","result_json":"{}"}`,
			&Finished{Session: "s", Call: &FinishedCall{"", "close", "https://x.example", []byte(`{"issue":1}`)}}, false,
		},
		"cursor, a tool": {
			"cursor", `{"conversation_id":"s","hook_event_name":"postToolUse","tool_name":"Write","tool_input":{"file_path":"a"},"tool_output":"{}","tool_use_id":"u1"}`,
			&Finished{Session: "s", Call: &FinishedCall{"u1", "Write", "", []byte(`{"file_path":"a"}`)}}, false,
		},
		"cursor, an event before a tool": {"cursor", `{"conversation_id":"s","workspace_roots":["/w"],"hook_event_name":"beforeShellExecution","command":"make"}`, nil, true},
		"cline": {
			"cline", `{"hookName":"PostToolUse","taskId":"s","workspaceRoots":["/w"],"postToolUse":{"toolName":"execute_command","parameters":{"command":"make"},"result":"","success":true}}`,
			&Finished{Session: "s", Call: &FinishedCall{"", "execute_command", "", []byte(`{"command":"make"}`)}}, false,
		},
		"cline, an event before a tool": {"cline", `{"hookName":"PreToolUse","taskId":"s","workspaceRoots":["/w"],"preToolUse":{"toolName":"x","parameters":{}}}`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, must, err := ByName(tt.harness).ReadAfter([]byte(tt.in))
			if diff := cmp.Diff(tt.want, got); diff != "" || must != tt.must || (err == nil) != (tt.want != nil) {
				t.Errorf("must %v, %v (-want +got)\n%s", must, err, diff)
			}
		})
	}
}

// TestAfterDone: no harness takes what is printed after a tool for a decision.
func TestAfterDone(t *testing.T) {
	for _, name := range Names() {
		out := ByName(name).AfterDone()
		if want := map[string]string{"cline": `{"cancel":false}`}[name]; strings.TrimSpace(string(out.Stdout)) != want || out.Stderr != "" || out.Code != 0 {
			t.Errorf("%s: %q, %q, code %d", name, out.Stdout, out.Stderr, out.Code)
		}
	}
}
