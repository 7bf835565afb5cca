package proxy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

func TestMain(m *testing.M) {
	testload.CollectRarely()
	goleak.VerifyTestMain(m)
}

// talk is a conversation in which the test sends every line and plays permd.
type talk struct {
	t     *testing.T
	core  *core
	chain *conductor // nil for the plain form
	out   [2][]*item
	slots map[uint64]*item
	acts  []action // what permd received: questions, notifications, withdrawals
	open  []action // questions without an answer
	says  []string
	wakes []action
}

func newTalk(t *testing.T, rules Rules) *talk {
	k := &talk{t: t, core: newCore(rules), slots: map[uint64]*item{}}
	if form, ok := strings.CutPrefix(t.Name(), "TestChain/"); ok { // it runs the tests of the plain form
		form, _, _ = strings.Cut(form, "/")
		k.chain = newConductor(form + "/")
	}
	return k
}

func (k *talk) do(acts []action) {
	for _, a := range acts {
		switch a.Kind {
		case actWrite:
			k.out[a.To] = append(k.out[a.To], &item{line: a.Line})
		case actReserve:
			i := &item{open: true}
			k.out[a.To], k.slots[a.Place] = append(k.out[a.To], i), i
		case actFill:
			i := k.slots[a.Place]
			if i == nil || !i.open {
				k.t.Fatalf("place %d is filled twice", a.Place)
			}
			i.line, i.open = a.Line, false
		case actAsk:
			k.acts, k.open = append(k.acts, a), append(k.open, a)
		case actNotify, actWithdraw:
			k.acts = append(k.acts, a)
		case actPrint:
			k.says = append(k.says, a.Text)
		case actWake:
			k.wakes = append(k.wakes, a)
		}
	}
}

func (k *talk) client(line string) { k.line(clientSide, line) }
func (k *talk) agent(line string)  { k.line(agentSide, line) }

func (k *talk) line(from peerSide, line string) {
	if k.chain != nil {
		k.do(k.core.onConducted([]byte(k.chain.says(from, line) + "\n")))
		return
	}
	k.do(k.core.onLine(from, []byte(line+"\n")))
}

// sent returns what a peer was sent since the last call.
func (k *talk) sent(to peerSide) []string {
	var list []string
	for len(k.out[to]) > 0 && !k.out[to][0].open {
		if line := k.out[to][0].line; line != nil {
			said := strings.TrimSuffix(string(line), "\n")
			if k.chain != nil {
				whom, bare, err := k.chain.hears(said)
				if err != nil || whom != to {
					k.t.Errorf("for the %s the conductor was sent %s, %v", to, said, err)
				}
				said = bare
			}
			list = append(list, said)
		}
		k.out[to] = k.out[to][1:]
	}
	return list
}

func (k *talk) want(to peerSide, want ...string) {
	k.t.Helper()
	if k.chain != nil {
		for i := range want {
			want[i] = usual(want[i])
		}
	}
	if d := cmp.Diff(want, k.sent(to)); d != "" {
		k.t.Errorf("the %s was sent (-want +got):\n%s", to, d)
	}
}

// asked returns the oldest open question of a method.
func (k *talk) asked(method string) action {
	k.t.Helper()
	for i, a := range k.open {
		if a.Method == method {
			k.open = append(k.open[:i:i], k.open[i+1:]...)
			return a
		}
	}
	k.t.Fatalf("permd was not asked %s, but %v", method, k.open)
	return action{}
}

func (k *talk) answer(a action, result string, err error) {
	var v strictjson.Value
	if err == nil {
		v = strictjson.Value(result)
	}
	k.do(k.core.onAnswer(a.N, v, err))
}

func picks(option string) string {
	return `{"outcome":{"outcome":"selected","optionId":"` + option + `"}}`
}

const decisionAsk = `{"decisionId":"d1","callId":"c","verdict":"ask","needed":"rule","reason":"changes something","decidedBy":"policy","policy":{"digest":"x"},` +
	`"effects":[{"kind":"%s","text":"t","from":"f","verdict":"ask","reason":"r","row":10,"rules":[]}],` +
	`"widths":[{"id":"w1","label":"exactly this","rule":"make install","scope":"project"},{"id":"w2","label":"make *","rule":"make *","scope":"user"}]}`

