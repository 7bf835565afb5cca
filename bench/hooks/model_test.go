package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestModel: in every protocol the first turn asks for the command of the prompt
// with the tool that the harness offers, and the second asks for no command.
func TestModel(t *testing.T) {
	const prompt = `RUN\u003c\u003ctouch here\u003e\u003e`
	tests := []struct {
		name, path, tools, result string
		want                      string
	}{
		{"Messages", "/v1/messages", `[{"name":"Read"},{"name":"Bash"}]`, `"type": "tool_result"`, `"command":"touch here"`},
		{"Responses, exec", "/v1/responses", `[{"type":"function","name":"exec_command"}]`, `"type": "function_call_output"`, `"cmd":"touch here"`},
		{"Responses, shell", "/v1/responses", `[{"type":"function","name":"shell_command"}]`, `"type": "function_call_output"`, `"command":"touch here"`},
		{"Chat", "/v1/chat/completions", `[{"type":"function","function":{"name":"bash"}}]`, `"role": "tool"`, `"command":"touch here"`},
		{"Gemini", "/v1beta/models/x:streamGenerateContent", `[{"functionDeclarations":[{"name":"run_shell_command"}]}]`, `"functionResponse": {}`, `"command":"touch here"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newModel(log.New(io.Discard, "", 0))
			defer m.Close()
			post := func(body string) string {
				res, err := http.Post(m.URL+tt.path, "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				answer, err := io.ReadAll(res.Body)
				if err != nil || res.StatusCode != http.StatusOK {
					t.Fatalf("%v, %v", res.Status, err)
				}
				return strings.ReplaceAll(string(answer), `\"`, `"`)
			}
			for _, stream := range []string{"true", "false"} {
				m.seen()
				if got := post(`{"stream":` + stream + `,"tools":` + tt.tools + `,"input":"` + prompt + `"}`); !strings.Contains(got, tt.want) {
					t.Errorf("the first turn is %s", got)
				}
				if got := post(`{"stream":` + stream + `,"tools":` + tt.tools + `,"input":"` + prompt + `","more":[{` + tt.result + `, "x": "refused"}]}`); strings.Contains(got, "touch") || !strings.Contains(got, "done") {
					t.Errorf("the second turn is %s", got)
				}
				if got := post(`{"stream":` + stream + `,"tools":[{"name":"other"}],"input":"` + prompt + `"}`); strings.Contains(got, "touch") {
					t.Errorf("the answer without a shell tool is %s", got)
				}
				if asked, results, lost := m.seen(); asked != 1 || len(results) != 1 || !strings.Contains(results[0], "refused") || len(lost) > 0 {
					t.Errorf("asked for %d commands, results %q, unanswered %q", asked, results, lost)
				}
			}
		})
	}
}

// TestRowsInDocs: the table in docs/hooks.md has a row for each row that is tried.
func TestRowsInDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !strings.Contains(string(text), "\n| "+what[r.name]+" |") {
			t.Errorf("docs/hooks.md has no row %q", what[r.name])
		}
	}
}
