package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
)

// TestFailuresAAP is like TestFailures, for the gateway of permd aap: each row breaks one part.
// No call may run undecided, none twice, and the session can be resumed.
func TestFailuresAAP(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a whole table of failures; TestAAPGateway is the quick one")
	}
	failures(t, []failure{
		{"server's turn cut at any byte", aapCutBefore},
		{"server's turn cut at any byte, after it has run a call", aapCutAfter},
		{"server's answer is not of the protocol", aapNonsense},
		{"server fails after it has run a call, and does not note it", aapForgetful},
		{"server is not there", aapNoServer},
		{"client's request is not of the protocol", aapBadRequests},
		{"client sends half a body, on all connections", aapHalfBodies},
		{"client gone at any byte", aapClientGone},
		{"client gone while a person is asked", aapAskedGone},
		{"client sends more while a person is asked, and is gone", aapAskedPipelined},
		{"daemon gone while a call waits", aapDaemonGone},
		{"client sees nothing of a wait", aapNobody},
		{"person answers after the denial", aapLate},
		{"server goes on without end", aapEndless},
		{"gateway killed after it has sent a permission", aapKilled},
		{"server repeats its key", aapEchoes},
		{"client does not read its answer", aapDeaf},
		{"server does not end a turn", aapHung},
	})
}

// faultyAAP is a server of the protocol whose answers to turns a test changes.
type faultyAAP struct {
	*aapServer

	front  *httptest.Server
	change func(w http.ResponseWriter, answer *httptest.ResponseRecorder) // nil for none
}

func newFaultyAAP(t *testing.T, script ...aapStep) *faultyAAP {
	t.Helper()
	f := &faultyAAP{aapServer: newAAPServer(t, script...)}
	f.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		change := f.change
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/turns") || change == nil {
			f.Config.Handler.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		f.Config.Handler.ServeHTTP(answer, r)
		change(w, answer)
	}))
	t.Cleanup(f.front.Close)
	return f
}

// cut answers with the beginning of the answer, and breaks the connection.
func cut(n int) func(http.ResponseWriter, *httptest.ResponseRecorder) {
	return func(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()[:n])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func aapUser(text string) []any { return []any{map[string]string{"role": "user", "content": text}} }

// sends posts a turn, whatever comes of it.
func (c *plainAAP) sends(messages any) (status int, text string) {
	c.t.Helper()
	return c.do("POST", "/sessions/"+c.session+"/turns", map[string]any{"messages": messages, "stream": c.stream})
}

// past reads the history as a client that resumes a session.
func (c *plainAAP) past() seenTurn {
	c.t.Helper()
	status, text := c.do("GET", "/sessions/"+c.session+"/history?type=full", nil)
	var body struct{ History struct{ Full []aapMessage } }
	if err := json.Unmarshal([]byte(text), &body); err != nil || status != http.StatusOK {
		c.t.Fatalf("history: %d %s", status, text)
	}
	s := seenTurn{results: map[string]string{}}
	for _, m := range body.History.Full {
		s.message(m)
	}
	return s
}

// resume answers what the history leaves open, until the turn has ended.
func (c *plainAAP) resume() {
	c.t.Helper()
	for s := c.past(); ; {
		messages := c.answer(s)
		if len(messages) == 0 {
			return
		}
		s = c.post(messages)
	}
}

// leaksNothing wants an answer without a call that waits.
func (c *plainAAP) leaksNothing(what string, status int, text string) {
	c.t.Helper()
	if status != http.StatusOK {
		var e struct{ Error string }
		if json.Unmarshal([]byte(text), &e) != nil || e.Error == "" || status < 400 {
			c.t.Errorf("%s: %d %s", what, status, text)
		}
		return
	}
	if s := c.read(text); len(s.calls) > 0 || s.stop != "error" {
		c.t.Errorf("%s: the client sees %s", what, text)
	}
}

var aapTwo = []string{`a1 read_note {"n":1}`, `a2 deploy ` + staging}

func aapCutBefore(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(aapTwo...), says("done"))
	url, key := d.startGateway(t, s.front.URL)
	for _, stream := range []string{"message", "none"} {
		length := 0
		for n := 0; n == 0 || n < length; n += 7 {
			c := newPlainAAP(t, url, key, stream)
			s.change = func(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
				length = answer.Body.Len() - 1 // the last line may end a stream or not
				cut(min(n, length))(w, answer)
			}
			status, text := c.sends(aapUser("go"))
			s.change = nil
			c.leaksNothing(fmt.Sprint(stream, " cut at ", n), status, text)
			if len(s.executed) > 0 {
				t.Fatalf("cut at %d: the server ran %q", n, s.executed)
			}
			if n%35 == 0 {
				c.resume()
				want(t, "the client ran", []string{"a1"}, c.ran)
				want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
				s.executed = nil
			}
		}
	}
}