// asks returns the error with which permd leaves a call to the person.
func asks(kind string) error {
	return &client.Error{Code: socket.CodeAsk, Message: "ask", Data: strictjson.Value(fmt.Sprintf(decisionAsk, kind))}
}

// begin opens a session s1 in /p.
func (k *talk) begin(agent string) {
	k.client(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"ed","version":"1"}}}`)
	k.agent(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"` + agent + `","version":"2"}}}`)
	k.client(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/p","mcpServers":[]}}`)
	k.agent(`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1","modes":{"currentModeId":"ask"}}}`)
	a := k.asked("permd/session")
	want := `{"sessionId":"s1","cwd":"/p","agent":{"name":"` + agent + `","version":"2"},"client":{"name":"ed","version":"1"},"protocolVersion":1}`
	if string(a.Params) != want {
		k.t.Errorf("declared as %s, want %s", a.Params, want)
	}
	k.answer(a, `{}`, nil)
	a = k.asked("permd/session") // now with its mode
	if text(a.Params, "mode") != "ask" {
		k.t.Errorf("the mode is not declared: %s", a.Params)
	}
	k.answer(a, `{}`, nil)
	k.sent(clientSide)
	k.sent(agentSide)
	k.acts = nil
}

const options = `"options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"},{"optionId":"never","name":"Never","kind":"reject_always"}]`

func request(id, call string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"` + call + `"},` + options + `}}`
}

func update(session, kind, call, rest string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":{"sessionUpdate":"` + kind + `","toolCallId":"` + call + `"` + rest + `}}}`
}

// TestForwards: messages that do not concern the proxy are passed on byte for byte,
// in order.
func TestForwards(t *testing.T) {
	odd := []string{
		`{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"n":12345678901234567890.10,"K":1,"k":2,"_meta":{"a":"\u00e9\/"}},"more":[1 , 2]}`,
		`{ "method" : "_vendor/thing" , "jsonrpc" : "2.0" }`,
		`{"jsonrpc":"2.0","id":"a","result":null}`,
		`{"jsonrpc":"2.0","id":1.0,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":null,"method":"session/prompt","params":[]}`,
		"\t", ``, `Starting the agent …`, `→ ready`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk"}}}` + "\r",
	}
	k := newTalk(t, Rules{})
	for _, line := range odd {
		k.agent(line)
		k.client(line)
	}
	k.want(clientSide, odd...)
	k.want(agentSide, odd...)
	if len(k.acts) != 0 {
		t.Errorf("permd received %v", k.acts)
	}
}

