package native_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/otc"
	"github.com/permd/permd/socket/rap"
)

// The life of a question, as the model sees it: a call is asked about, and its question
// ends exactly once. The model is a few lines: a map of open questions, and what each step
// does to them.

// question is a question that a client was left with.
type question struct {
	conn              *lifeConn
	decision, request string
	protocol          string
	digest, cwd       string // of when it was asked
	answering         bool   // an answer is being stored
}

// asking is a call that is being decided.
type asking struct {
	conn                 *lifeConn
	id, call             string
	protocol, cwd        string
	cancelled, withdrawn bool
}

// choosing is an answer that is under way.
type choosing struct {
	conn    *lifeConn
	id      string
	of      *question
	verdict decisions.Verdict
	always  bool
	gate    string
}

type lifeModel struct {
	*lifeWorld
	conns     []*lifeConn
	cwd       map[*lifeConn]string
	questions map[string]*question // the open ones, by decision
	all       map[string]*lifeConn // every decision that a connection was left with
	asked     []*asking
	chosen    []*choosing
	answered  map[string]decisions.Verdict
	calls     int
	hooks     lifeHooks
}

func (m *lifeModel) connect(t *rapid.T) {
	if len(m.conns) >= 3 {
		t.Skip("enough connections")
	}
	c, err := m.dial()
	if err != nil {
		t.Fatal(err)
	}
	m.conns = append(m.conns, c)
	m.declare(t, c, "/a")
}

func (m *lifeModel) declare(t *rapid.T, c *lifeConn, cwd string) {
	id := c.send(native.MethodSession, `{"sessionId":"s","cwd":"`+cwd+`","agent":{"name":"a"}}`)
	if v := c.answer(id); strictjson.Find(v, "result") == nil {
		t.Fatalf("declaring the session: %s", v)
	}
	m.cwd[c] = cwd
}

func (m *lifeModel) anyConn(t *rapid.T) *lifeConn {
	if len(m.conns) == 0 {
		t.Skip("no connection")
	}
	return m.conns[rapid.IntRange(0, len(m.conns)-1).Draw(t, "connection")]
}

// Ask asks about a call; it is then being decided.
func (m *lifeModel) Ask(t *rapid.T) {
	c := m.anyConn(t)
	if len(m.asked) >= 4 {
		t.Skip("enough calls")
	}
	m.calls++
	a := &asking{conn: c, call: fmt.Sprint("c", m.calls), cwd: m.cwd[c]}
	a.protocol = rapid.SampledFrom([]string{"permd", "acp", "otc", "rap"}).Draw(t, "protocol")
	switch a.protocol {
	case "permd":
		a.id = c.send(native.MethodDecide, `{"sessionId":"s","calls":[{"callId":"`+a.call+`","tool":{"name":"T"},"input":{}}]}`)
	case "acp":
		a.id = c.send(acp.MethodRequestPermission, `{"sessionId":"s","toolCall":{"toolCallId":"`+a.call+`","title":"t","rawInput":{"command":"ls"}},`+
			`"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}`)
	case "otc":
		a.id = c.send(otc.MethodCall, `{"sessionId":"s","tool_id":"A.B","call_id":"`+a.call+`","input":{}}`)
	case "rap":
		a.id = c.send(rap.MethodInvoke, `{"sessionId":"s","operation":"move","arguments":{},"id":"`+a.call+`","group_id":"g","thread_ancestors":[]}`)
	}
	if got, want := m.arrive(c, a.id), "decide "+a.call; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	m.asked = append(m.asked, a)
}

// Decided ends the decision of a call.
func (m *lifeModel) Decided(t *rapid.T) {
	if len(m.asked) == 0 {
		t.Skip("nothing is decided")
	}
	i := rapid.IntRange(0, len(m.asked)-1).Draw(t, "call")
	v := rapid.SampledFrom([]decisions.Verdict{decisions.Allow, decisions.Ask, decisions.Ask, decisions.Deny}).Draw(t, "verdict")
	m.decided(t, i, v)
}

func (m *lifeModel) decided(t *rapid.T, i int, v decisions.Verdict) {
	a := m.asked[i]
	m.asked = slices.Delete(m.asked, i, i+1)
	m.open("decide "+a.call, string(v))
	answer := a.conn.answer(a.id)
	got, decision := a.read(answer)
	want := string(v)
	switch {
	case a.cancelled, a.withdrawn:
		want = "cancelled"
	case v == decisions.Ask:
		m.all[decision] = a.conn
		m.questions[decision] = &question{conn: a.conn, decision: decision, request: a.id, protocol: a.protocol, digest: m.rules(), cwd: a.cwd}
	}
	// A deny may be told for a call that was cancelled, an allow never.
	if got != want && (want != "cancelled" || got != "deny") {
		t.Fatalf("%s by %s is answered with %q, want %q: %s", a.call, a.protocol, got, want, answer)
	}
	if got == "ask" && decision == "" {
		t.Fatalf("a question without a decision: %s", answer)
	}
}