func aapCutAfter(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(aapTwo...), says("done"))
	url, key := d.startGateway(t, s.front.URL)
	for _, stream := range []string{"message", "none"} {
		length := 0
		for n := 0; n == 0 || n < length; n += 11 {
			c := newPlainAAP(t, url, key, stream)
			s.executed = nil
			messages := c.answer(c.post(aapUser("go")))
			s.change = func(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
				length = answer.Body.Len() - 1
				cut(min(n, length))(w, answer)
			}
			status, text := c.sends(messages)
			s.change = nil
			if strings.Contains(text, "end_turn") {
				t.Errorf("cut at %d: %d %s", n, status, text)
			}
			if status, text := c.sends(messages); status != http.StatusBadRequest {
				t.Errorf("the same answers again: %d %s", status, text)
			}
			c.resume()
			want(t, "the client ran", []string{"a1"}, c.ran)
			want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
		}
	}
}

func aapNonsense(t *testing.T) {
	d := aapDaemon(t)
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	s := newFaultyAAP(t, calls(aapTwo...), says("done"))
	url, key := d.startGateway(t, s.front.URL)
	const call = "event: tool_call\ndata: {\"toolCallId\":\"a\",\"name\":\"read_note\",\"input\":{}}\n\n"
	const start, stop = "event: turn_start\ndata: {}\n\n", "event: turn_stop\ndata: {\"stopReason\":\"tool_use\"}\n\n"
	sse := func(text string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, text)
		}
	}
	status := func(code int, kind, body string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Location", other.URL)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	replaced := func(old, with string) func(w http.ResponseWriter) {
		return sse(start + strings.Replace(call, old, with, 1) + stop)
	}
	for name, answer := range map[string]func(w http.ResponseWriter){
		"500": status(500, "application/json", `{"error":"broken"}`), "502, HTML": status(502, "text/html", "<html>"), "404": status(404, "application/json", `{"error":"no"}`),
		"302": status(302, "text/html", ""), "307": status(307, "text/html", ""), "204": status(204, "", ""),
		"HTML": status(200, "text/html", "<html>"), "JSON for a stream": status(200, "application/json", `{"stopReason":"tool_use","messages":[]}`),
		"nothing": sse(""), "no start": sse(call + stop), "two starts": sse(start + start + call + stop), "no stop": sse(start + call),
		"another stop": sse(start + call + strings.Replace(stop, "tool_use", "pause", 1)), "no id": replaced(`"toolCallId":"a",`, ""), "a number as id": replaced(`"a"`, "7"),
		"an empty id": replaced(`"a"`, `""`), "null as id": replaced(`"a"`, `null`), "no name": replaced(`"name":"read_note",`, ""),
		"a member twice": replaced(`"name":"read_note",`, `"name":"read_note","name":"deploy",`), "another case": replaced(`"name"`, `"Name":"x","name"`),
		"an event's case": replaced("event: tool_call", "event: Tool_call"), "two names": replaced("event: tool_call", "event: text\nevent: tool_call"),
		"a name in the data": replaced(`"input"`, `"event":"text","input"`), "an unknown event with a name": replaced("event: tool_call\ndata: {", `event: x`+"\n"+`data: {"event":"tool_call",`),
		"no UTF-8": replaced("read_note", "read\xff"), "no JSON": replaced(`"input":{}`, `"input":`), "a carriage return": replaced(`{"tool`, "{\r"+`"tool`),
		"too much": sse(start + "event: text\ndata: {\"text\":\"" + strings.Repeat("x", 10<<20) + "\"}\n\n" + call + stop),
	} {
		t.Run(name, func(t *testing.T) {
			c := newPlainAAP(t, url, key, "message")
			s.change = func(w http.ResponseWriter, _ *httptest.ResponseRecorder) { answer(w) }
			code, text := c.sends(aapUser("go"))
			s.change = nil
			c.leaksNothing(name, code, text)
		})
	}
	for name, body := range map[string]string{
		"no object": `[]`, "no messages": `{"stopReason":"tool_use"}`, "a message of the user": `{"stopReason":"end_turn","messages":[{"role":"user","content":"x"}]}`,
		"twice": `{"stopReason":"tool_use","stopReason":"end_turn","messages":[]}`, "no type": `{"stopReason":"tool_use","messages":[{"role":"assistant","content":[{"toolCallId":"a"}]}]}`,
		"a type's case": `{"stopReason":"tool_use","messages":[{"role":"assistant","content":[{"type":"Tool_use","toolCallId":"a","name":"read_note"}]}]}`,
		"rest":          `{"stopReason":"tool_use","messages":[]} {}`, "HTML": "<html>", "nothing": "",
	} {
		c := newPlainAAP(t, url, key, "none")
		s.change = func(w http.ResponseWriter, _ *httptest.ResponseRecorder) { _, _ = io.WriteString(w, body) }
		code, text := c.sends(aapUser("go"))
		s.change = nil
		c.leaksNothing(name, code, text)
	}
	// Of the results the client sees the first one of each call, and none of others.
	result := func(id, text string) string {
		return "event: tool_result\ndata: {\"toolCallId\":\"" + id + "\",\"content\":\"" + text + "\"}\n\n"
	}
	const whole = `{"stopReason":"end_turn","messages":[{"role":"assistant","content":[{"type":"tool_use","toolCallId":"a","name":"page"}]},`
	message := func(id, text string) string {
		return `{"role":"tool","toolCallId":"` + id + `","content":"` + text + `"}`
	}
	for name, answer := range map[string]func(w http.ResponseWriter){
		"message": sse(start + result("a", "early") + call + result("b", "nobody") + result("a", "first") + result("a", "second") + strings.Replace(stop, "tool_use", "end_turn", 1)),
		"none": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, whole+strings.Join([]string{message("b", "nobody"), message("a", "first"), message("a", "second")}, ",")+"]}")
		},
	} {
		c := newPlainAAP(t, url, key, name)
		s.change = func(w http.ResponseWriter, _ *httptest.ResponseRecorder) { answer(w) }
		code, text := c.sends(aapUser("go"))
		s.change = nil
		if got := c.read(text); code != http.StatusOK || got.stop != "end_turn" || len(got.calls) != 1 || fmt.Sprint(got.results) != `map[a:"first"]` {
			t.Errorf("results twice and of no call, %s: %d %s", name, code, text)
		}
		if strings.Contains(text, "second") || strings.Contains(text, "nobody") || strings.Contains(text, "early") {
			t.Errorf("%s: the client sees %s", name, text)
		}
	}
	if elsewhere.Load() > 0 || len(s.executed) > 0 {
		t.Errorf("%d requests went elsewhere; the server ran %q", elsewhere.Load(), s.executed)
	}
}

