package proxy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// ran returns the calls that were reported to permd as run, and drops everything
// else that it received.
func (k *talk) ran() (list []string) {
	for _, a := range k.acts {
		if a.Method == "permd/ran" {
			list = append(list, string(a.Params))
		}
	}
	k.acts = nil
	k.open = slices.DeleteFunc(k.open, func(a action) bool { return a.Method == "permd/ran" })
	return list
}

func (k *talk) update(kind, call, rest string) {
	k.agent(update("s1", kind, call, rest))
}

// TestRan: calls that ran without a request are recorded once, after they have
// ended.
func TestRan(t *testing.T) {
	command := `,"kind":"execute","title":"ls","rawInput":{"command":"ls"}`
	prompt := func(k *talk) {
		k.client(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`)
	}
	stop := func(k *talk, result string) {
		k.agent(`{"jsonrpc":"2.0","id":"p",` + result + `}`)
	}
	plain := `{"sessionId":"s1","toolCall":{"toolCallId":"c"}}`
	done := `{"sessionId":"s1","toolCall":{"toolCallId":"c"},"done":true}`
	cases := []struct {
		name string
		do   func(k *talk)
		want []string
	}{
		{"done", func(k *talk) {
			k.update("tool_call", "c", command)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, []string{done}},
		{"failed", func(k *talk) {
			k.update("tool_call", "c", command+`,"status":"in_progress"`)
			k.update("tool_call_update", "c", `,"status":"failed"`)
		}, []string{plain}},
		{"in one message", func(k *talk) {
			k.update("tool_call", "c", command+`,"status":"completed","content":[{"type":"diff","path":"/p/a"}]`)
		}, []string{`{"sessionId":"s1","toolCall":{"toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"},"content":[{"type":"diff","path":"/p/a"}]},"done":true}`}},
		{"what came of it is no part of it", func(k *talk) {
			k.update("tool_call", "c", command)
			k.update("tool_call_update", "c", `,"status":"completed","title":"Listed","name":"Bash","content":[{"type":"content"}],"rawOutput":"secret"`)
		}, []string{`{"sessionId":"s1","toolCall":{"toolCallId":"c","name":"Bash"},"done":true}`}},
		{"an input that comes last", func(k *talk) {
			k.update("tool_call", "c", `,"title":"bash","rawInput":{}`)
			k.update("tool_call_update", "c", `,"status":"completed","rawInput":{"command":"ls"}`)
		}, []string{`{"sessionId":"s1","toolCall":{"toolCallId":"c","rawInput":{"command":"ls"}},"done":true}`}},
		{"announced by nothing", func(k *talk) {
			k.update("tool_call_update", "c", `,"status":"completed","title":"ls"`)
		}, []string{`{"sessionId":"s1","toolCall":{"toolCallId":"c","title":"ls"},"done":true}`}},
		{"said twice", func(k *talk) {
			k.update("tool_call", "c", command+`,"status":"completed"`)
			k.update("tool_call", "c", command+`,"status":"completed"`)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, []string{`{"sessionId":"s1","toolCall":{"toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"}},"done":true}`}},
		{"another call by the same id", func(k *talk) {
			for range 2 {
				k.update("tool_call", "c", command+`,"status":"pending"`)
				k.update("tool_call_update", "c", `,"status":"completed"`)
			}
		}, []string{done, done}},
		{"not over", func(k *talk) {
			k.update("tool_call", "c", command)
			k.update("tool_call_update", "c", `,"status":"in_progress"`)
		}, nil},
		{"running when the turn ends", func(k *talk) {
			prompt(k)
			k.update("tool_call", "c", command+`,"status":"in_progress"`)
			k.update("tool_call", "d", command)
			stop(k, `"result":{"stopReason":"end_turn"}`)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, []string{plain}},
		{"running when the turn fails", func(k *talk) {
			prompt(k)
			k.update("tool_call", "c", command+`,"status":"in_progress"`)
			stop(k, `"error":{"code":1,"message":""}`)
		}, []string{plain}},
		{"running in a session that was started by it", func(k *talk) {
			prompt(k)
			k.agent(update("child", "tool_call", "c", command+`,"status":"in_progress"`))
			stop(k, `"result":{}`)
		}, []string{`{"sessionId":"child","toolCall":{"toolCallId":"c"}}`}},
		{"asked for, and running when the turn ends", func(k *talk) {
			prompt(k)
			k.update("tool_call", "c", command+`,"status":"in_progress"`)
			k.agent(request("1", "c"))
			stop(k, `"result":{}`)
		}, nil},
		{"asked for late", func(k *talk) {
			k.update("tool_call", "c", command+`,"status":"in_progress"`)
			k.agent(request("1", "c"))
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, nil},
		{"asked for first", func(k *talk) {
			k.agent(request("1", "c"))
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, nil},
		{"asked for as a command", func(k *talk) {
			k.agent(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s1","title":"x","subject":{"type":"command","command":"ls","toolCallId":"c"},` + options + `}}`)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, nil},
		{"asked for by a form", func(k *talk) {
			k.agent(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"sessionId":"s1","toolCallId":"c","mode":"form","message":"x","requestedSchema":{},"_meta":{"codex_approval_kind":"mcp_tool_call"}}}`)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, nil},
		{"another was asked for", func(k *talk) {
			k.agent(request("1", "d"))
			k.update("tool_call", "c", command)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, []string{done}},
		{"called off before it began", func(k *talk) {
			k.update("tool_call", "c", command)
			k.update("tool_call_update", "c", `,"status":"cancelled"`)
		}, nil},
		{"called off while it ran", func(k *talk) {
			k.update("tool_call", "c", command+`,"status":"in_progress"`)
			k.update("tool_call_update", "c", `,"status":"cancelled"`)
		}, []string{plain}},
		{"history", func(k *talk) {
			k.client(`{"jsonrpc":"2.0","id":"l","method":"session/load","params":{"sessionId":"s1","cwd":"/p"}}`)
			k.update("tool_call", "old", command)
			k.update("tool_call_update", "old", `,"status":"completed"`)
			k.update("tool_call", "older", command)
			k.agent(`{"jsonrpc":"2.0","id":"l","result":{}}`)
			k.update("tool_call", "late", command+`,"status":"completed"`) // still history
			prompt(k)
			k.update("tool_call_update", "older", `,"status":"completed"`)
			k.update("tool_call_update", "late", `,"status":"completed"`)
			k.update("tool_call", "c", command)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, []string{done}},
		{"an agent whose requests name no calls", func(k *talk) {
			k.core.parties[agentSide].Name = "OpenHands CLI ACP Agent"
			k.update("tool_call", "c", command+`,"status":"completed"`)
		}, nil},
		{"denied by permd, and done", func(k *talk) {
			k.update("tool_call", "c", command)
			k.agent(request("1", "c"))
			k.answer(k.asked("session/request_permission"), picks("no"), nil)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, []string{`{"sessionId":"s1","toolCall":{"toolCallId":"c"},"done":true,"denied":true}`}},
		{"denied by permd, and failed", func(k *talk) {
			k.agent(request("1", "c"))
			k.answer(k.asked("session/request_permission"), picks("no"), nil)
			k.update("tool_call_update", "c", `,"status":"failed"`)
		}, nil},
		{"denied by the person, and done", func(k *talk) {
			k.agent(request("1", "c"))
			k.answer(k.asked("session/request_permission"), "", asks("run"))
			k.client(`{"jsonrpc":"2.0","id":1,"result":` + picks("no") + `}`)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, []string{`{"sessionId":"s1","toolCall":{"toolCallId":"c"},"done":true,"denied":true}`}},
		{"denied by the person, allowed when asked again", func(k *talk) {
			k.agent(request("1", "c"))
			k.answer(k.asked("session/request_permission"), "", asks("run"))
			k.client(`{"jsonrpc":"2.0","id":1,"result":` + picks("no") + `}`)
			k.agent(request("2", "c"))
			k.answer(k.asked("session/request_permission"), picks("yes"), nil)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, nil},
		{"a question, answered with no", func(k *talk) {
			k.agent(request("1", "c"))
			k.answer(k.asked("session/request_permission"), "", asks("question"))
			k.client(`{"jsonrpc":"2.0","id":1,"result":` + picks("no") + `}`)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, nil},
		{"allowed by permd", func(k *talk) {
			k.agent(request("1", "c"))
			k.answer(k.asked("session/request_permission"), picks("yes"), nil)
			k.update("tool_call_update", "c", `,"status":"completed"`)
		}, nil},
		{"a message that was lost", func(k *talk) {
			k.agent(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s1","sessionId":"s1"}}`)
			k.update("tool_call_update", "c", `,"status":"completed"`) // perhaps that one
			k.update("tool_call", "d", command+`,"status":"completed"`)
		}, []string{`{"sessionId":"s1","toolCall":{"toolCallId":"d","title":"ls","kind":"execute","rawInput":{"command":"ls"}},"done":true}`}},
		{"larger than permd reads", func(k *talk) {
			k.update("tool_call", "c", `,"status":"completed","rawInput":"`+strings.Repeat("x", maxNotification)+`"`)
		}, []string{done}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, Rules{})
			k.begin("x")
			k.acts = nil
			c.do(k)
			if d := cmp.Diff(c.want, k.ran()); d != "" {
				t.Error(d)
			}
			if len(k.says) > 1 || len(k.says) == 1 && c.name != "a message that was lost" {
				t.Errorf("said %q", k.says)
			}
		})
	}
}