// read says what an answer to a call is, in all protocols.
func (a *asking) read(v strictjson.Value) (said, decision string) {
	text := func(path ...string) string { s, _ := strictjson.ParseString(strictjson.Find(v, path...)); return s }
	if code := string(strictjson.Find(v, "error", "code")); code != "" {
		switch code {
		case "-32800":
			return "cancelled", ""
		case "-32050":
			return "ask", text("error", "data", "decisionId")
		}
		return "error " + code, ""
	}
	switch a.protocol {
	case "permd":
		list, err := strictjson.ParseArray(strictjson.Find(v, "result", "decisions"))
		if err != nil || len(list) != 1 {
			return "no decision", ""
		}
		said, _ = strictjson.ParseString(strictjson.Find(list[0], "verdict"))
		decision, _ = strictjson.ParseString(strictjson.Find(list[0], "decisionId"))
		return said, decision
	case "acp":
		return map[string]string{"y": "allow", "n": "deny", "": text("result", "outcome", "outcome")}[text("result", "outcome", "optionId")], ""
	}
	return map[string]string{"run": "allow", "ask": "ask", "denied": "deny"}[text("result", "outcome")], text("result", "decision", "decisionId")
}

func (m *lifeModel) rules() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.digest
}

// Cancel cancels the turn of a session.
func (m *lifeModel) Cancel(t *rapid.T) {
	c := m.anyConn(t)
	c.notify(acp.MethodCancel, `{"sessionId":"s"}`)
	m.barrier(t, c)
	m.end(func(q *question) bool { return q.conn == c })
	for _, a := range m.asked {
		a.cancelled = a.cancelled || a.conn == c
	}
}

// Withdraw withdraws one request, decided or not.
func (m *lifeModel) Withdraw(t *rapid.T) {
	c := m.anyConn(t)
	if c.last == 0 {
		t.Skip("no request")
	}
	id := fmt.Sprint(rapid.IntRange(max(1, c.last-6), c.last).Draw(t, "request"))
	if slices.ContainsFunc(m.chosen, func(p *choosing) bool { return p.conn == c && p.id == id }) {
		t.Skip("an answer is not withdrawn")
	}
	c.notify("$/cancel_request", `{"requestId":`+id+`}`)
	m.barrier(t, c)
	m.end(func(q *question) bool { return q.conn == c && q.request == id })
	for _, a := range m.asked {
		a.withdrawn = a.withdrawn || a.conn == c && a.id == id
	}
}

// Close closes the session, and declares it anew.
func (m *lifeModel) Close(t *rapid.T) {
	c := m.anyConn(t)
	c.answer(c.send(native.MethodClose, `{"sessionId":"s"}`))
	m.end(func(q *question) bool { return q.conn == c })
	for _, a := range m.asked {
		a.cancelled = a.cancelled || a.conn == c
	}
	m.declare(t, c, rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "cwd"))
}

// Move declares the session again, perhaps in another folder.
func (m *lifeModel) Move(t *rapid.T) {
	m.declare(t, m.anyConn(t), rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "cwd"))
}

// Reload changes the rules.
func (m *lifeModel) Reload(*rapid.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.digest = fmt.Sprint(len(m.digest), m.digest)
	if len(m.digest) > 40 {
		m.digest = "1" // as it was once
	}
}

// Log says whether answers can be logged.
func (m *lifeModel) Log(t *rapid.T) {
	works := rapid.Bool().Draw(t, "works")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noLog = !works
}

// end ends the open questions of a kind. One whose answer was accepted has ended.
func (m *lifeModel) end(which func(*question) bool) {
	maps.DeleteFunc(m.questions, func(_ string, q *question) bool { return which(q) })
}

// barrier returns when all earlier messages of a connection were read.
func (m *lifeModel) barrier(t *rapid.T, c *lifeConn) {
	id := c.send(native.MethodChoose, `{"decisionId":"none","verdict":"deny"}`)
	if v := c.answer(id); !strings.Contains(string(v), "no question") {
		t.Fatalf("answering what was not asked: %s", v)
	}
}

// Disconnect ends a connection with everything on it.
func (m *lifeModel) Disconnect(t *rapid.T) {
	m.lose(t, m.anyConn(t))
}