// aapForgetful: a permission that may have been used is not given again without a person.
func aapForgetful(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(aapTwo...), says("done"))
	url, key := d.startGateway(t, s.front.URL)
	c := newPlainAAP(t, url, key, "message")
	messages := c.answer(c.post(aapUser("go")))
	ses := s.sessions[c.session]
	history, waiting, step := slices.Clone(ses.history), maps.Clone(ses.waiting), ses.step
	s.change = func(w http.ResponseWriter, _ *httptest.ResponseRecorder) {
		ses.history, ses.waiting, ses.step = history, waiting, step
		http.Error(w, `{"error":"the model failed"}`, http.StatusInternalServerError)
	}
	code, text := c.sends(messages)
	s.change = nil
	c.leaksNothing("the failure", code, text)
	want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
	c.ran, c.person = nil, func(string) bool { return false }
	c.resume()
	want(t, "the person is asked", []string{"a2"}, c.asked)
	want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
}

func aapNoServer(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(aapTwo...), says("done"))
	at, _ := url.Parse(s.front.URL)
	gateway, key := d.startGateway(t, s.front.URL)
	c := newPlainAAP(t, gateway, key, "message")
	messages := c.answer(c.post(aapUser("go")))
	handler := s.front.Config.Handler
	s.front.Close()
	code, text := c.sends(messages)
	c.leaksNothing("no server", code, text)
	// It is there again: the same answers are posted, once.
	ln, err := net.Listen("tcp", at.Host)
	if err != nil {
		t.Skipf("the port was taken: %v", err)
	}
	again := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = again.Serve(ln) }()
	t.Cleanup(func() { again.Close() })
	if s := c.post(messages); s.stop != "end_turn" {
		t.Errorf("%+v", s)
	}
	want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
}

