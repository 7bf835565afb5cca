package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// dialSmall connects with a small buffer for what is read, so that a peer notices soon that nothing is.
func dialSmall(t *testing.T, at string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	return c
}

// deaf sends a request again and again and reads no answer. stop ends that, and returns how many
// requests were written.
func deaf(t *testing.T, at, request string) (stop func() (requests int)) {
	t.Helper()
	c := dialSmall(t, at)
	done := make(chan int, 1)
	go func() {
		for n := 0; ; n++ {
			if _, err := io.WriteString(c, request); err != nil {
				done <- n
				return
			}
		}
	}()
	return func() int {
		c.Close()
		return <-done
	}
}

// httpDeaf: clients that never read an answer hold up nobody else, and their places are free again
// soon. Each of their requests is decided once at most. When writing to them ends, TestReplyUnread has.
func httpDeaf(t *testing.T) {
	r := newRawHTTP(t, "[limits]\nconnections = 4\n")
	health := "GET /health HTTP/1.1\r\nHost: " + r.host + "\r\nAuthorization: Bearer " + r.c.token + "\r\n\r\n"
	wantHTTPAllowed(t, r.c, r.project)
	var clients []func() int
	for range 3 {
		clients = append(clients, deaf(t, r.host, r.sized(r.body)+strings.Repeat(health, 1000)))
	}
	eventually.Holds(t, "all places are taken", func() bool { return r.d.status(t).Journal.Records >= 4 })
	for range 5 {
		wantHTTPAllowed(t, r.c, r.project) // on its connection, which it has since before
	}
	other := r.d.http(t)
	eventually.Holds(t, "one is dropped that does not read", func() bool { return other.shell(t, r.project, probe).Decision == "allow" })
	sent := 0
	for _, stop := range clients {
		sent += 1 + stop()
	}
	if decided := int(r.d.status(t).Journal.Records); decided > sent+7 {
		t.Errorf("%d decisions of %d requests", decided, sent+7)
	}
}

// otcGateDeaf: a caller never reads its answer. Others are served, its call has run once, and its
// repetition has the answer.
func otcGateDeaf(t *testing.T) {
	g := startOTCGate(t)
	const call = `{"tool_id":"Clock.Now","call_id":"deaf"}`
	g.upstream.set(func() {
		g.upstream.answer = func(w http.ResponseWriter, _ *http.Request, call map[string]any) {
			writeJSON(w, 200, map[string]any{"call_id": call["call_id"], "success": true, "value": strings.Repeat("x", 1<<20)})
		}
	})
	stop := deaf(t, g.at, g.raw(call))
	for range 5 {
		g.wantCallNow(t)
	}
	status, answer := g.request(t, "POST", "/tools/call", call)
	stop()
	if ran := g.upstream.runs(); status != 200 || !strings.Contains(answer, `"value":"xxx`) || strings.Count(ran, " deaf") != 1 {
		t.Errorf("repeated: %d %.80s, ran %s", status, answer, ran)
	}
}

// wantCallNow calls a tool that a rule allows, without an id.
func (g *otcGate) wantCallNow(t *testing.T) {
	t.Helper()
	if status, answer := g.request(t, "POST", "/tools/call", gateClock); status != 200 {
		t.Errorf("another caller: %d %.80s", status, answer)
	}
}

// rapGatewayDeaf: a runtime never reads the answers to its requests. Its call has its result, and
// others are served.
func rapGatewayDeaf(t *testing.T) {
	g := newRAPGateway(t)
	body := g.invocation("deaf", "root", "list_bins", `{}`)
	head := fmt.Sprintf("HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", strings.TrimPrefix(g.address, "http://"), g.token)
	stop := deaf(t, g.address, fmt.Sprintf("POST /invoke %sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body)+
		strings.Repeat("GET /.well-known/rap-toolset "+head+"\r\n", 50))
	want(t, "the result", "done", g.result("deaf"))
	for i := range 5 {
		want(t, "another call", "done", g.call(fmt.Sprint(i), "root", "list_bins", `{}`))
	}
	stop()
	want(t, "calls that have run", 6, len(g.tool.ran()))
}

// aapDeaf: a client reads nothing of its turn, in which a person has allowed a call meanwhile. It is
// dropped, and when it resumes the session it has the call, about which nobody is asked again.
func aapDeaf(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(asksOwn...), says("done"))
	gateway, key := d.startGateway(t, s.front.URL, "--wait", "60s")
	c := newPlainAAP(t, gateway, key, "message")
	s.change = func(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "text/event-stream")
		text := "event: text\ndata: {\"text\":\"" + strings.Repeat("x", 1<<20) + "\"}\n\n"
		_, _ = io.WriteString(w, strings.Replace(answer.Body.String(), "event: turn_stop", strings.Repeat(text, 7)+"event: turn_stop", 1))
	}
	conn := dialSmall(t, gateway)
	body, err := json.Marshal(map[string]any{"messages": aapUser("go"), "stream": "message"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /sessions/%s/turns HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.session, strings.TrimPrefix(gateway, "http://"), c.key, len(body), body)
	d.permd(t, "allow", d.question(t))
	s.change = nil
	other := newPlainAAP(t, gateway, key, "none")
	if status, text := other.do("GET", "/sessions/"+other.session+"/history?type=full", nil); status != http.StatusOK {
		t.Errorf("another session: %d %s", status, text)
	}
	c.resumes()
	d.waiting(t, 0)
	want(t, "the client ran", []string{"a1"}, c.ran)
	want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
	answers := map[string]bool{}
	for _, r := range d.records(t) {
		if r.Answer != nil {
			answers[fmt.Sprint(r.Decision.CallID, " ", r.Answer.Verdict)] = true
		}
	}
	want(t, "answers in the log", map[string]bool{"a1 allow": true}, answers)
}

