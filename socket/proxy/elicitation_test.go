package proxy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// formLine is the form with which Codex asks about a call of a server's tool.
func formLine(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../acp/testdata/codex-1.6-elicitation-mcp-approval.json")
	if err != nil {
		t.Fatal(err)
	}
	v := strictjson.Value(data)
	if err := v.Compact(); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(v), "thr_1", "s1", 1)
}

const (
	formAsked = `{"sessionId":"s1","toolCall":{"toolCallId":"call_d01"},"_meta":{"is_mcp_tool_approval":true,"tool_params":{"owner":"acme","repo":"shop"},"approval_message":"Allow github to run create_issue?"},"options":` +
		`[{"optionId":"once","name":"Allow","kind":"allow_once"},{"optionId":"decline","name":"Decline","kind":"reject_once"}]}`
	usedTool = `{"outcome":{"outcome":"selected","optionId":"once"},"_meta":{"permd":{"verdict":"allow","effects":[{"kind":"use","text":"use github:create_issue"}]}}}`
	ranShell = `{"outcome":{"outcome":"selected","optionId":"once"},"_meta":{"permd":{"verdict":"allow","effects":[{"kind":"run","text":"run ls"}]}}}`
)

func formAnswer(result string) string { return `{"jsonrpc":"2.0","id":22,"result":` + result + `}` }

// TestForm: a form that asks for permission is decided.
func TestForm(t *testing.T) {
	accepted := formAnswer(`{"action":"accept","content":{"persist":"once"}}`)
	cases := []struct {
		name   string
		schema string // "" for that of the sample
		result string
		err    error
		agent  string // "" where the person is shown the form
	}{
		{name: "allow", result: usedTool, agent: accepted},
		{name: "deny", result: picks("decline"), agent: formAnswer(`{"action":"decline"}`)},
		{name: "the turn is over", result: `{"outcome":{"outcome":"cancelled"}}`, agent: formAnswer(`{"action":"cancel"}`)},
		{name: "ask", err: asks("use")},
		{name: "no permd", err: client.ErrUnreachable},
		{name: "what was allowed is no tool", result: ranShell},
		{name: "what was allowed is not said", result: picks("once")},
		{name: "no such answer", result: picks("yes")},
		{name: "nothing to fill in", schema: `{"type":"object","properties":{}}`, result: usedTool, agent: formAnswer(`{"action":"accept","content":{}}`)},
		{name: "enum", schema: `{"type":"object","title":"x","properties":{"persist":{"type":"string","enum":["once","always"]}},"required":["persist"]}`, result: usedTool, agent: accepted},
		{name: "not required", schema: `{"type":"object","properties":{"persist":{"type":"string","oneOf":[{"const":"once"}]}},"required":[]}`, result: usedTool, agent: accepted},
		{name: "another property", schema: `{"type":"object","properties":{"persist":{"type":"string","enum":["once"]},"token":{"type":"string"}}}`, result: usedTool},
		{name: "another property alone", schema: `{"type":"object","properties":{"mode":{"type":"string","enum":["once"]}}}`, result: usedTool},
		{name: "another thing required", schema: `{"type":"object","properties":{"persist":{"type":"string","enum":["once"]}},"required":["persist","token"]}`, result: usedTool},
		{name: "something required of nothing", schema: `{"type":"object","properties":{},"required":["persist"]}`, result: usedTool},
		{name: "another value", schema: `{"type":"object","properties":{"persist":{"type":"string","enum":["once","project"]}}}`, result: usedTool},
		{name: "no once", schema: `{"type":"object","properties":{"persist":{"type":"string","enum":["session","always"]}}}`, result: usedTool},
		{name: "two lists", schema: `{"type":"object","properties":{"persist":{"type":"string","enum":["once"],"oneOf":[{"const":"always"}]}}}`, result: usedTool},
		{name: "a value that is no text", schema: `{"type":"object","properties":{"persist":{"type":"string","oneOf":[{"const":"once"},{"const":1}]}}}`, result: usedTool},
		{name: "no list", schema: `{"type":"object","properties":{"persist":{"type":"string"}}}`, result: usedTool},
		{name: "a boolean", schema: `{"type":"object","properties":{"persist":{"type":"boolean","enum":["once"]}}}`, result: usedTool},
		{name: "a pattern", schema: `{"type":"object","properties":{"persist":{"type":"string","enum":["once"],"pattern":"x"}}}`, result: usedTool},
		{name: "an unknown word of the schema", schema: `{"type":"object","properties":{},"allOf":[]}`, result: usedTool},
		{name: "no object", schema: `{"type":"array","properties":{}}`, result: usedTool},
		{name: "no properties", schema: `{"type":"object"}`, result: usedTool},
		{name: "no schema", schema: `null`, result: usedTool},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			line := formLine(t)
			if c.schema != "" {
				i := strings.Index(line, `"requestedSchema":`)
				line = line[:i] + `"requestedSchema":` + c.schema + "}}"
			}
			k := newTalk(t, Rules{})
			k.begin("codex-acp")
			k.agent(line)
			a := k.asked("session/request_permission")
			if string(a.Params) != formAsked {
				t.Errorf("permd was asked %s, want %s", a.Params, formAsked)
			}
			k.want(clientSide)
			k.answer(a, c.result, c.err)
			if c.agent == "" {
				k.want(clientSide, line)
				k.want(agentSide)
				return
			}
			k.want(clientSide)
			k.want(agentSide, c.agent)
		})
	}
	t.Run("version 2", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("codex-acp")
		k.core.version = 2
		k.agent(formLine(t))
		a := k.asked("session/request_permission")
		if text(a.Params, "subject", "toolCall", "toolCallId") != "call_d01" || text(a.Params, "title") == "" {
			t.Errorf("permd was asked %s", a.Params)
		}
		k.answer(a, usedTool, nil)
		k.want(agentSide, accepted)
	})
}