// drops sends a turn, reads n bytes of the answer and goes away.
func (c *plainAAP) drops(messages any, n int) (all bool) {
	c.t.Helper()
	at, _ := url.Parse(c.url)
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	body, _ := json.Marshal(map[string]any{"messages": messages, "stream": c.stream})
	fmt.Fprintf(conn, "POST /sessions/%s/turns HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.session, at.Host, c.key, len(body), body)
	got, _ := io.ReadAll(io.LimitReader(conn, int64(n)))
	return len(got) < n || bytes.Contains(got, []byte("turn_stop"))
}

func aapClientGone(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(aapTwo...), says("done"))
	url, key := d.startGateway(t, s.front.URL)
	for _, second := range []bool{false, true} {
		for n, all := 0, false; !all && n < 1000; n += 37 {
			c := newPlainAAP(t, url, key, "message")
			s.mu.Lock()
			s.executed = nil
			s.mu.Unlock()
			messages := aapUser("go")
			if second {
				messages = c.answer(c.post(messages))
			}
			all = c.drops(messages, n)
			// The gateway is still at it, or the request did not come so far.
			var past seenTurn
			var text string
			eventually.Holds(t, "the session can be resumed", func() (ok bool) {
				var status int
				status, text = c.do("GET", "/sessions/"+c.session+"/history?type=full", nil)
				return status == http.StatusOK
			}, func() string { return fmt.Sprint(n, second, text) })
			if past = c.past(); len(past.calls) == 0 {
				continue
			}
			c.resume()
			want(t, fmt.Sprint("the client ran, gone after ", n), []string{"a1"}, c.ran)
			want(t, fmt.Sprint("the server ran, gone after ", n), []string{`deploy ` + staging}, s.executed)
		}
	}
}

// question waits for the only question, and returns its id.
func (d *testDaemon) question(t *testing.T) (id string) {
	t.Helper()
	eventually.Holds(t, "a call waits", func() bool {
		var list admin.Questions
		if err := d.manage(t, admin.MethodQuestionsList, struct{}{}, &list); err != nil || len(list.Questions) != 1 {
			return false
		}
		id = list.Questions[0].DecisionID
		return true
	})
	return id
}