func (m *lifeModel) lose(t *rapid.T, c *lifeConn) {
	_ = c.net.Close()
	for _, a := range m.asked {
		if a.conn == c {
			m.open("decide "+a.call, "allow") // nobody may hear it
		}
	}
	for _, p := range m.chosen {
		if p.conn == c {
			m.open(p.gate, "no")
		}
	}
	m.asked = slices.DeleteFunc(m.asked, func(a *asking) bool { return a.conn == c })
	m.chosen = slices.DeleteFunc(m.chosen, func(p *choosing) bool { return p.conn == c })
	m.conns = slices.DeleteFunc(m.conns, func(o *lifeConn) bool { return o == c })
	m.end(func(q *question) bool { return q.conn == c })
	select {
	case <-m.ended:
	case <-time.After(patience):
		t.Fatal("the end of a connection is not noticed")
	}
}

// Restart ends the daemon and starts it again.
func (m *lifeModel) Restart(t *rapid.T) {
	for len(m.conns) > 0 {
		m.lose(t, m.conns[0])
	}
	for len(m.hooks.storing) > 0 {
		m.stored(t, false)
	}
	m.stop()
	m.hooks.restarted()
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
}

// invariant is what holds between two steps.
func (m *lifeModel) invariant(t *rapid.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, list := range m.recorded {
		if len(list) != 1 {
			t.Fatalf("%s has %d ends: %v", id, len(list), list)
		}
		if want := m.answered[id]; list[0] != want {
			t.Fatalf("%s was answered with %q, the person said %q", id, list[0], want)
		}
	}
	for choice, id := range m.kept {
		// A reject that came too late may stay: it allows nothing.
		if strings.HasSuffix(choice, " deny") {
			continue
		}
		if _, ok := m.answered[id]; !ok && !m.storing(id) {
			t.Fatalf("the choice %s is in force, and nobody has answered %s", choice, id)
		}
	}
}

// storing reports whether an answer to a decision is being stored.
func (m *lifeModel) storing(id string) bool {
	return slices.ContainsFunc(m.chosen, func(p *choosing) bool { return p.of.decision == id }) || slices.ContainsFunc(m.hooks.storing, func(s *hookStoring) bool { return s.of.decision == id })
}

// finish looks at every question that there ever was: those that are open take an answer,
// all others none.
func (m *lifeModel) finish(t *rapid.T) {
	m.mu.Lock()
	m.noLog = false
	m.mu.Unlock()
	for len(m.asked) > 0 {
		m.decided(t, 0, decisions.Allow)
	}
	for len(m.chosen) > 0 {
		m.chooses(t, 0, true)
	}
	for len(m.hooks.storing) > 0 {
		m.stored(t, true)
	}
	for _, decision := range slices.Sorted(maps.Keys(m.all)) {
		for _, c := range m.conns {
			q := m.questions[decision]
			v := c.answer(c.send(native.MethodChoose, `{"decisionId":"`+decision+`","verdict":"deny"}`))
			accepted := strictjson.Find(v, "result") != nil
			if want := q != nil && q.conn == c; accepted != want {
				t.Fatalf("%s: open %v, and an answer to it: %s", decision, want, v)
			}
			if accepted {
				m.answered[decision] = decisions.Deny
				delete(m.questions, decision)
			}
		}
	}
	m.invariant(t)
}

func checkLife(t *rapid.T, dir, bug string) {
	m := &lifeModel{
		lifeWorld: newLifeWorld(dir, bug),
		cwd:       map[*lifeConn]string{}, questions: map[string]*question{}, all: map[string]*lifeConn{}, answered: map[string]decisions.Verdict{},
	}
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, c := range m.conns {
			_ = c.net.Close()
		}
		for name := range m.gates {
			m.open(name, "no")
		}
		m.stop()
	}()
	m.connect(t)
	t.Repeat(map[string]func(*rapid.T){
		"": m.invariant, "connect": m.connect, "ask": m.Ask, "decided": m.Decided, "decided too": m.Decided, "choose": m.Choose, "choose too": m.Choose, "chosen": m.Chosen, "chosen too": m.Chosen,
		"cancel": m.Cancel, "withdraw": m.Withdraw, "close": m.Close, "move": m.Move, "reload": m.Reload, "log": m.Log, "disconnect": m.Disconnect, "restart": m.Restart,
		"hook asks": m.HookAsks, "permd allow": m.AllowOnce, "permd allow always": m.AllowAlways, "time": m.Time, "harness ends": m.HookCloses,
	})
	m.finish(t)
}

// TestLifeOfAQuestion: each question ends exactly once, and none in an allow that neither
// rules nor a person have given. PERMD_TEST_LIFE_CHECKS is how many lives are tried.
func TestLifeOfAQuestion(t *testing.T) {
	dir := shortDir(t)
	set(t, "rapid.steps", "60")
	if n := os.Getenv("PERMD_TEST_LIFE_CHECKS"); n != "" {
		set(t, "rapid.checks", n)
	}
	rapid.Check(t, func(rt *rapid.T) { checkLife(rt, dir, "") })
}