// TestRanOrder: permd gets all updates about a call before it learns that the call
// has ended.
func TestRanOrder(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.update("tool_call", "c", "")
	k.acts = nil
	k.update("tool_call_update", "c", `,"status":"completed"`)
	if len(k.acts) != 2 || k.acts[0].Method != "permd/ran" || k.acts[0].Wait || k.acts[1].Method != "session/update" {
		t.Errorf("permd received %v", k.acts)
	}
}

// TestRanLoud: once in each session, the person is notified of a denied call that
// ran.
func TestRanLoud(t *testing.T) {
	result := func(verdict, outcome string) string {
		return `{"decision":{"decisionId":"d","verdict":"` + verdict + `","reason":"r","outcome":"` + outcome + `","effects":[` +
			`{"kind":"run","text":"run ls","verdict":"allow"},{"kind":"run","text":"run rm","verdict":"deny"}]}}`
	}
	k := newTalk(t, Rules{})
	k.begin("x")
	do := func(call, result string, err error) {
		k.update("tool_call", call, `,"status":"completed"`)
		k.answer(k.asked("permd/ran"), result, err)
	}
	for i, r := range []string{result("ask", "unasked"), result("allow", "unasked"), `{}`} {
		do(fmt.Sprint(i), r, nil)
	}
	if len(k.says) != 0 {
		t.Errorf("said %q", k.says)
	}
	do("a", result("deny", "unasked"), nil)
	if len(k.says) != 1 || !strings.Contains(k.says[0], "run rm") || !strings.Contains(k.says[0], "permd log list --unasked") {
		t.Errorf("said %q", k.says)
	}
	do("b", result("deny", "unasked"), nil)
	if len(k.says) != 1 {
		t.Errorf("said %q", k.says)
	}
	do("c", result("ask", "despite"), nil)
	do("c2", result("ask", "despite"), nil)
	if len(k.says) != 2 {
		t.Errorf("said %q", k.says)
	}
	k.agent(update("s2", "tool_call", "a", `,"status":"completed"`))
	k.answer(k.asked("permd/ran"), result("ask", "despite"), nil)
	if len(k.says) != 3 || !strings.Contains(k.says[2], "denied") {
		t.Errorf("said %q", k.says)
	}
	// What could not be recorded is reported when permd is running again.
	k.says = nil
	do("d", "", client.ErrUnreachable)
	do("e", "", &client.Error{Code: socket.CodeBusy})
	k.do(k.core.onConnected(true))
	k.do(k.core.onConnected(true))
	if len(k.says) != 1 || !strings.HasSuffix(k.says[0], ": 2") {
		t.Errorf("said %q", k.says)
	}
}

