package acp

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
)

// TestRefusedVersion2 has requests that can be read in two ways, or that the schema
// of version 2 refuses.
func TestRefusedVersion2(t *testing.T) {
	request := func(members string) string { return `{"sessionId":"s",` + members + `,` + onceOptions + `}` }
	subject := func(s string) string { return request(`"title":"t","subject":` + s) }
	tests := []struct{ name, params, says string }{
		{"no title", request(`"subject":{"type":"command","command":"ls","cwd":"/w"}`), "title is missing"},
		{"title null", request(`"title":null`), "title must be a string"},
		{"title number", request(`"title":1`), "title must be a string"},
		{"near miss of title", request(`"title":"t","Title":"u"`), "differs from a known one"},
		{"near miss of subject", request(`"title":"t","Subject":{}`), "differs from a known one"},
		{"subject text", subject(`"command"`), "subject must be an object"},
		{"subject list", subject(`[]`), "subject must be an object"},
		{"subject without type", subject(`{"command":"ls","cwd":"/w"}`), "subject.type is missing"},
		{"subject type null", subject(`{"type":null}`), "subject.type must be a string"},
		{"near miss in subject", subject(`{"type":"command","command":"ls","Command":"rm","cwd":"/w"}`), "differs from a known one"},
		{"tool call missing", subject(`{"type":"tool_call"}`), "subject.toolCall must be an object"},
		{"tool call null", subject(`{"type":"tool_call","toolCall":null}`), "subject.toolCall must be an object"},
		{"tool call without id", subject(`{"type":"tool_call","toolCall":{"title":"x"}}`), "toolCallId is missing"},
		{"near miss in tool call", subject(`{"type":"tool_call","toolCall":{"toolCallId":"c","rawinput":{}}}`), "differs from a known one"},
		{"near miss in a change", subject(`{"type":"tool_call","toolCall":{"toolCallId":"c","content":[{"type":"diff","changes":[{"operation":"add","path":"/a","Path":"/b"}]}]}}`), "differs from a known one"},
		{"command missing", subject(`{"type":"command","cwd":"/w"}`), "subject.command must be a string"},
		{"command null", subject(`{"type":"command","command":null,"cwd":"/w"}`), "subject.command must be a string"},
		{"command list", subject(`{"type":"command","command":["ls"],"cwd":"/w"}`), "subject.command must be a string"},
		{"command too long", subject(`{"type":"command","command":"` + strings.Repeat("x", maxCommand+1) + `","cwd":"/w"}`), "longer than"},
		{"cwd missing", subject(`{"type":"command","command":"ls"}`), "subject.cwd must be a string"},
		{"cwd null", subject(`{"type":"command","command":"ls","cwd":null}`), "subject.cwd must be a string"},
		{"cwd too long", subject(`{"type":"command","command":"ls","cwd":"/` + strings.Repeat("x", maxPath) + `"}`), "longer than"},
		{"no options", `{"sessionId":"s","title":"t","options":[]}`, "options is empty"},
		{"option kind null", `{"sessionId":"s","title":"t","options":[{"optionId":"y","name":"Y","kind":null}]}`, "options[0].kind"},
		{"option kind empty", `{"sessionId":"s","title":"t","options":[{"optionId":"y","name":"Y","kind":""}]}`, "options[0].kind"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(decisions.Allow)
			res, err := d.call(t, conn(1), MethodRequestPermission, tt.params)
			if code(err) != socket.CodeParams || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("%+v, error %v; want %d with %q", res, err, socket.CodeParams, tt.says)
			}
			if len(d.got) > 0 {
				t.Error("it was decided nevertheless")
			}
		})
	}
}