// resumes resumes a session once no other turn of it runs.
func (c *plainAAP) resumes() {
	c.t.Helper()
	var status int
	var text string
	eventually.Holds(c.t, "the session can be resumed", func() bool {
		status, text = c.do("GET", "/sessions/"+c.session+"/history?type=full", nil)
		return status == http.StatusOK
	}, func() string { return fmt.Sprint(status, text) })
	c.resume()
}

// aapHung: a turn of the server that never ends holds up no other session. Once its client has gone
// away, TestHungServer has when it ends; the gateway's end ends it at once.
func aapHung(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(aapTwo...), says("done"))
	gateway, key, kill := d.runGateway(t, s.front.URL)
	c := newPlainAAP(t, gateway, key, "message")
	messages := c.answer(c.post(aapUser("go")))
	hangs, ended := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	s.change = func(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
		if first.Swap(true) {
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: turn_start\n")
		_ = http.NewResponseController(w).Flush()
		close(hangs)
		<-ended
		panic(http.ErrAbortHandler)
	}
	defer close(ended)
	conn := dialSmall(t, gateway)
	body, err := json.Marshal(map[string]any{"messages": messages, "stream": "message"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /sessions/%s/turns HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.session, strings.TrimPrefix(gateway, "http://"), c.key, len(body), body)
	<-hangs
	want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
	other := newPlainAAP(t, gateway, key, "message")
	other.say("go")
	want(t, "the server ran", []string{`deploy ` + staging, `deploy ` + staging}, s.executed)
	if code, text := c.sends(messages); code != http.StatusConflict {
		t.Errorf("the answers again: %d %s", code, text)
	}
	conn.Close()
	newPlainAAP(t, gateway, key, "none").say("go")
	kill()
	at := strings.TrimPrefix(gateway, "http://")
	c.url, c.key, _ = d.runGateway(t, s.front.URL, "--listen", at)
	c.resume() // the server has noted that it ran
	want(t, "calls that the server ran", 3, len(s.executed))
}

// httpWaitsUnread: the yes comes for a client that does not read its answer, or goes away just then.
// The log has the person's answer if and only if permd allow took it; nothing runs by it later.
func httpWaitsUnread(t *testing.T) {
	d := newTestDaemon(t)
	d.policy(t, "otc.rego", otcBody)
	d.listensHTTP(t, "127.0.0.1:0")
	d.start(t)
	c := d.http(t)
	head := fmt.Sprintf("POST /v1/otc/call HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nPrefer: wait=600\r\nContent-Length: %d\r\n\r\n%s",
		strings.TrimPrefix(c.url, "http://"), c.token, len(waitOTC), waitOTC)
	hold := func() (net.Conn, string) {
		t.Helper()
		conn := dialSmall(t, c.url)
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		return conn, d.waiting(t, 1)[0]
	}
	answered := func(id string) bool {
		t.Helper()
		for _, r := range d.records(t) {
			if r.Decision.ID == id {
				return r.Answer != nil && r.Answer.Verdict == "allow"
			}
		}
		t.Errorf("the log has no decision %s", id)
		return false
	}
	// It reads late: the answer is there.
	conn, id := hold()
	d.permd(t, "allow", id)
	d.waiting(t, 0)
	want(t, "the log has the answer", true, answered(id))
	_ = conn.SetReadDeadline(time.Now().Add(eventually.Limit))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(text), `"outcome":"run"`) {
		t.Errorf("read late: %s, %v", text, err)
	}
	res.Body.Close()
	conn.Close()
	// It never reads: the answer was given, and the same call asks again.
	conn, id = hold()
	d.permd(t, "allow", id)
	_ = conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
	want(t, "the log has the answer", true, answered(id))
	conn, id = hold()
	conn.Close()
	d.waiting(t, 0)
	want(t, "the log has an answer of nobody", false, answered(id))
	// It goes away while the person answers.
	for range 12 {
		conn, id := hold()
		taken := make(chan bool)
		go func() { taken <- d.command("allow", id).Run() == nil }()
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
		if took := <-taken; took != answered(id) {
			t.Errorf("permd allow took the answer: %v; the log has it: %v", took, !took)
		}
		d.waiting(t, 0)
	}
}