// TestRunsBounds: the number of tracked calls is bounded, and nothing is recorded
// about those that were dropped.
func TestRunsBounds(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.agent(request("1", "asked"))
	for i := range maxRuns {
		k.update("tool_call", fmt.Sprint(i), "")
		k.acts = nil
	}
	if n := len(k.core.runs.byCall); n != maxRuns || k.core.runs.order.Len() != maxRuns {
		t.Errorf("%d calls are followed", n)
	}
	k.update("tool_call_update", "asked", `,"status":"completed"`)
	if got := k.ran(); got != nil {
		t.Errorf("recorded %v", got)
	}
	k.update("tool_call", "new", `,"status":"completed"`)
	if got := k.ran(); len(got) != 1 {
		t.Errorf("recorded %v", got)
	}
	k.update("tool_call", strings.Repeat("x", maxCallID+1), `,"status":"completed"`)
	if got := k.ran(); got != nil {
		t.Errorf("recorded %d", len(got))
	}
	k.client(`{"jsonrpc":"2.0","id":"x","method":"session/close","params":{"sessionId":"s1"}}`)
	k.agent(`{"jsonrpc":"2.0","id":"x","result":{}}`)
	if n := len(k.core.runs.byCall); n != 0 {
		t.Errorf("%d calls of a closed session are followed", n)
	}
}