// TestSubjects has a request for each kind of subject.
func TestSubjects(t *testing.T) {
	tests := []struct {
		name, subject string
		id, input     string
		incomplete    bool
		defects       []string // members
	}{
		{"command", `{"type":"command","command":"ls","cwd":"/w"}`, "", `{"command":"ls","cwd":"/w"}`, false, nil},
		{"command of a call", `{"type":"command","command":"ls","cwd":"/w","toolCallId":"c","terminalId":"t"}`, "c", `{"command":"ls","cwd":"/w"}`, false, nil},
		{"command with nulls", `{"type":"command","command":"ls","cwd":"/w","toolCallId":null,"terminalId":null,"_meta":null}`, "", `{"command":"ls","cwd":"/w"}`, false, nil},
		{"command with characters", `{"type":"command","command":"a\u0000\"\\\u2028","cwd":"/w"}`, "", `{"command":"a\u0000\"\\` + "\u2028" + `","cwd":"/w"}`, false, nil},
		{"relative cwd", `{"type":"command","command":"ls","cwd":"w"}`, "", `{"command":"ls","cwd":"w"}`, false, []string{"subject.cwd"}},
		{"empty cwd", `{"type":"command","command":"ls","cwd":""}`, "", `{"command":"ls","cwd":""}`, false, []string{"subject.cwd"}},
		{"id of another type", `{"type":"command","command":"ls","cwd":"/w","toolCallId":7,"terminalId":[]}`, "", `{"command":"ls","cwd":"/w"}`, false, []string{"subject.terminalId", "subject.toolCallId"}},
		{"id too long", `{"type":"command","command":"ls","cwd":"/w","toolCallId":"` + strings.Repeat("c", maxID+1) + `"}`, "", `{"command":"ls","cwd":"/w"}`, false, []string{"subject.toolCallId"}},
		{"meta of another type", `{"type":"command","command":"ls","cwd":"/w","_meta":7}`, "", `{"command":"ls","cwd":"/w"}`, false, []string{"subject._meta"}},
		{"tool call", `{"type":"tool_call","toolCall":{"toolCallId":"c","name":"Bash","rawInput":{"command":"ls"}}}`, "c", `{"command":"ls"}`, false, nil},
		{"tool call that is only named", `{"type":"tool_call","toolCall":{"toolCallId":"c"}}`, "c", "", true, nil},
		{"unknown", `{"type":"_acme","command":"ls","cwd":"/w"}`, "", "", true, nil},
		{"of the future", `{"type":"commands","command":"ls","cwd":"/w"}`, "", "", true, nil},
		{"null", `null`, "", "", true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(decisions.Allow)
			res, err := d.call(t, conn(1), MethodRequestPermission, `{"sessionId":"s","title":"Go on?","description":"why","subject":`+tt.subject+`,`+onceOptions+`}`)
			call := d.last(t).Call
			if call.ID != tt.id || string(call.Input) != tt.input || (call.Incomplete != "") != tt.incomplete || call.Claims.Prompt != "Go on?\nwhy" {
				t.Errorf("decided on %+v", call)
			}
			var at []string
			for _, d := range call.Defects {
				at = append(at, d.At)
			}
			if strings.Join(at, " ") != strings.Join(tt.defects, " ") {
				t.Errorf("defects at %v, want %v", at, tt.defects)
			}
			if want := tt.incomplete || tt.defects != nil; want != (code(err) == socket.CodeAsk) {
				t.Errorf("%+v, error %v; want a question: %v", res, err, want)
			}
		})
	}
}

// TestQuestionInThePrompt: text for the person is read like a title.
func TestQuestionInThePrompt(t *testing.T) {
	for title, want := range map[string]bool{"AskUserQuestion": true, "Run it?": false} {
		d := newDaemon(decisions.Ask)
		_, _ = d.call(t, conn(1), MethodRequestPermission,
			`{"sessionId":"s","title":"`+title+`","description":"why","subject":{"type":"command","command":"ls","cwd":"/w"},`+onceOptions+`}`)
		if got := len(d.last(t).Call.Marks) > 0; got != want {
			t.Errorf("%s is a question: %v", title, got)
		}
	}
}

