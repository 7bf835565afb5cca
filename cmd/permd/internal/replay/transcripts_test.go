package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket/client"
)

// testCalls are calls of both harnesses: a tool, and its input.
var testCalls = map[string][][2]string{
	"claude": {
		{"Bash", `{"command":"git status"}`}, {"Bash", `{"command":"frob a 1 && rm -rf build"}`}, {"Bash", `{"command":"cat ~/.ssh/id_rsa"}`},
		{"Read", `{"file_path":"a.go"}`}, {"WebFetch", `{"url":"https://x.dev/","prompt":"?"}`}, {"mcp__shop__buy", `{"n":1}`},
		{"Bash", `{"command":"curl -H 'Authorization: Bearer canaryofthetranscript7' https://x.dev"}`},
		{"Write", `{"file_path":"b.go","content":"password = \"canaryofthetranscript7\""}`},
	},
	"codex": {
		{"shell", `{"command":["bash","-lc","git status"],"workdir":"PROJECT"}`}, {"exec_command", `{"cmd":"frob a 1"}`}, {"apply_patch", `{"input":"*** Begin Patch\n*** Add File: x.go\n+a\n*** End Patch\n"}`},
		{"exec_command", `{"cmd":"rm -rf build; TOKEN=canaryofthetranscript7 frob"}`},
	},
}

// transcriptsOf writes the calls as the harness does, each twice, between lines that have none.
func transcriptsOf(t *testing.T, harness, project string, calls [][2]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	object := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	type o = map[string]any
	var b strings.Builder
	if harness == "codex" {
		b.WriteString(object(o{"type": "session_meta", "payload": o{"id": "s", "cwd": project}}))
	}
	for i, c := range calls {
		id, input := fmt.Sprintf("call_%d", i), json.RawMessage(c[1])
		switch {
		case harness == "claude":
			b.WriteString(object(o{"type": "user", "cwd": project, "message": o{"role": "user", "content": `do it with a "tool_use"`}}))
			b.WriteString(object(o{"type": "assistant", "sessionId": "s", "cwd": project, "timestamp": "2026-01-01T00:00:00.000Z", "message": o{"content": []any{
				o{"type": "text", "text": "now"}, o{"type": "tool_use", "id": id, "name": c[0], "input": input},
			}}}))
		case c[0] == "apply_patch":
			var patch struct{ Input string }
			if err := json.Unmarshal(input, &patch); err != nil {
				t.Fatal(err)
			}
			b.WriteString(object(o{"type": "response_item", "payload": o{"type": "custom_tool_call", "name": c[0], "call_id": id, "input": patch.Input}}))
		case i%2 == 0: // of an earlier version
			b.WriteString(object(o{"type": "function_call", "name": c[0], "call_id": id, "arguments": c[1]}))
		default:
			b.WriteString(object(o{"type": "response_item", "payload": o{"type": "function_call", "name": c[0], "call_id": id, "arguments": c[1]}}))
			b.WriteString(object(o{"type": "event_msg", "payload": o{"type": "exec_command_begin", "call_id": id, "cwd": "/elsewhere"}}))
		}
	}
	whole := b.String()
	for name, text := range map[string]string{
		"one.jsonl":       whole,
		"sub/again.jsonl": whole, // resumed
		"sub/bad.jsonl":   "{\"type\":\"assistant\",\n\n" + `{"type":"assistant","message":{"content":[{"type":"tool_use","name":1}]}}` + "\n" + `{"type":"response_item","payload":{"type":"function_call","arguments":"{"}}` + "\n\xff\n" + strings.Repeat("x", maxLine+1) + "\n",
		"notes.txt":       whole,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(list []*Counted) (names []string) {
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

// TestTranscripts compares with what the methods of the socket decide of the same calls.
func TestTranscripts(t *testing.T) {
	dirs := world(t, 0)
	home, err := account.Home()
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(home, "project")
	to, err := engine.Local(t.Context(), dirs, false, io.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range Harnesses(home, os.Getenv) {
		calls := testCalls[h.Name]
		want := map[decisions.Verdict]int{}
		if _, err := client.DeclareSession(t.Context(), to, &client.Session{ID: h.Name, Cwd: project, Agent: &effects.Party{Name: h.agent}, AtShell: true}); err != nil {
			t.Fatal(err)
		}
		for i := range calls {
			calls[i][1] = strings.ReplaceAll(calls[i][1], "PROJECT", project)
			list, err := client.Decide(t.Context(), to, h.Name, client.ToolCall{ID: "1", Tool: client.Tool{Name: calls[i][0]}, Input: json.RawMessage(calls[i][1])})
			if err != nil {
				t.Fatal(err)
			}
			want[list[0].Verdict]++
		}
		var out, errs bytes.Buffer
		s := &cli.Streams{Out: &out, Err: &errs}
		r, err := Transcripts(t.Context(), s, "", h, transcriptsOf(t, h.Name, project, calls))
		if err != nil {
			t.Fatal(err)
		}
		if got := (map[decisions.Verdict]int{decisions.Allow: r.Allow, decisions.Ask: r.Ask, decisions.Deny: r.Deny}); r.Calls != len(calls) || got[decisions.Allow] != want[decisions.Allow] || got[decisions.Ask] != want[decisions.Ask] || got[decisions.Deny] != want[decisions.Deny] {
			t.Errorf("%s: %+v, want %v of %d", h.Name, r, want, len(calls))
		}
		if r.Files != 3 || r.Damaged != 4 || r.Allow == 0 || r.Ask == 0 {
			t.Errorf("%s: %+v", h.Name, r)
		}
		// What a command does is named by the command.
		if h.Name == "claude" && !slices.ContainsFunc(r.Asked, func(c *Counted) bool { return strings.HasPrefix(c.Name, "run curl -H ") }) {
			t.Errorf("%s: asked %s", h.Name, names(r.Asked))
		}
		if err := r.Print(s); err != nil {
			t.Fatal(err)
		}
		s.JSON = true
		if err := r.Print(s); err != nil {
			t.Fatal(err)
		}
		if all := out.String() + errs.String(); strings.Contains(all, "canaryofthe") || !strings.Contains(all, "asked most") || !strings.Contains(all, "4 lines could not be read") {
			t.Errorf("%s prints %s", h.Name, all)
		}
	}
}

// FuzzTranscripts: no line breaks a reader, and what it returns is a call.
func FuzzTranscripts(f *testing.F) {
	f.Add([]byte(`{"type":"assistant","cwd":"/p","message":{"content":[{"type":"tool_use","id":"1","name":"Bash","input":{"command":"ls"}}]}}`))
	f.Add([]byte(`{"type":"response_item","payload":{"type":"function_call","name":"shell","call_id":"1","arguments":"{\"command\":[\"ls\"]}"}}`))
	f.Add([]byte(`{"type":"response_item","payload":{"type":"local_shell_call","call_id":"1","action":{"type":"exec","command":["ls"],"working_directory":"/p"}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, read := range []func([]byte, *fileState) ([]pastCall, error){readClaude, readCodex} {
			calls, _ := read(line, new(fileState))
			for _, c := range calls {
				if c.tool == "" || c.input.Kind() != '{' || !c.input.IsValid() {
					t.Errorf("a call without tool or input: %+v", c)
				}
			}
		}
	})
}
