package mcp

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/testload"

	"github.com/permd/permd/internal/eventually"
)

// round lets the client call a tool, and the server answer with questions. It returns what the
// client gets.
func (w *world) round(t *testing.T, id, method, params, capabilities, result string) (line string) {
	t.Helper()
	w.send(t, stateless(id, method, params, capabilities))
	w.wantServer(t, `"id":`+id+`,`)
	w.serve(t, `{"jsonrpc":"2.0","id":`+id+`,"result":`+result+"}\n")
	w.wantClient(t, `"id":`+id+`,`)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.client {
		if strings.Contains(line, `"id":`+id+`,`) {
			return line
		}
	}
	return ""
}

// TestServerAsks: the questions of a server say who asks, and their answers reach the server with
// its own requestState, for the call that they are about, once.
func TestServerAsks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ method, params, others string }{
		{methodCallTool, `"name":"yes","arguments":{"a":1}`, `"name":"yes","arguments":{"a":2}`},
		{methodReadResource, `"uri":"a:b"`, `"uri":"a:c"`},
		{methodGetPrompt, `"name":"p","arguments":{"a":"b"}`, `"name":"p2","arguments":{"a":"b"}`},
	} {
		t.Run(tt.method, func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, t.TempDir(), func(c *Config) { c.Server = "yes" })
			if tt.method == methodReadResource {
				w = newWorldReading(t)
			}
			const all = withForms + `,"roots":{},"sampling":{}`
			line := w.round(t, "1", tt.method, tt.params, all, `{"resultType":"input_required","x":1,"_meta":{"a":1},"requestState":"server \u00e9","inputRequests":{`+
				`"permd":{"method":"elicitation/create","params":{"message":"permd asks: x\npermd asks: y","requestedSchema":{}}},`+
				`"r":{"method":"roots/list","id":1},"s":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}}`)
			state := formID.FindStringSubmatch(line)
			if state == nil {
				t.Fatalf("the client receives %s", line)
			}
			const requests = `"inputRequests":{"permd":{"method":"elicitation/create","params":{"message":"The server yes asks: permd asks: x\n| permd asks: y","requestedSchema":{}}},` +
				`"r":{"method":"roots/list"},"s":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}`
			if want := `"result":{"resultType":"input_required",` + requests + `,"requestState":"` + state[1] + `","_meta":{"a":1}}}`; !strings.HasSuffix(line, want+"\n") {
				t.Errorf("the client receives %s, want %s", line, want)
			}

			// The server's own state, and that of nobody.
			for i, s := range []string{"server é", "permd-", "x"} {
				id := fmt.Sprint(10 + i)
				w.send(t, stateless(id, tt.method, tt.params+`,"requestState":"`+s+`"`, all))
				if m := w.answerTo(t, id); m.Error.Code != codeParams {
					t.Errorf("requestState %q: %+v", s, m)
				}
			}
			const answers = `"inputResponses":{"x":{"a":1},"permd":{"action":"accept","content":{"answer":"once"}},"r":{"roots":[]},"s":1}`
			w.send(t, stateless("2", tt.method, tt.params+`,`+answers+`,"requestState":"`+state[1]+`"`, withForms))
			w.wantServer(t, `{"jsonrpc":"2.0","id":2,"method":"`+tt.method+`","params":{`+tt.params+`,"inputResponses":{"permd":{"action":"accept","content":{"answer":"once"}},"r":{"roots":[]}},"requestState":"server é","_meta":{`)
			w.send(t, stateless("3", tt.method, tt.params+`,`+answers+`,"requestState":"`+state[1]+`"`, withForms))
			if m := w.answerTo(t, "3"); m.Error.Code != codeParams {
				t.Errorf("the same answers again: %+v", m)
			}

			// A server that has no questions, only a state; and other arguments.
			line = w.round(t, "4", tt.method, tt.params, "", `{"resultType":"input_required","requestState":""}`)
			state = formID.FindStringSubmatch(line)
			if state == nil || strings.Contains(line, "inputRequests") {
				t.Fatalf("the client receives %s", line)
			}
			w.send(t, stateless("5", tt.method, tt.others+`,"requestState":"`+state[1]+`"`, ""))
			if m := w.answerTo(t, "5"); m.Error.Code != codeParams || has(w, &w.server, `"id":5,`) {
				t.Errorf("other arguments: %+v", m)
			}
			w.send(t, stateless("6", tt.method, tt.params+`,"requestState":"`+state[1]+`"`, ""))
			if m := w.answerTo(t, "6"); m.Error.Code != codeParams {
				t.Errorf("after other arguments: %+v", m)
			}
			// Questions without a state.
			line = w.round(t, "7", tt.method, tt.params, all, `{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}`)
			state = formID.FindStringSubmatch(line)
			if state == nil {
				t.Fatalf("the client receives %s", line)
			}
			w.send(t, stateless("8", tt.method, tt.params+`,"inputResponses":{"r":{"roots":[]}},"requestState":"`+state[1]+`"`, all))
			w.wantServer(t, `{"jsonrpc":"2.0","id":8,"method":"`+tt.method+`","params":{`+tt.params+`,"inputResponses":{"r":{"roots":[]}},"_meta":{`)
		})
	}
}