// TestCommandOfACall: a request for a command of a known call does not change the
// call's tool.
func TestCommandOfACall(t *testing.T) {
	request := `{"sessionId":"s","title":"Go on?","subject":{"type":"command","command":"ls","cwd":"/w","toolCallId":"c","_meta":{"a":1}},` + onceOptions + `}`
	tests := []struct {
		name, update string
		tool         string
		defects      int
	}{
		{"the same command", `"name":"Bash","rawInput":{"command":"ls"}`, "Bash", 0},
		{"the same under another name", `"name":"Bash","rawInput":{"cmd":" ls\n"}`, "Bash", 0},
		{"another command", `"name":"Bash","rawInput":{"command":"rm"}`, "Bash", 1},
		{"a server's tool", `"name":"mcp__prod__exec","rawInput":{"command":"ls","host":"prod"}`, "mcp__prod__exec", 0},
		{"a defect of the call", `"name":"Bash","locations":7`, "Bash", 1},
		{"an input that is no object", `"rawInput":"ls"`, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, c := newDaemon(decisions.Ask), conn(1)
			d.must(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"x",`+tt.update+`}`))
			_, _ = d.call(t, c, MethodRequestPermission, request)
			call := d.last(t).Call
			if call.Tool.Name != tt.tool || len(call.Defects) != tt.defects || string(call.Input) != `{"command":"ls","cwd":"/w"}` || call.InputFrom != "subject" {
				t.Errorf("decided on %+v", call)
			}
			// The subject does not change the call.
			_, _ = d.call(t, c, MethodRequestPermission, ask(bare))
			if next := d.last(t).Call; strings.Contains(string(next.Input), "cwd") || next.Claims.Title != "x" || next.Incomplete != "" && next.Tool.Name != "" {
				t.Errorf("then on %+v", next)
			}
		})
	}
}

// TestDiffs reads the files that diffs of both versions change.
func TestDiffs(t *testing.T) {
	one := `{"type":"diff","path":"/a","newText":"x"}`
	list := func(changes string) string { return `{"type":"diff","changes":` + changes + `}` }
	tests := []struct {
		name, item string
		request    func(string) string
		want       []effects.Diff // without From
		defects    int
	}{
		{"one file in 1", one, permission, []effects.Diff{{Path: "/a"}}, 0},
		{"a list in 1", list(`[{"operation":"add","path":"/a"}]`), permission, nil, 2},
		{"one file in 2", one, ask, nil, 2},
		{"a list in 2", list(`[{"operation":"add","path":"/a","fileType":"text"},{"operation":"delete","path":"/b"},{"operation":"modify","path":"/c","oldPath":null}]`), ask,
			[]effects.Diff{{Path: "/a", Operation: "add"}, {Path: "/b", Operation: "delete"}, {Path: "/c", Operation: "modify"}}, 0},
		{"moves", list(`[{"operation":"move","path":"/a","oldPath":"/b"},{"operation":"copy","path":"/c","oldPath":"/d"}]`), ask,
			[]effects.Diff{{Path: "/a", OldPath: "/b", Operation: "move"}, {Path: "/c", OldPath: "/d", Operation: "copy"}}, 0},
		{"a move from nowhere", list(`[{"operation":"move","path":"/a"}]`), ask, []effects.Diff{{Path: "/a", Operation: "move"}}, 1},
		{"an add from somewhere", list(`[{"operation":"add","path":"/a","oldPath":"/b"}]`), ask, []effects.Diff{{Path: "/a", OldPath: "/b", Operation: "add"}}, 1},
		{"an unknown operation", list(`[{"operation":"_link","path":"/a"}]`), ask, []effects.Diff{{Path: "/a"}}, 1},
		{"no operation", list(`[{"path":"/a"}]`), ask, []effects.Diff{{Path: "/a"}}, 1},
		{"no path", list(`[{"operation":"add"},7]`), ask, nil, 2},
		{"an old path of another type", list(`[{"operation":"move","path":"/a","oldPath":7}]`), ask, []effects.Diff{{Path: "/a", Operation: "move"}}, 2},
		{"changes of another type", list(`{"a":1}`), ask, nil, 2},
		{"changes null", list(`null`), ask, nil, 1},
		{"none", list(`[]`), ask, nil, 0},
		{"both shapes in 2", `{"type":"diff","path":"/a","newText":"","changes":[{"operation":"add","path":"/b"}]}`, ask, []effects.Diff{{Path: "/b", Operation: "add"}}, 1},
		{"both shapes in 1", `{"type":"diff","path":"/a","newText":"","changes":[{"operation":"add","path":"/b"}]}`, permission, []effects.Diff{{Path: "/a"}}, 1},
		{"somebody's type in 2", `{"type":"_acme"}`, ask, nil, 0},
		{"somebody's type in 1", `{"type":"_acme"}`, permission, nil, 1},
		{"a future type in 2", `{"type":"hologram"}`, ask, nil, 1},
		{"somebody's block in 2", `{"type":"content","content":{"type":"_acme"}}`, ask, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(decisions.Ask)
			_, _ = d.call(t, conn(1), MethodRequestPermission, tt.request(`{"toolCallId":"c","kind":"edit","content":[`+tt.item+`]}`))
			call := d.last(t).Call
			got := call.Claims.Diffs
			for i := range got {
				got[i].From = ""
			}
			if len(got) != len(tt.want) || len(call.Defects) != tt.defects {
				t.Fatalf("diffs %+v, defects %+v", got, call.Defects)
			}
			for i := range got {
				if got[i] != tt.want[i] {
					t.Errorf("diff %d: %+v, want %+v", i, got[i], tt.want[i])
				}
			}
		})
	}
}

// TestCustomOptions has options of kinds that only their agent knows.
func TestCustomOptions(t *testing.T) {
	const custom = `{"optionId":"p","name":"Trust it","kind":"_acme_project"}`
	request := func(options string) string {
		return `{"sessionId":"s","title":"Go on?","subject":{"type":"command","command":"ls","cwd":"/w"},"options":[` + options + `]}`
	}
	const yes, no = `{"optionId":"y","name":"Yes","kind":"allow_once"}`, `{"optionId":"n","name":"No","kind":"reject_once"}`
	tests := []struct {
		name, options string
		verdict       decisions.Verdict
		want          string // "" for a question
	}{
		{"beside yes", yes + `,` + custom + `,` + no, decisions.Allow, `{"outcome":"selected","optionId":"y"}`},
		{"in the place of yes", custom + `,` + no, decisions.Allow, ""},
		{"alone", custom, decisions.Allow, ""},
		{"beside no", yes + `,` + custom + `,` + no, decisions.Deny, `{"outcome":"selected","optionId":"n"}`},
		{"declined, for there is no option that says no", yes + `,` + custom, decisions.Deny, `{"outcome":"cancelled"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(tt.verdict)
			res, err := d.call(t, conn(1), MethodRequestPermission, request(tt.options))
			if tt.want == "" {
				if code(err) != socket.CodeAsk {
					t.Errorf("%+v, error %v", res, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			body := []byte(encode(t, res))
			if got := string(member(body, "outcome")); got != tt.want {
				t.Errorf("outcome %s, want %s", got, tt.want)
			}
			if got := text(body, "_meta", "permd", "verdict"); got != string(tt.verdict) {
				t.Errorf("_meta.permd.verdict = %q", got)
			}
		})
	}
}
