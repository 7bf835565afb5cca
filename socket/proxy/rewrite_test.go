package proxy

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// v2 returns a request of version 2 with these members in addition to the
// options.
func v2(members, options string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1",` + members + `,"options":[` + options + `]}}`
}

// TestVersion2 checks what the person is shown of requests of version 2, and the
// answers that the agent gets.
func TestVersion2(t *testing.T) {
	const (
		always  = `{"optionId":"al","name":"Always","kind":"allow_always"}`
		once    = `{"optionId":"y","name":"Yes","kind":"allow_once","vendor":1.50}`
		no      = `{"optionId":"n","name":"No","kind":"reject_once"}`
		project = `{"optionId":"p","name":"Trust","kind":"_acme_project"}`
		widths  = `{"optionId":"permd-width-w1","name":"Always, exactly this: make install (project)","kind":"allow_always"},{"optionId":"permd-width-w2","name":"Always: make * (user)","kind":"allow_always"}`
		command = `"subject":{"type":"command","command":"make","cwd":"/p","more":[1.0]}`
		call    = `"subject":{"type":"tool_call","toolCall":{"toolCallId":"c","content":[{"type":"terminal","terminalId":"t"}]}}`
	)
	cases := []struct {
		name                string
		request, options    string
		rules               Rules
		shown, shownOptions string // "" for unchanged
		pick, agent, choose string
	}{
		{
			name: "a command", request: `"title":"Run?",` + command, options: always + "," + once + "," + project + "," + no,
			shown: `"title":"Run?",` + command, shownOptions: once + "," + widths + "," + project + "," + no + `],"description":"permd asks: changes something"`,
			pick: "permd-width-w2", agent: "y", choose: `{"decisionId":"d1","verdict":"allow","width":"w2"}`,
		},
		{
			name: "a call, with a description", request: `"title":"Run?","description":"Because \u00e9.",` + call, options: once + "," + no,
			shown: `"title":"Run?","description":"Because é.\n\npermd asks: changes something",` + call, shownOptions: once + "," + no + "]",
			pick: "n", agent: "n", choose: `{"decisionId":"d1","optionId":"n"}`,
		},
		{
			name: "null says nothing", request: `"title":"Run?","description":null,"_meta":null,` + command, options: once + "," + no,
			shown: `"title":"Run?","description":"permd asks: changes something","_meta":null,` + command, shownOptions: once + "," + no + "]",
			pick: "y", agent: "y", choose: `{"decisionId":"d1","optionId":"y"}`,
		},
		{
			name: "without reasons", rules: Rules{NoReasons: true}, request: `"title":"Run?",` + call, options: once + "," + always,
			shown: `"title":"Run?",` + call, shownOptions: once + "," + widths + "]",
			pick: "al", agent: "y", choose: `{"decisionId":"d1","optionId":"al"}`,
		},
		{
			name: "an option of another kind", request: `"title":"Run?",` + command, options: once + "," + project,
			shown: `"title":"Run?",` + command, shownOptions: once + "," + project + `],"description":"permd asks: changes something"`,
			pick: "p", agent: "p", choose: `{"decisionId":"d1","optionId":"p"}`,
		},
		{name: "a subject of another type", request: `"title":"Trust?","subject":{"type":"_acme","root":"/p"}`, options: once + "," + always + "," + no, pick: "al", agent: "al", choose: `{"decisionId":"d1","optionId":"al"}`},
		{name: "no subject", request: `"title":"Go on?","subject":null`, options: once + "," + always + "," + no, pick: "al", agent: "al", choose: `{"decisionId":"d1","optionId":"al"}`},
		{name: "no option for once", request: `"title":"Run?",` + command, options: always + "," + no, pick: "al", agent: "al", choose: `{"decisionId":"d1","optionId":"al"}`},
		{name: "no options", request: `"title":"Run?",` + command, options: ""},
		{name: "a shape of both versions", request: `"title":"Run?","toolCall":{"toolCallId":"c"},` + command, options: once + "," + always},
	}
	answer := func(id string) string { return `{"jsonrpc":"2.0","id":7,"result":` + picks(id) + `}` }
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, c.rules)
			k.begin("x")
			k.core.version = 2
			line := v2(c.request, c.options)
			k.agent(line)
			k.answer(k.asked("session/request_permission"), "", asks("run"))
			want := line
			if c.shown != "" {
				want = strings.Replace(v2(c.shown, "@"), "@]", c.shownOptions, 1)
			}
			k.want(clientSide, want)
			if c.pick == "" {
				return
			}
			k.client(answer(c.pick))
			a := k.asked("permd/choose")
			if string(a.Params) != c.choose {
				t.Errorf("permd received %s, want %s", a.Params, c.choose)
			}
			k.answer(a, `{"stored":[{}]}`, nil)
			k.want(agentSide, answer(c.agent))
		})
	}
	t.Run("in the other version", func(t *testing.T) {
		for version, line := range map[int]string{1: v2(`"title":"Run?",`+command, once+","+always), 2: request("7", "c")} {
			k := newTalk(t, Rules{})
			k.begin("x")
			k.core.version = version
			k.agent(line)
			k.answer(k.asked("session/request_permission"), "", asks("run"))
			k.want(clientSide, line)
		}
	})
	t.Run("declined", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.core.version = 2
		k.agent(v2(`"title":"Run?",`+command, once+","+no))
		k.answer(k.asked("session/request_permission"), "", asks("run"))
		k.sent(clientSide)
		declined := `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`
		k.client(declined)
		k.want(agentSide, declined)
		if a := k.asked("permd/choose"); string(a.Params) != `{"decisionId":"d1","verdict":"deny"}` {
			t.Errorf("permd received %s", a.Params)
		}
	})
	t.Run("denied by permd, which has no option for it", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.core.version = 2
		k.agent(v2(`"title":"Run?",`+command, once))
		k.answer(k.asked("session/request_permission"), `{"outcome":{"outcome":"cancelled"}}`, nil)
		k.want(clientSide)
		k.want(agentSide, `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`)
	})
}