// newWorldReading is a world in which resources may be read.
func newWorldReading(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, t.TempDir(), func(c *Config) {
		c.Server, c.Dial = "yes", fakePermdAs(t, func(string, bool) string { return "allow" })
	})
}

// TestServerAsksTooMuch: what a client has not said that it is capable of, and what is no question,
// does not reach it.
func TestServerAsksTooMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const form = `{"method":"elicitation/create","params":{"message":"x","requestedSchema":{}}}`
	const url = `{"method":"elicitation/create","params":{"mode":"url","url":"https://x.example","message":"x"}}`
	ask := func(question string) string {
		return `{"resultType":"input_required","inputRequests":{"a":` + question + `}}`
	}
	sample := func(more string) string {
		return ask(`{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1` + more + `}}`)
	}
	for i, tt := range []struct {
		capabilities, result string
		passes               bool
	}{
		{withForms, ask(form), true},
		{``, ask(form), false},
		{`"elicitation":{"url":{}}`, ask(form), false},
		{withForms, ask(url), false},
		{`"elicitation":{"url":{}}`, ask(url), true},
		{withForms, ask(`{"method":"elicitation/create","params":{"mode":1,"message":"x"}}`), false},
		{withForms, ask(`{"method":"elicitation/create","params":{"Mode":"url","message":"x"}}`), false},
		{withForms, ask(`{"method":"elicitation/create","params":{}}`), false},
		{withForms, ask(`{"method":"elicitation/create"}`), false},
		{withForms, ask(`{"Method":"elicitation/create","method":"roots/list"}`), false},
		{withForms, ask(`{"method":"tools/call","params":{"name":"x"}}`), false},
		{withForms, ask(`[]`), false},
		{withForms, `{"resultType":"input_required","inputRequests":[` + form + `]}`, false},
		{withForms, `{"resultType":"input_required"}`, false},
		{withForms, `{"resultType":"input_required","requestState":1}`, false},
		{withForms, `{"resultType":"input_required","requestState":"` + strings.Repeat("x", maxServerState) + `"}`, false},
		{withForms, `{"resultType":"input_required","requestState":"x","InputRequests":{}}`, false},
		{withForms, `{"resultType":"input_required","inputRequests":{` + strings.TrimSuffix(strings.Repeat(`"%d":`+form+`,`, maxQuestions+1), ",") + `}}`, false},
		{``, ask(`{"method":"roots/list"}`), false},
		{`"roots":{}`, ask(`{"method":"roots/list","params":{}}`), true},
		{`"roots":{}`, ask(`{"method":"roots/list","params":1}`), false},
		{``, sample(``), false},
		{`"sampling":{}`, sample(``), true},
		{`"sampling":{}`, sample(`,"includeContext":"none"`), true},
		{`"sampling":{}`, sample(`,"includeContext":"thisServer"`), false},
		{`"sampling":{"context":{}}`, sample(`,"includeContext":"thisServer"`), true},
		{`"sampling":{}`, sample(`,"tools":[]`), false},
		{`"sampling":{}`, sample(`,"Tools":[]`), false},
		{`"sampling":{"tools":{}}`, sample(`,"tools":[],"toolChoice":{}`), true},
		{withForms, `{"resultType":"complete","content":[],"inputRequests":{"a":` + form + `}}`, false},
		{withForms, `{"content":[],"inputRequests":{"a":` + form + `}}`, false},
		{withForms, `{"resultType":"Input_required","inputRequests":{"a":` + form + `}}`, false},
		{withForms, `{"resultType":"task","taskId":"1"}`, false},
		{withForms, `{"resultType":"complete","content":[]}`, true},
		{withForms, `{"content":[]}`, true},
	} {
		n := 0
		result := tt.result
		for strings.Contains(result, "%d") {
			n++
			result = strings.Replace(result, "%d", fmt.Sprint(n), 1)
		}
		id := fmt.Sprint(i)
		line := w.round(t, id, methodCallTool, `"name":"yes"`, tt.capabilities, result)
		if strings.Contains(line, `"id":`+id+`,"result"`) != tt.passes {
			t.Errorf("a client with %s receives %.500s", tt.capabilities, line)
		}
		if !tt.passes && strings.Contains(tt.result, "input_required") && !strings.Contains(line, mayHaveRun) {
			t.Errorf("the client is not told that the call may have run: %s", line)
		}
	}
	// Lists have no questions.
	for i, method := range []string{methodListTools, "prompts/list", methodDiscover, "completion/complete", methodListen} {
		id := fmt.Sprint(100 + i)
		if line := w.round(t, id, method, "", withForms, ask(form)); !strings.Contains(line, `"id":`+id+`,"error"`) {
			t.Errorf("%s: the client receives %s", method, line)
		}
	}
	w.send(t, `{"jsonrpc":"2.0","id":"old","method":"tools/call","params":{"name":"yes"}}`)
	w.wantServer(t, `"old"`)
	w.serve(t, `{"jsonrpc":"2.0","id":"old","result":`+ask(form)+"}\n")
	w.wantClient(t, `"id":"old","error"`)
}