// TestOtherForms: other forms go to the person, whatever their sender and text.
func TestOtherForms(t *testing.T) {
	line := formLine(t)
	for name, change := range map[string][2]string{
		"no kind":        {`"codex_approval_kind":"mcp_tool_call",`, ``},
		"another kind":   {`mcp_tool_call`, `tool_suggestion`},
		"another case":   {`codex_approval_kind`, `Codex_approval_kind`},
		"a page to open": {`"mode":"form"`, `"mode":"url","url":"https://example.com","elicitationId":"e"`},
		"no mode":        {`"mode":"form",`, ``},
		"no call":        {`"toolCallId":"call_d01",`, ``},
		"no session":     {`"sessionId":"s1",`, ``},
		"two modes":      {`"mode":"form"`, `"mode":"form","Mode":"url"`},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t, Rules{})
			k.begin("codex-acp")
			line := strings.Replace(line, change[0], change[1], 1)
			k.agent(line)
			k.want(clientSide, line)
			back := formAnswer(`{"action":"accept","content":{"persist":"always"}}`)
			k.client(back)
			k.want(agentSide, back)
			if len(k.open) != 0 {
				t.Errorf("permd was asked %v", k.open)
			}
		})
	}
}

// TestFormPerson follows forms that a person answers.
func TestFormPerson(t *testing.T) {
	const stored = `{"stored":[{"verdict":"allow","label":"use github:create_issue","scope":"session"}]}`
	cases := []struct {
		name, result, agent, received string // agent is "" for result
		stored                        string
		says                          string
	}{
		{name: "once", result: `{"action":"accept","content":{"persist":"once"}}`, received: `{"decisionId":"d1","verdict":"allow"}`},
		{name: "nothing filled in", result: `{"action":"accept"}`, received: `{"decisionId":"d1","verdict":"allow"}`},
		{
			name: "session", result: `{"_meta":{"n":1.50},"action":"accept","content":{"persist":"session"}}`, agent: `{"_meta":{"n":1.50},"action":"accept","content":{"persist":"once"}}`,
			received: `{"decisionId":"d1","verdict":"allow","width":"w1","scope":"session"}`, stored: stored, says: "remembered: allow use github:create_issue (session)",
		},
		{
			name: "always", result: `{"action":"accept","content":{"persist":"always"}}`, agent: `{"action":"accept","content":{"persist":"once"}}`,
			received: `{"decisionId":"d1","verdict":"allow","width":"w1"}`, stored: stored, says: "remembered: ",
		},
		{
			name: "always, of nothing", result: `{"action":"accept","content":{"persist":"always"}}`, agent: `{"action":"accept","content":{"persist":"once"}}`,
			received: `{"decisionId":"d1","verdict":"allow","width":"w1"}`, says: "nothing that could be remembered",
		},
		{name: "decline", result: `{"action":"decline"}`, received: `{"decisionId":"d1","verdict":"deny"}`},
		{name: "cancel", result: `{"action":"cancel"}`, received: `{"decisionId":"d1","verdict":"deny"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, Rules{})
			k.begin("codex-acp")
			k.agent(formLine(t))
			k.answer(k.asked("session/request_permission"), "", asks("use"))
			k.want(clientSide, formLine(t))
			k.client(formAnswer(c.result))
			if c.agent == "" {
				c.agent = c.result
			}
			if no := strings.Contains(c.received, "deny"); no {
				k.want(agentSide, formAnswer(c.agent))
			} else {
				k.want(agentSide)
			}
			a := k.asked("permd/choose")
			if string(a.Params) != c.received {
				t.Errorf("permd received %s, want %s", a.Params, c.received)
			}
			if c.stored == "" {
				c.stored = `{"stored":[]}`
			}
			k.answer(a, c.stored, nil)
			if !strings.Contains(c.received, "deny") {
				k.want(agentSide, formAnswer(c.agent))
			}
			if (c.says == "") != (len(k.says) == 0) || c.says != "" && !strings.Contains(k.says[0], c.says) {
				t.Errorf("said %q, want %q", k.says, c.says)
			}
		})
	}
	t.Run("denied by now", func(t *testing.T) {
		for _, result := range []string{`{"action":"accept","content":{"persist":"always"}}`, `{"action":"_later"}`} {
			k := newTalk(t, Rules{})
			k.begin("codex-acp")
			k.agent(formLine(t))
			k.answer(k.asked("session/request_permission"), "", asks("use"))
			k.client(formAnswer(result))
			if !strings.Contains(result, "_later") {
				k.answer(k.asked("permd/choose"), "", errChanged)
			}
			a := k.asked("session/request_permission")
			if string(a.Params) != formAsked {
				t.Errorf("permd was asked %s", a.Params)
			}
			k.answer(a, `{"outcome":{"outcome":"selected","optionId":"decline"},"_meta":{"permd":{"reason":"frozen"}}}`, nil)
			k.want(agentSide, formAnswer(`{"action":"decline"}`))
			if last := k.says[len(k.says)-1]; !strings.Contains(last, "frozen") {
				t.Errorf("said %q", k.says)
			}
		}
	})
	t.Run("without permd it is the agent that remembers", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("codex-acp")
		k.agent(formLine(t))
		k.answer(k.asked("session/request_permission"), "", client.ErrUnreachable)
		always := formAnswer(`{"action":"accept","content":{"persist":"always"}}`)
		k.client(always)
		k.answer(k.asked("session/request_permission"), "", client.ErrUnreachable)
		k.want(agentSide, always)
	})
	t.Run("the turn is cancelled", func(t *testing.T) {
		for _, shown := range []bool{false, true} {
			k := newTalk(t, Rules{})
			k.begin("codex-acp")
			k.agent(formLine(t))
			cancelled := []string{formAnswer(`{"action":"cancel"}`), cancelTurn}
			if shown {
				k.answer(k.asked("session/request_permission"), "", asks("use"))
				k.client(formAnswer(`{"action":"accept"}`))
			} else {
				cancelled[0], cancelled[1] = cancelled[1], cancelled[0]
			}
			k.client(cancelTurn)
			k.want(agentSide, cancelled...)
		}
	})
	t.Run("an id that is in use", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("codex-acp")
		k.agent(formLine(t))
		k.agent(request("22", "c"))
		if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], fmt.Sprint(-32600)) {
			t.Errorf("the agent got %q", got)
		}
	})
}