// TestSamples sends every sample of a message through the proxy, without a permd.
func TestSamples(t *testing.T) {
	names, err := filepath.Glob("../acp/testdata/*.json")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d samples, %v", len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "index.json" {
			continue
		}
		v := strictjson.Value(data)
		if err := v.Compact(); err != nil {
			t.Fatal(err)
		}
		k := newTalk(t, Rules{})
		k.agent(string(v))
		for len(k.open) > 0 {
			a := k.open[0]
			k.open = k.open[1:]
			k.answer(a, "", client.ErrUnreachable)
		}
		k.want(clientSide, string(v))
		// The person's answer goes back unchanged.
		id := strictjson.Find(v, "id")
		back := `{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + picks("anything") + `}`
		k.client(back)
		for len(k.open) > 0 { // it may be an approval: the proxy tries to connect to permd again
			k.answer(k.asked("session/request_permission"), "", client.ErrUnreachable)
		}
		k.want(agentSide, back)
	}
}

func TestPermission(t *testing.T) {
	const after = `{"jsonrpc":"2.0","method":"_after"}`
	cases := []struct {
		name     string
		result   string
		err      error
		toClient []string
		toAgent  []string
	}{
		{name: "allow", result: picks("yes"), toClient: []string{after}, toAgent: []string{`{"jsonrpc":"2.0","id":7,"result":` + picks("yes") + `}`}},
		{name: "deny", result: picks("no"), toClient: []string{after}, toAgent: []string{`{"jsonrpc":"2.0","id":7,"result":` + picks("no") + `}`}},
		{name: "cancelled", result: `{"outcome":{"outcome":"cancelled"}}`, toClient: []string{after}, toAgent: []string{`{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`}},
		{name: "an option that there is not", result: picks("other"), toClient: []string{request("7", "c"), after}},
		{name: "no outcome", result: `{}`, toClient: []string{request("7", "c"), after}},
		{name: "no permd", err: client.ErrUnreachable, toClient: []string{request("7", "c"), after}},
		{name: "another error", err: &client.Error{Code: -32602, Message: "x"}, toClient: []string{request("7", "c"), after}},
		{name: "a question", err: asks("question"), toClient: []string{request("7", "c"), after}},
		{name: "a switch of mode", err: asks("mode"), toClient: []string{request("7", "c"), after}},
		{name: "no option for once", err: &client.Error{Code: socket.CodeAsk, Data: strictjson.Value(`{"decisionId":"d","verdict":"ask","defects":[{"code":"` + effects.DefectOption + `","at":"options","text":"x"}],"effects":[]}`)}, toClient: []string{request("7", "c"), after}},
		{name: "a decision that cannot be read", err: &client.Error{Code: socket.CodeAsk, Data: strictjson.Value(`{"decisionId":1}`)}, toClient: []string{request("7", "c"), after}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, Rules{})
			k.begin("x")
			k.agent(request("7", "c"))
			k.agent(after)
			k.want(clientSide) // it waits for permd, and so do later messages
			k.answer(k.asked("session/request_permission"), c.result, c.err)
			k.want(clientSide, c.toClient...)
			k.want(agentSide, c.toAgent...)
		})
	}
}

// TestPerson has requests that a person answers.
func TestPerson(t *testing.T) {
	const shown = `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c"%s},"options":[` +
		`{"optionId":"yes","name":"Yes","kind":"allow_once"},` +
		`{"optionId":"permd-width-w1","name":"Always, exactly this: make install (project)","kind":"allow_always"},{"optionId":"permd-width-w2","name":"Always: make * (user)","kind":"allow_always"},` +
		`{"optionId":"no","name":"No","kind":"reject_once"},{"optionId":"never","name":"Never","kind":"reject_always"}]}}`
	const why = `{"type":"content","content":{"type":"text","text":"permd asks: changes something"}}`
	answer := func(option string) string { return `{"jsonrpc":"2.0","id":7,"result":` + picks(option) + `}` }
	cases := []struct {
		name   string
		before string // an update
		rules  Rules
		shown  string
		pick   string
		agent  string
		choose string
		stored string
		says   int
	}{
		{name: "once", shown: fmt.Sprintf(shown, `,"content":[`+why+`]`), pick: answer("yes"), agent: answer("yes"), choose: `{"decisionId":"d1","optionId":"yes"}`, stored: `[]`},
		{name: "without reasons", rules: Rules{NoReasons: true}, shown: fmt.Sprintf(shown, ``), pick: answer("no"), agent: answer("no"), choose: `{"decisionId":"d1","optionId":"no"}`, stored: `[]`},
		{name: "a width", shown: fmt.Sprintf(shown, `,"content":[`+why+`]`), pick: answer("permd-width-w2"), agent: answer("yes"), choose: `{"decisionId":"d1","verdict":"allow","width":"w2"}`, stored: `[{}]`},
		{name: "a width that is not stored", shown: fmt.Sprintf(shown, `,"content":[`+why+`]`), pick: answer("permd-width-w2"), agent: answer("yes"), choose: `{"decisionId":"d1","verdict":"allow","width":"w2"}`, stored: `[]`, says: 1},
		{name: "an option that was not shown", shown: fmt.Sprintf(shown, `,"content":[`+why+`]`), pick: answer("always"), agent: answer("yes"), choose: `{"decisionId":"d1","optionId":"always"}`, stored: `[{}]`},
		{name: "never", shown: fmt.Sprintf(shown, `,"content":[`+why+`]`), pick: answer("never"), agent: answer("no"), choose: `{"decisionId":"d1","optionId":"never"}`, stored: `[{}]`},
		{
			name: "what the call shows stays", before: update("s1", "tool_call", "c", `,"title":"x","content":[{"type":"diff","path":"/p/a","newText":"é"}]`),
			shown: fmt.Sprintf(shown, `,"content":[{"type":"diff","path":"/p/a","newText":"é"},`+why+`]`), pick: answer("yes"), agent: answer("yes"), choose: `{"decisionId":"d1","optionId":"yes"}`, stored: `[]`,
		},
		{
			name: "the rest of the answer stays", shown: fmt.Sprintf(shown, `,"content":[`+why+`]`),
			pick:   `{"id":7,"jsonrpc":"2.0","result":{"_meta":{"n":1.50},"outcome":{"outcome":"selected","optionId":"permd-width-w1","_meta":null}}}`,
			agent:  `{"id":7,"jsonrpc":"2.0","result":{"_meta":{"n":1.50},"outcome":{"outcome":"selected","optionId":"yes","_meta":null}}}`,
			choose: `{"decisionId":"d1","verdict":"allow","width":"w1"}`, stored: `[{}]`,
		},
		{
			name: "dismissed", shown: fmt.Sprintf(shown, `,"content":[`+why+`]`), pick: `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`,
			agent: `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`, choose: `{"decisionId":"d1","verdict":"deny"}`, stored: `[]`,
		},
		{name: "an error", shown: fmt.Sprintf(shown, `,"content":[`+why+`]`), pick: `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"x"}}`, agent: `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"x"}}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, c.rules)
			k.begin("x")
			if c.before != "" {
				k.agent(c.before)
				k.sent(clientSide)
			}
			k.agent(request("7", "c"))
			k.answer(k.asked("session/request_permission"), "", asks("run"))
			k.want(clientSide, c.shown)
			k.acts = nil
			k.client(c.pick)
			no := strings.Contains(c.agent, `"no"`) || strings.Contains(c.agent, `"cancelled"`) || c.choose == ""
			if no {
				k.want(agentSide, c.agent) // at once: nobody waits for permd
			} else {
				k.want(agentSide) // before permd has received it
			}
			if c.choose == "" {
				if len(k.acts) != 1 || k.acts[0].Kind != actWithdraw {
					t.Errorf("permd received %v, want that the question is withdrawn", k.acts)
				}
				return
			}
			a := k.asked("permd/choose")
			if string(a.Params) != c.choose || !a.Wait {
				t.Errorf("permd/choose %s (wait %v), want %s", a.Params, a.Wait, c.choose)
			}
			k.answer(a, `{"stored":`+c.stored+`}`, nil)
			if !no {
				k.want(agentSide, c.agent)
			}
			if len(k.says) != c.says {
				t.Errorf("said %q, want %d texts", k.says, c.says)
			}
		})
	}
}

// TestNotified checks which updates permd is sent.
func TestNotified(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	u := update("s1", "tool_call", "c", `,"title":"t","rawInput":{"command":"ls"}`)
	k.agent(u)
	k.agent(update("s1", "agent_thought_chunk", "c", ``))
	k.agent(update("s1", "something_new", "c", ``))
	k.agent(update("s1", "tool_call_update", "c", `,"rawInput":"`+strings.Repeat("x", maxNotification)+`"`))
	var told []string
	for _, a := range k.acts {
		told = append(told, a.Method+" "+string(a.Params))
	}
	want := []string{
		"session/update " + string(strictjson.Find(strictjson.Value(u), "params")),
		`session/update {"sessionId":"s1","update":{"sessionUpdate":"something_new","toolCallId":"c"}}`,
		`session/update {"sessionId":"s1","update":{}}`, // too long: what permd knows of the call no longer counts
	}
	if d := cmp.Diff(want, told); d != "" {
		t.Errorf("permd received (-want +got):\n%s", d)
	}
	if n := len(k.sent(clientSide)); n != 4 {
		t.Errorf("the client was sent %d updates", n)
	}
}