// TestAskedOnce: the person is not asked again when the server asks for more about a call that
// they have allowed, unless something has changed.
func TestAskedOnce(t *testing.T) {
	t.Parallel()
	for _, changes := range []bool{false, true} {
		t.Run(fmt.Sprint(changes), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			const call = `"name":"ask","arguments":{"a":1}`
			answer := func(key, state string) string {
				return call + `,"inputResponses":{"` + key + `":{"action":"accept","content":{"answer":"once"}}},"requestState":"` + state + `"`
			}
			w.send(t, stateless("1", methodCallTool, call, withForms))
			state := w.answerTo(t, "1").Result.RequestState
			const question = `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"x"}}},"requestState":"mine"}`
			for id := 2; id < 6; id++ {
				key := "q"
				if id == 2 {
					key = ownQuestion
				}
				line := w.round(t, fmt.Sprint(id), methodCallTool, answer(key, state), withForms, question)
				state = formID.FindStringSubmatch(line)[1]
			}
			if has(w, &w.client, "permd asks") && strings.Count(strings.Join(w.client, ""), "permd asks") != 1 {
				t.Errorf("the person is asked twice: %s", w.client)
			}
			if !changes {
				w.send(t, stateless("7", methodCallTool, call, withForms))
				if m := w.answerTo(t, "7"); m.Result.ResultType != "input_required" {
					t.Errorf("a new call is not asked about: %+v", m)
				}
				return
			}
			w.mu.Lock()
			w.tools = `[{"name":"ask","description":"other"}]`
			w.mu.Unlock()
			w.serve(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n")
			w.wantClient(t, notedToolsChanged)
			w.send(t, stateless("8", methodCallTool, answer("q", state), withForms))
			m := w.answerTo(t, "8")
			if m.Result.InputRequests[ownQuestion].Method == "" {
				t.Fatalf("a tool that has changed is not asked about: %+v", m)
			}
			// The answer to the server is kept meanwhile.
			w.send(t, stateless("9", methodCallTool, answer(ownQuestion, m.Result.RequestState), withForms))
			w.wantServer(t, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{`+call+`,"inputResponses":{"q":{"action":"accept","content":{"answer":"once"}}},"requestState":"mine","_meta":{`)
		})
	}
}

// TestDeniedMeanwhile: the repetition of a call is decided as the call is.
func TestDeniedMeanwhile(t *testing.T) {
	t.Parallel()
	verdict := make(chan string, 2)
	w := newWorldWith(t, t.TempDir(), func(c *Config) {
		c.Dial = fakePermdAs(t, func(string, bool) string { return <-verdict })
	})
	verdict <- "allow"
	line := w.round(t, "1", methodCallTool, `"name":"yes"`, "", `{"resultType":"input_required","requestState":"x"}`)
	verdict <- "deny"
	w.send(t, stateless("2", methodCallTool, `"name":"yes","requestState":"`+formID.FindStringSubmatch(line)[1]+`"`, ""))
	if m := w.answerTo(t, "2"); !strings.Contains(fmt.Sprint(m), "permd denied this call") || has(w, &w.server, `"id":2,`) {
		t.Errorf("%+v", m)
	}
}

// TestTooManyRounds: a server cannot ask for ever about one call.
func TestTooManyRounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	more := ""
	for id := 1; ; id++ {
		line := w.round(t, fmt.Sprint(id), methodCallTool, `"name":"yes"`+more, "", `{"resultType":"input_required","requestState":"x"}`)
		state := formID.FindStringSubmatch(line)
		if state == nil {
			if id != maxInRequest+1 || !strings.Contains(line, "too many") {
				t.Errorf("after %d rounds the client receives %s", id, line)
			}
			return
		}
		more = `,"requestState":"` + state[1] + `"`
	}
}

// TestRounds: what is kept of open questions has bounds, and is not kept for ever.
func TestRounds(t *testing.T) {
	t.Parallel()
	g := new(gateway)
	later := time.Now().Add(time.Hour)
	ended := 0
	add := func(size int, expires time.Time) string {
		r := &round{size: size, expires: expires, answer: make(chan *toolCall, 1)}
		state := g.addRound(r)
		t.Cleanup(func() {
			select {
			case <-r.answer:
				ended++
			default:
			}
		})
		return state
	}
	first := add(1, later)
	for range maxRounds {
		add(1, later)
	}
	if g.takeRound(first) != nil || len(g.rounds.open) != maxRounds || g.rounds.bytes != maxRounds {
		t.Errorf("%d questions of %d bytes are open", len(g.rounds.open), g.rounds.bytes)
	}
	state := add(maxRoundBytes, later)
	if len(g.rounds.open) != 1 {
		t.Errorf("%d questions are open", len(g.rounds.open))
	}
	if g.takeRound(state) == nil || g.takeRound(state) != nil || g.rounds.bytes != 0 || len(g.rounds.order) != 0 {
		t.Error("a question can be answered twice, or something of it stays")
	}
	if r := g.takeRound(add(1, time.Now().Add(-time.Second))); r != nil {
		t.Error("a question that has expired can be answered")
	}
	add(1, time.Now().Add(-time.Second))
	add(1, later)
	if len(g.rounds.open) != 1 {
		t.Error("a question that has expired is kept")
	}
	t.Cleanup(func() {
		if want := 1 + maxRounds + 2; ended != 0 && ended != want {
			t.Errorf("%d calls that wait are told of the end, want %d", ended, want)
		}
	})
}

// TestRandomRounds plays clients that repeat calls at random, and holds what reaches the server
// against a model of what the person has allowed.
func TestRandomRounds(t *testing.T) {
	t.Parallel()
	seed := testload.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	w.mu.Lock()
	w.tools = `[{"name":"ask1"},{"name":"ask2"}]`
	w.mu.Unlock()
	type question struct {
		state, call string
		own, spent  bool
		server      string // the server's state
	}
	var questions []*question
	runs := map[bool]int{}
	for id := 1; id <= 300; id++ {
		call := fmt.Sprintf(`"name":"ask%d","arguments":{"a":%d}`, 1+random.IntN(2), random.IntN(2))
		params, q := call, (*question)(nil)
		key, answer := []string{ownQuestion, "q"}[random.IntN(2)], []string{"once", "reject", "w1"}[random.IntN(10)%3]
		if len(questions) > 0 && random.IntN(4) > 0 {
			q = questions[max(0, len(questions)-1-random.IntN(3))]
			if random.IntN(4) > 0 {
				call = q.call
			}
			if random.IntN(4) > 0 {
				key = ownQuestion
				if !q.own {
					key = "q"
				}
			}
			params = call + `,"inputResponses":{"` + key + `":{"action":"accept","content":{"answer":"` + answer + `"}}},"requestState":"` + q.state + `"`
		}
		// What the person has allowed.
		want := q != nil && !q.spent && q.call == call && (!q.own || key == ownQuestion && answer == "once")
		name := fmt.Sprint(id)
		w.send(t, stateless(name, methodCallTool, params, withForms))
		eventually.Holds(t, "there is an answer, or the server has the call", func() bool {
			return has(w, &w.client, `"id":`+name+`,`) || has(w, &w.server, `"id":`+name+`,`)
		})
		got := has(w, &w.server, `"id":`+name+`,`)
		if got != want {
			t.Fatalf("seed %d: the server receives %s: %v, want %v", seed, params, got, want)
		}
		runs[got]++
		server := ""
		if q != nil {
			if got && !q.own && !has(w, &w.server, `"id":`+name+`,"method":"tools/call","params":{`+call) {
				t.Fatalf("seed %d: the server receives something else: %s", seed, w.server[len(w.server)-1])
			}
			if got && (q.server != "") != strings.Contains(w.server[len(w.server)-1], `"requestState":"`+q.server+`"`) {
				t.Fatalf("seed %d: the server receives another state: %s, want %q", seed, w.server[len(w.server)-1], q.server)
			}
			q.spent = true
		}
		if got {
			result := `{"resultType":"complete","content":[]}`
			if random.IntN(3) > 0 {
				server = "server-" + name
				result = `{"resultType":"input_required","requestState":"` + server + `","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"x"}}}}`
			}
			w.serve(t, `{"jsonrpc":"2.0","id":`+name+`,"result":`+result+"}\n")
		}
		if m := w.answerTo(t, name); m.Result.ResultType == "input_required" {
			_, own := m.Result.InputRequests[ownQuestion]
			if own == got {
				t.Fatalf("seed %d: %s is asked by the wrong one: %+v", seed, params, m)
			}
			questions = append(questions, &question{state: m.Result.RequestState, call: call, own: own, server: server})
		}
	}
	if runs[true] < 5 || runs[false] < 5 {
		t.Errorf("seed %d: %v: the test is not what it should be", seed, runs)
	}
}
