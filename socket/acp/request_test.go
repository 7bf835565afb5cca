package acp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// TestRefused has requests that can be read in two ways, or that the protocol's
// schema refuses too: they are not decided.
func TestRefused(t *testing.T) {
	const call = `"toolCall":{"toolCallId":"c"}`
	tests := []struct{ name, params, says string }{
		{"params array", `[]`, "params must be an object"},
		{"no session", `{` + call + `,` + onceOptions + `}`, "sessionId is missing"},
		{"session null", `{"sessionId":null,` + call + `,` + onceOptions + `}`, "sessionId must be a string"},
		{"session empty", `{"sessionId":"",` + call + `,` + onceOptions + `}`, "sessionId is empty"},
		{"session too long", `{"sessionId":"` + strings.Repeat("s", maxID+1) + `",` + call + `,` + onceOptions + `}`, "longer than"},
		{"no call", `{"sessionId":"s",` + onceOptions + `}`, "toolCall is missing"},
		{"both versions", `{"sessionId":"s","title":"t",` + call + `,` + onceOptions + `}`, "has both"},
		{"both versions, subject null", `{"sessionId":"s","subject":null,` + call + `,` + onceOptions + `}`, "has both"},
		{"call null", `{"sessionId":"s","toolCall":null,` + onceOptions + `}`, "toolCall must be an object"},
		{"no call id", permission(`{"title":"ls"}`), "toolCallId is missing"},
		{"call id number", permission(`{"toolCallId":1}`), "toolCallId must be a string"},
		{"no options", `{"sessionId":"s",` + call + `}`, "options is missing"},
		{"options null", `{"sessionId":"s",` + call + `,"options":null}`, "options must be an array"},
		{"option null", `{"sessionId":"s",` + call + `,"options":[null]}`, "options[0] must be an object"},
		{"option without id", `{"sessionId":"s",` + call + `,"options":[{"name":"Y","kind":"allow_once"}]}`, "options[0].optionId is missing"},
		{"option without name", `{"sessionId":"s",` + call + `,"options":[{"optionId":"y","kind":"allow_once"}]}`, "options[0].name"},
		{"option name null", `{"sessionId":"s",` + call + `,"options":[{"optionId":"y","name":null,"kind":"allow_once"}]}`, "options[0].name"},
		{"option without kind", `{"sessionId":"s",` + call + `,"options":[{"optionId":"y","name":"Y"}]}`, "options[0].kind"},
		{"unknown option kind", `{"sessionId":"s",` + call + `,"options":[{"optionId":"y","name":"Y","kind":"allow_twice"}]}`, "options[0].kind"},
		{"kind in capitals", `{"sessionId":"s",` + call + `,"options":[{"optionId":"y","name":"Y","kind":"ALLOW_ONCE"}]}`, "options[0].kind"},
		{"too many options", `{"sessionId":"s",` + call + `,"options":[` + strings.Repeat(`{},`, maxOptions) + `{}]}`, "more than"},
		{"near miss in params", `{"sessionId":"s","sessionid":"t",` + call + `,` + onceOptions + `}`, "differs from a known one"},
		{"near miss in call", permission(`{"toolCallId":"c","RawInput":{"command":"ls"}}`), "differs from a known one"},
		{"near miss with a long s", permission(`{"toolCallId":"c","locationſ":[]}`), "differs from a known one"},
		{"near miss with a hidden character", permission(`{"toolCallId":"c","ti\u200btle":"x"}`), "differs from a known one"},
		{"near miss in option", `{"sessionId":"s",` + call + `,"options":[{"optionId":"y","OptionId":"n","name":"Y","kind":"allow_once"}]}`, "differs from a known one"},
		{"near miss in location", permission(`{"toolCallId":"c","locations":[{"path":"/a","Path":"/b"}]}`), "differs from a known one"},
		{"near miss in content", permission(`{"toolCallId":"c","content":[{"type":"diff","path":"/a","newtext":"","newText":""}]}`), "differs from a known one"},
		{"near miss in block", permission(`{"toolCallId":"c","content":[{"type":"content","content":{"type":"text","Text":"b","text":"a"}}]}`), "differs from a known one"},
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

// TestTolerated has values that the schema reads as absent or skips. A skipped one
// is a defect, so the call is not allowed.
func TestTolerated(t *testing.T) {
	const in = `{"toolCallId":"c","kind":"execute","rawInput":{"command":"ls"},`
	tests := []struct {
		name, call string
		defects    []string // members
		want       func(*effects.Call) any
		is         any
	}{
		{"plain", in + `"title":"ls"}`, nil, func(c *effects.Call) any { return c.Claims.Title }, "ls"},
		{"nulls", in + `"title":null,"name":null,"status":null,"content":null,"locations":null,"_meta":null,"rawOutput":null}`, nil, nil, nil},
		{"unknown members", in + `"vendor":{"a":1},"rawOutput":[1]}`, nil, nil, nil},
		{"unknown kind", `{"toolCallId":"c","kind":"teleport","rawInput":{"command":"ls"}}`, nil, func(c *effects.Call) any { return c.Claims.Kind }, "other"},
		{"kind number", `{"toolCallId":"c","kind":7,"rawInput":{"command":"ls"}}`, []string{"kind"}, func(c *effects.Call) any { return c.Claims.Kind }, ""},
		{"title number", in + `"title":5}`, []string{"title"}, nil, nil},
		{"name object", in + `"name":{}}`, []string{"name"}, nil, nil},
		{"status unknown", in + `"status":"cancelled"}`, []string{"status"}, nil, nil},
		{"meta array", in + `"_meta":[]}`, []string{"_meta"}, nil, nil},
		{"content string", in + `"content":"x"}`, []string{"content"}, nil, nil},
		{"content item null", in + `"content":[null]}`, []string{"content[0]"}, nil, nil},
		{"content type unknown", in + `"content":[{"type":"hologram"}]}`, []string{"content[0]"}, nil, nil},
		{"content without wrapper", in + `"content":[{"type":"text","text":"x"}]}`, []string{"content[0]"}, nil, nil},
		{"content text", in + `"content":[{"type":"content","content":{"type":"text","text":"x"}},{"type":"terminal","terminalId":"t"}]}`, nil,
			func(c *effects.Call) any { return c.Claims.Texts }, []string{"x"}},
		{"content image", in + `"content":[{"type":"content","content":{"type":"image","data":"","mimeType":"image/png"}}]}`, nil, nil, nil},
		{"content block unknown", in + `"content":[{"type":"content","content":{"type":"smell"}}]}`, []string{"content[0]"}, nil, nil},
		{"content text number", in + `"content":[{"type":"content","content":{"type":"text","text":1}}]}`, []string{"content[0]"}, nil, nil},
		{"terminal without id", in + `"content":[{"type":"terminal"}]}`, []string{"content[0]"}, nil, nil},
		{"diff", in + `"content":[{"type":"diff","path":"/a","oldText":null,"newText":""}]}`, nil,
			func(c *effects.Call) any { return c.Claims.Diffs }, []effects.Diff{{Path: "/a", From: "content[0]"}}},
		{"diff that deletes", in + `"content":[{"type":"diff","path":"/a","newText":"","_meta":{"kind":"delete"}}]}`, nil,
			func(c *effects.Call) any { return c.Claims.Diffs }, []effects.Diff{{Path: "/a", From: "content[0]", Operation: "delete"}}},
		{"diff whose kind hides the deletion", in + `"content":[{"type":"diff","path":"/a","newText":"","deleted":true,"_meta":{"kind":"update"}}]}`, nil,
			func(c *effects.Call) any { return c.Claims.Diffs }, []effects.Diff{{Path: "/a", From: "content[0]", Operation: "delete"}}},
		{"diff without text keeps its path", in + `"content":[{"type":"diff","path":"/a"}]}`, []string{"content[0]"},
			func(c *effects.Call) any { return c.Claims.Diffs }, []effects.Diff{{Path: "/a", From: "content[0]"}}},
		{"diff without path", in + `"content":[{"type":"diff","newText":""}]}`, []string{"content[0]"}, nil, nil},
		{"locations object", in + `"locations":{}}`, []string{"locations"}, nil, nil},
		{"one bad location", in + `"locations":[{"path":3},{"path":"/etc/passwd","line":1}]}`, []string{"locations[0]"},
			func(c *effects.Call) any { return c.Claims.Locations }, []effects.Location{{Path: "/etc/passwd", From: "locations[1].path"}}},
		{"bad line", in + `"locations":[{"path":"/a","line":"1"}]}`, []string{"locations[0].line"}, nil, nil},
		{"too many locations", in + `"locations":[` + strings.Repeat(`{"path":"/a"},`, maxItems) + `{"path":"/b"}]}`, []string{"locations"}, nil, nil},
		{"input string", `{"toolCallId":"c","title":"x","kind":"execute","rawInput":"ls -la"}`, nil, func(c *effects.Call) any { return string(c.Input) }, `"ls -la"`},
		{"input with a big number", `{"toolCallId":"c","title":"x","rawInput":{"n":9007199254740993}}`, nil, func(c *effects.Call) any { return string(c.Input) }, `{"n":9007199254740993}`},
		{"claude's names", in + `"_meta":{"claudeCode":{"toolName":"mcp__gh__list","mcpServer":{"name":"gh","source":"project"}}}}`, nil,
			func(c *effects.Call) any { return c.Tool }, effects.Tool{Name: "mcp__gh__list", Server: "gh", Source: "project"}},
		{"name before claude's", in + `"name":"Bash","_meta":{"claudeCode":{"toolName":"Bash"}}}`, nil,
			func(c *effects.Call) any { return c.Tool.Name }, "Bash"},
		{"two names", in + `"name":"Bash","_meta":{"claudeCode":{"toolName":"Read"}}}`, []string{"name"},
			func(c *effects.Call) any { return c.Tool.Name }, "Bash"},
		{"near miss in meta", in + `"_meta":{"claudecode":{"toolName":"Read"}}}`, []string{"_meta"}, nil, nil},
		{"near miss in claude's meta", in + `"_meta":{"claudeCode":{"toolname":"Read"}}}`, []string{"_meta.claudeCode"}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(decisions.Allow)
			res, err := d.call(t, conn(1), MethodRequestPermission, permission(tt.call))
			call := &d.last(t).Call
			var at []string
			for _, d := range call.Defects {
				at = append(at, d.At)
			}
			if diff := cmp.Diff(tt.defects, at); diff != "" {
				t.Errorf("defects (-want +got):\n%s", diff)
			}
			if tt.want != nil {
				if diff := cmp.Diff(tt.is, tt.want(call)); diff != "" {
					t.Errorf("call (-want +got):\n%s", diff)
				}
			}
			if len(tt.defects) > 0 && code(err) != socket.CodeAsk {
				t.Errorf("%+v, error %v: an allow in spite of a defect", res, err)
			}
			if len(tt.defects) == 0 && err != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestDefectsAreBounded sends more malformed items than are kept.
func TestDefectsAreBounded(t *testing.T) {
	d := newDaemon(decisions.Ask)
	items := strings.TrimSuffix(strings.Repeat("1,", 200), ",")
	_, _ = d.call(t, conn(1), MethodRequestPermission, permission(`{"toolCallId":"c","title":"x","locations":[`+items+`]}`))
	if n := len(d.last(t).Call.Defects); n != maxDefects {
		t.Errorf("%d defects, want %d", n, maxDefects)
	}
}

func TestMergeMeta(t *testing.T) {
	tests := []struct {
		name, call, request, want string
		contradicts               bool
	}{
		{"none", ``, ``, ``, false},
		{"only the call's", `{"a":1}`, ``, `{"a":1}`, false},
		{"only the request's", ``, `{"codex":{"params":{"cwd":"/x"}}}`, `{"codex":{"params":{"cwd":"/x"}}}`, false},
		{"both", `{"a":1}`, `{"b":9007199254740993}`, `{"a":1,"b":9007199254740993}`, false},
		{"the same", `{"a":1}`, `{"a":1}`, `{"a":1}`, false},
		{"two values", `{"a":1}`, `{"a":2,"b":3}`, `{"a":1,"b":3}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			value := func(s string) strictjson.Value {
				if s == "" {
					return nil
				}
				return strictjson.Value(s)
			}
			got, defect := mergeMeta(value(tt.call), value(tt.request))
			if string(got) != tt.want || (defect != nil) != tt.contradicts {
				t.Errorf("%s, %+v; want %s", got, defect, tt.want)
			}
		})
	}
}

// TestRecognised has requests that are no tool calls.
func TestRecognised(t *testing.T) {
	const q, m = effects.KindQuestion, effects.KindMode
	tests := []struct {
		name, params string
		want         []effects.Kind
	}{
		{"a tool call", permission(`{"toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`), nil},
		{"a file's permissions", permission(`{"toolCallId":"c","title":"chmod","rawInput":{"path":"/a","permissions":"0755"}}`), nil},
		{"question by name", permission(`{"toolCallId":"c","name":"AskUserQuestion","rawInput":{"q":1}}`), []effects.Kind{q}},
		{"question by title, spelt otherwise", permission(`{"toolCallId":"c","title":"ask_user_question"}`), []effects.Kind{q}},
		{"too many turns", permission(`{"toolCallId":"max_iterations","title":"Maximum iterations reached","kind":"execute"}`), []effects.Kind{q}},
		{"loop", permission(`{"toolCallId":"c","title":"doom_loop","rawInput":{"a":1}}`), []effects.Kind{q}},
		{"question by meta", permission(`{"toolCallId":"c","title":"x","_meta":{"qwenInteractionKind":"user_question"}}`), []effects.Kind{q}},
		{"question by the request's meta",
			`{"sessionId":"s","_meta":{"qwenInteractionKind":"user_question"},"toolCall":{"toolCallId":"c","title":"x"},` + onceOptions + `}`, []effects.Kind{q}},
		{"all of one kind", `{"sessionId":"s","toolCall":{"toolCallId":"c","title":"x"},"options":[{"optionId":"1","name":"A","kind":"reject_once"},{"optionId":"2","name":"B","kind":"reject_once"}]}`, []effects.Kind{q}},
		{"mode by kind", permission(`{"toolCallId":"c","title":"x","kind":"switch_mode"}`), []effects.Kind{m}},
		{"mode by name", permission(`{"toolCallId":"c","name":"exit_plan_mode","rawInput":{"plan":"x"}}`), []effects.Kind{m}},
		{"mode by title", permission(`{"toolCallId":"c","title":"Exit plan mode"}`), []effects.Kind{m}},
		{"once is a mode", `{"sessionId":"s","toolCall":{"toolCallId":"c","title":"x","kind":"execute"},"options":[{"optionId":"1","name":"Enable autopilot","kind":"allow_once"},{"optionId":"2","name":"B","kind":"reject_once"}]}`, []effects.Kind{m}},
		{"wider sandbox", permission(`{"toolCallId":"c","title":"x","kind":"execute","rawInput":{"command":"ls","additionalPermissions":{"network":true}}}`), []effects.Kind{m}},
		{"no wider sandbox", permission(`{"toolCallId":"c","title":"x","kind":"execute","rawInput":{"command":"ls","additionalPermissions":null,"grantRoot":false}}`), nil},
		{"write root", `{"sessionId":"s","_meta":{"codex":{"params":{"grantRoot":"/srv"}}},"toolCall":{"toolCallId":"c","kind":"edit","locations":[{"path":"/a"}]},` + onceOptions + `}`, []effects.Kind{m}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(decisions.Ask)
			_, _ = d.call(t, conn(1), MethodRequestPermission, tt.params)
			var got []effects.Kind
			for _, m := range d.last(t).Call.Marks {
				got = append(got, m.Kind)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHarnessAsks(t *testing.T) {
	for params, want := range map[string]bool{
		permission(`{"toolCallId":"c","name":"Bash","_meta":{"jetbrains":{"air":{"permission":{"defaultToNo":true}}}}}`):  true,
		permission(`{"toolCallId":"c","name":"Bash","_meta":{"jetbrains":{"air":{"permission":{"defaultToNo":false}}}}}`): false,
		permission(`{"toolCallId":"c","name":"Bash"}`):                                                                    false,
	} {
		d := newDaemon(decisions.Ask)
		_, _ = d.call(t, conn(1), MethodRequestPermission, params)
		if got := d.last(t).HarnessAsks != ""; got != want {
			t.Errorf("%s: %v, want %v", params, got, want)
		}
	}
}

// TestUndeclaredSession: a request of an undeclared session is decided without a
// folder, an agent or a session.
func TestUndeclaredSession(t *testing.T) {
	d := newDaemon(decisions.Ask)
	c := conn(1)
	d.declare(t, c, "other", "agent")
	_, _ = d.call(t, c, MethodRequestPermission, permission(`{"toolCallId":"c","name":"Bash","rawInput":{"command":"ls"}}`))
	r := d.last(t)
	if r.Call.Cwd != "" || r.Call.Roots != nil || r.Call.Agent.Name != "" || r.Session.ID != "" {
		t.Errorf("an undeclared session got %+v", r)
	}
	if r.Peer != c.Peer || r.Call.User.UID != c.Peer.UID || r.Call.Protocol != protocol {
		t.Errorf("peer, person or protocol missing: %+v", r)
	}
}

// TestErrorsHideValues sends a canary in all places that an error could repeat.
func TestErrorsHideValues(t *testing.T) {
	const canary = "CANARY-4711"
	for _, params := range []string{
		fmt.Sprintf(`{"sessionId":{"a":%q}}`, canary),
		permission(fmt.Sprintf(`{"toolCallId":"c","RAWINPUT":%q}`, canary)),
		permission(fmt.Sprintf(`{"toolCallId":[%q]}`, canary)),
		fmt.Sprintf(`{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","name":"n","kind":%q}]}`, canary),
	} {
		_, err := newDaemon(decisions.Allow).call(t, conn(1), MethodRequestPermission, params)
		if err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", params, err)
		}
	}
}