// TestVersion2Late: permd is asked again with an input that came late, as version 2
// sends it.
func TestVersion2Late(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("opencode")
	k.core.version = 2
	k.agent(v2(`"title":"Run?","subject":{"type":"tool_call","toolCall":{"toolCallId":"c","rawInput":{}}}`, `{"optionId":"y","name":"Yes","kind":"allow_once"}`))
	k.answer(k.asked("session/request_permission"), "", asks("unknown"))
	k.want(clientSide)
	k.agent(update("s1", "tool_call_update", "c", `,"rawInput":{"command":"ls"}`))
	a := k.asked("session/request_permission")
	if strictjson.Find(a.Params, "subject", "toolCall", "rawInput") != nil || text(a.Params, "subject", "toolCall", "toolCallId") != "c" {
		t.Errorf("permd was asked %s", a.Params)
	}
}

// TestVersion2Samples checks the results for the samples of version 2: those
// about a call get permd's reason, and the others are unchanged.
func TestVersion2Samples(t *testing.T) {
	got := map[string]string{}
	for _, name := range []string{"spec-v2-command", "spec-v2-no-subject", "spec-v2-unknown-subject", "claude-0.100-v2-bash"} {
		data, err := os.ReadFile("../acp/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		v := strictjson.Value(data)
		if err := v.Compact(); err != nil {
			t.Fatal(err)
		}
		k := newTalk(t, Rules{})
		k.begin("x")
		k.core.version = 2
		k.agent(string(v))
		k.answer(k.asked("session/request_permission"), "", asks("run"))
		sent := k.sent(clientSide)
		if len(sent) != 1 {
			t.Fatalf("%s: the client was sent %q", name, sent)
		}
		got[name] = text(strictjson.Value(sent[0]), "params", "description")
		if got[name] == "" && sent[0] != string(v) {
			t.Errorf("%s was changed: %s", name, sent[0])
		}
		k.client(`{"jsonrpc":"2.0","id":` + string(strictjson.Find(v, "id")) + `,"result":{"outcome":{"outcome":"_later"}}}`)
		k.answer(k.asked("session/request_permission"), "", client.ErrUnreachable)
		if n := len(k.sent(agentSide)); n != 1 {
			t.Errorf("%s: %d answers", name, n)
		}
	}
	want := map[string]string{
		"spec-v2-command":         "permd asks: changes something",
		"spec-v2-no-subject":      "",
		"spec-v2-unknown-subject": "",
		"claude-0.100-v2-bash":    "Reason: command requires approval\n\npermd asks: changes something",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("descriptions (-want +got):\n%s", d)
	}
}
